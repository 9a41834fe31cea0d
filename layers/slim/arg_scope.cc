#include "layers/slim/arg_scope.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "layers/slim/slim.h"

namespace towerflow::slim {
namespace {

/// The arguments and their names, in the same order.
constexpr auto kArgs = std::tuple{&Args::stride,
                                  &Args::padding,
                                  &Args::data_format,
                                  &Args::rate,
                                  &Args::activation_fn,
                                  &Args::normalizer_fn,
                                  &Args::normalizer_params,
                                  &Args::weights_initializer,
                                  &Args::weights_regularizer,
                                  &Args::biases_initializer,
                                  &Args::biases_regularizer,
                                  &Args::reuse,
                                  &Args::variables_collections,
                                  &Args::outputs_collections,
                                  &Args::trainable,
                                  &Args::decay,
                                  &Args::center,
                                  &Args::scale,
                                  &Args::epsilon,
                                  &Args::param_initializers,
                                  &Args::param_regularizers,
                                  &Args::updates_collections,
                                  &Args::is_training,
                                  &Args::fused,
                                  &Args::keep_prob,
                                  &Args::noise_shape,
                                  &Args::seed,
                                  &Args::on_value,
                                  &Args::off_value,
                                  &Args::scope};
constexpr std::array<const char*, std::tuple_size_v<decltype(kArgs)>> kArgNames{
    "stride",
    "padding",
    "data_format",
    "rate",
    "activation_fn",
    "normalizer_fn",
    "normalizer_params",
    "weights_initializer",
    "weights_regularizer",
    "biases_initializer",
    "biases_regularizer",
    "reuse",
    "variables_collections",
    "outputs_collections",
    "trainable",
    "decay",
    "center",
    "scale",
    "epsilon",
    "param_initializers",
    "param_regularizers",
    "updates_collections",
    "is_training",
    "fused",
    "keep_prob",
    "noise_shape",
    "seed",
    "on_value",
    "off_value",
    "scope"};

template <class T>
bool is_given(const Arg<T>& arg) {
  return arg.given();
}
template <class T>
bool is_given(const std::map<std::string, T>& arg) {
  return !arg.empty();
}

/// Replaces what `args` leaves out by the defaults.
void fill_args(Args& args, const Args& defaults) {
  std::apply(
      [&](auto... members) {
        ((is_given(args.*members) ? void() : void(args.*members = defaults.*members)), ...);
      },
      kArgs);
}

std::vector<ArgScope>& open_arg_scopes() {
  thread_local std::vector<ArgScope> scopes;
  return scopes;
}

const std::vector<ScopedFunction>& scoped_functions() {
  static const std::vector<ScopedFunction> functions{conv2d,     fully_connected,  max_pool2d,
                                                     avg_pool2d, batch_norm,       dropout,
                                                     flatten,    one_hot_encoding, softmax};
  return functions;
}

}  // namespace

ArgScopeGuard arg_scope(std::initializer_list<ScopedFunction> functions, const Args& args,
                        Site site) {
  ArgScope scope = open_arg_scopes().empty() ? ArgScope() : open_arg_scopes().back();
  for (const ScopedFunction& function : functions) {
    const auto& known = scoped_functions();
    if (std::find(known.begin(), known.end(), function) == known.end()) {
      throw ValueError("a function of an arg_scope is not decorated with @add_arg_scope",
                       {.site = site, .hint = "it takes layer functions of tf::slim"});
    }
    Args inner = args;
    if (const auto outer = scope.find(function); outer != scope.end()) {
      fill_args(inner, outer->second);
    }
    scope.insert_or_assign(function, std::move(inner));
  }
  return ArgScopeGuard(std::move(scope));
}

ArgScopeGuard arg_scope(const ArgScope& scope) { return ArgScopeGuard(scope); }

Args scoped_args(const ScopedFunction& function, const char* name, std::string_view accepted,
                 const Args& given, Site site) {
  Args args = given;
  if (!open_arg_scopes().empty()) {
    const ArgScope& scope = open_arg_scopes().back();
    if (const auto defaults = scope.find(function); defaults != scope.end()) {
      fill_args(args, defaults->second);
    }
  }
  std::size_t i = 0;
  const auto check = [&](const auto& arg) {
    const std::string word = fmt::format(" {} ", kArgNames[i++]);
    if (!is_given(arg) || accepted.find(word) != std::string_view::npos) return;
    throw TypeError(fmt::format("{}() got an unexpected keyword argument '{}'", name,
                                word.substr(1, word.size() - 2)),
                    {.site = site, .op = name});
  };
  std::apply([&](auto... members) { (check(args.*members), ...); }, kArgs);
  return args;
}

}  // namespace towerflow::slim

namespace towerflow::slim::types {

ArgScopeGuard::ArgScopeGuard(ArgScope scope) : scope_(std::move(scope)) {
  slim::open_arg_scopes().push_back(scope_);
}

ArgScopeGuard::~ArgScopeGuard() { slim::open_arg_scopes().pop_back(); }

std::vector<std::string> VariableCollections::of(const std::string& variable) const {
  if (by_name_.empty()) return all_.list();
  const auto found = by_name_.find(variable);
  return found == by_name_.end() ? std::vector<std::string>() : found->second.list();
}

Tensor Normalizer::operator()(const Tensor& x, const Args& params, Site site) const {
  return function_ != nullptr ? function_(Operand(x, site), params, site) : call_(x);
}

NormalizerParams::NormalizerParams(const Args& args) : args_(std::make_shared<Args>(args)) {}

Args NormalizerParams::args() const { return args_ == nullptr ? Args() : *args_; }

}  // namespace towerflow::slim::types

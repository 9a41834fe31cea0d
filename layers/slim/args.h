#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "layers/activation.h"
#include "layers/training.h"
#include "ops/nn/window_args.h"
#include "ops/variables/variable_scope.h"

namespace towerflow::slim {

namespace types {}
using namespace types;

}  // namespace towerflow::slim

namespace towerflow::slim::types {

using layers::Activation;

struct Args;

/// An argument that a call gives, or leaves to the open arg_scope and the function's default.
template <class T>
class Arg {
 public:
  Arg() = default;
  template <std::convertible_to<T> U>
  Arg(U given_value) : value_(T(std::move(given_value))) {}  // NOLINT: {.stride = 2}
  template <class Item>
  requires std::constructible_from<T, std::initializer_list<Item>> Arg(
      std::initializer_list<Item> items)
      : value_(T(items)) {}  // NOLINT: {.stride = {2, 1}}

  bool given() const { return value_.has_value(); }
  const T& or_default(const T& otherwise) const { return value_ ? *value_ : otherwise; }
  const T& value() const { return *value_; }

 private:
  std::optional<T> value_;
};

/// Names of collections: one, several, or none.
class Names {
 public:
  Names() = default;
  Names(std::nullopt_t) {}  // NOLINT
  template <std::convertible_to<std::string> T>
  Names(const T& name) : names_{std::string(name)} {}  // NOLINT
  Names(std::initializer_list<const char*> names) : names_(names.begin(), names.end()) {}
  Names(std::vector<std::string> names) : names_(std::move(names)) {}  // NOLINT
  const std::vector<std::string>& list() const { return names_; }

 private:
  std::vector<std::string> names_;
};

/// The collections of a layer's variables: the same for all, or by the variable's name, such as
/// "weights".
class VariableCollections {
 public:
  VariableCollections(Names all) : all_(std::move(all)) {}  // NOLINT
  template <std::convertible_to<Names> T>
  VariableCollections(const T& all) : all_(all) {}                            // NOLINT
  VariableCollections(std::initializer_list<const char*> all) : all_(all) {}  // NOLINT
  VariableCollections(std::map<std::string, Names> by_name)                   // NOLINT
      : by_name_(std::move(by_name)) {}
  std::vector<std::string> of(const std::string& variable) const;

 private:
  Names all_;
  std::map<std::string, Names> by_name_;
};

/// A function that normalizes a layer's result in place of a bias: slim::batch_norm, a lambda, or
/// none.
class Normalizer {
 public:
  Normalizer() = default;
  Normalizer(std::nullopt_t) {}  // NOLINT: {.normalizer_fn = None}
  Normalizer(Tensor (*function)(const Operand&, Args, Site)) : function_(function) {}  // NOLINT
  template <class F>
  requires std::is_invocable_r_v<Tensor, const F&, const Tensor&> Normalizer(F function)  // NOLINT
      : call_(std::move(function)) {}

  explicit operator bool() const { return function_ != nullptr || call_ != nullptr; }
  Tensor operator()(const Tensor& x, const Args& params, Site site) const;

 private:
  Tensor (*function_)(const Operand&, Args, Site) = nullptr;
  std::function<Tensor(const Tensor&)> call_;
};

/// The arguments that a normalizer gets.
class NormalizerParams {
 public:
  NormalizerParams() = default;
  NormalizerParams(const Args& args);  // NOLINT: {.normalizer_params = slim::Args{.decay = 0.9}}
  Args args() const;

 private:
  std::shared_ptr<const Args> args_;
};

/// An initializer, or none.
using OptionalInitializer = std::optional<Initializer>;

/// The arguments by name of all functions of slim. As in Python, a function throws TypeError if it
/// is given one that it does not have, by the call or by an arg_scope. What is left out is that of
/// the open arg_scope, else the function's default.
struct Args {
  ByName by_name = ByName();
  // Of conv2d and fully_connected, the first four of pools as well.
  Arg<nn::Extents> stride{};
  Arg<std::string> padding{};
  Arg<std::string> data_format{};
  Arg<nn::Extents> rate{};
  Arg<Activation> activation_fn{};
  Arg<Normalizer> normalizer_fn{};
  Arg<NormalizerParams> normalizer_params{};
  Arg<Initializer> weights_initializer{};
  Arg<Regularizer> weights_regularizer{};
  Arg<OptionalInitializer> biases_initializer{};  ///< None: no biases
  Arg<Regularizer> biases_regularizer{};
  Arg<Reuse> reuse{};
  Arg<VariableCollections> variables_collections{};
  Arg<Names> outputs_collections{};  ///< to which the result is added
  Arg<bool> trainable{};
  // Of batch_norm.
  Arg<double> decay{};
  Arg<bool> center{};
  Arg<bool> scale{};
  Arg<double> epsilon{};
  std::map<std::string, Initializer> param_initializers{};  ///< "beta", "gamma", "moving_mean", ..
  std::map<std::string, Regularizer> param_regularizers{};  ///< "beta", "gamma"
  Arg<Names> updates_collections{};  ///< None: the result waits for the updates
  Arg<layers::Training> is_training{};
  Arg<bool> fused{};
  // Of dropout.
  Arg<double> keep_prob{};
  Arg<std::vector<std::optional<int>>> noise_shape{};
  Arg<std::int64_t> seed{};
  // Of one_hot_encoding.
  Arg<double> on_value{};
  Arg<double> off_value{};
  Arg<std::string> scope{};  ///< default: the name that TensorFlow's documentation gives
};

}  // namespace towerflow::slim::types

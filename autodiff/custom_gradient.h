#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/graph/operand.h"
#include "ops/variables/variable.h"

namespace towerflow {

/// Returns the gradients of the inputs, given those of the outputs (zeros if an output received
/// none): one entry for each input, absent if it receives none.
using CustomGradient = std::function<std::vector<OptionalGradient>(const std::vector<Tensor>& dys)>;

/// The same for a function that uses variables which are not among its inputs: the second list has
/// one entry for each of `variables`, which are sorted by name.
using CustomVariableGradient =
    std::function<std::pair<std::vector<OptionalGradient>, std::vector<OptionalGradient>>(
        const std::vector<Tensor>& dys, const std::vector<Variable>& variables)>;

namespace custom {

struct Result {
  std::vector<Tensor> ys;
  std::variant<CustomGradient, CustomVariableGradient> gradient;
};

/// Calls `function` on the inputs and attaches the gradient to its results with an IdentityN.
std::vector<Tensor> call(const std::function<Result(const std::vector<Tensor>&)>& function,
                         const std::vector<Operand>& inputs, Site site);

std::vector<OptionalGradient> as_list(const Tensor& gradient);
std::vector<OptionalGradient> as_list(const std::vector<Tensor>& gradients);
std::vector<OptionalGradient> as_list(std::vector<OptionalGradient> gradients);

std::vector<Tensor> all_of(const Tensor& tensor);
std::vector<Tensor> all_of(std::vector<Tensor> tensors);

/// Converts what a function returned, (y, grad) or (ys, grad), to a Result.
template <class Y, class Grad>
Result result(std::pair<Y, Grad> returned) {
  Grad grad = std::move(returned.second);
  std::vector<Tensor> ys = all_of(std::move(returned.first));
  if constexpr (std::invocable<Grad&, const Tensor&, const std::vector<Variable>&>) {
    return {std::move(ys), CustomVariableGradient([grad](const auto& dys, const auto& variables) {
              auto [dxs, dvs] = grad(dys[0], variables);
              return std::pair(as_list(std::move(dxs)), as_list(std::move(dvs)));
            })};
  } else if constexpr (std::invocable<Grad&, const std::vector<Tensor>&,
                                      const std::vector<Variable>&>) {
    return {std::move(ys), CustomVariableGradient([grad](const auto& dys, const auto& variables) {
              auto [dxs, dvs] = grad(dys, variables);
              return std::pair(as_list(std::move(dxs)), as_list(std::move(dvs)));
            })};
  } else if constexpr (std::invocable<Grad&, const Tensor&>) {
    return {std::move(ys),
            CustomGradient([grad](const auto& dys) { return as_list(grad(dys[0])); })};
  } else {
    return {std::move(ys), CustomGradient([grad](const auto& dys) { return as_list(grad(dys)); })};
  }
}

template <class Function, std::size_t... i>
auto apply(const Function& function, const std::vector<Tensor>& xs, std::index_sequence<i...>) {
  return function(xs[i]...);
}

/// The return type of `function` for as many tensors as there are indices.
template <class Function, class Indices>
struct Returned {
  using type = decltype(apply(std::declval<const Function&>(),
                              std::declval<const std::vector<Tensor>&>(), Indices()));
};

}  // namespace custom

/// Returns a function with a custom gradient: `function` takes Tensors and returns a pair of its
/// result (a Tensor or a vector of them) and a callable that maps the gradient of the result (a
/// Tensor, or a vector of them) to those of the inputs (a Tensor, or a vector of OptionalGradient).
///
///   auto log1pexp = tf::custom_gradient([](const tf::Tensor& x) {
///     auto e = tf::exp(x);
///     auto grad = [e](const tf::Tensor& dy) { return dy * (1.0 - 1.0 / (1.0 + e)); };
///     return std::pair(tf::log(1.0 + e), grad);
///   });
///   tf::Tensor y = log1pexp(x);
///
/// A callable that also takes `const std::vector<tf::Variable>&` gets the trainable variables that
/// the function uses besides its inputs, and returns a pair: gradients of the inputs, and of the
/// variables.
///
/// grads    what the callable returns; it is called each time gradients are computed
/// errors   TypeError: the function makes variables, or uses some and the callable takes none;
///          ValueError when gradients are computed: the callable returns a wrong number of them
/// source   tf.custom_gradient (graph mode)
template <class Function>
auto custom_gradient(Function function, Site site = Site::current()) {
  return [function = std::move(function), site]<class... Inputs>(const Inputs&... inputs) {
    using Returned = custom::Returned<Function, std::index_sequence_for<Inputs...>>;
    std::vector<Tensor> ys = custom::call(
        [&](const std::vector<Tensor>& xs) {
          return custom::result(custom::apply(function, xs, std::index_sequence_for<Inputs...>()));
        },
        {Operand(inputs, site)...}, site);
    if constexpr (std::same_as<typename Returned::type::first_type, Tensor>) {
      return ys[0];
    } else {
      return ys;
    }
  };
}

}  // namespace towerflow

#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/graph/operand.h"

namespace towerflow::layers {

namespace types {}
using namespace types;

}  // namespace towerflow::layers

namespace towerflow::layers::types {

/// A function that is applied to a layer's result: `tf::nn::relu`, a lambda, or none.
class Activation {
 public:
  Activation() = default;
  Activation(std::nullopt_t) {}  // NOLINT: {.activation = None}
  /// A function of this library, with its options left out.
  template <class Options>
  Activation(Tensor (*function)(const Operand&, Options, Site))  // NOLINT: {.activation = nn::relu}
      : call_([function](const Tensor& x, Site site) {
          return function(Operand(x, site), Options{}, site);
        }) {}
  template <class F>
  requires std::is_invocable_r_v<Tensor, const F&, const Tensor&> Activation(F function)  // NOLINT
      : call_([function = std::move(function)](const Tensor& x, Site) { return function(x); }) {}

  explicit operator bool() const { return call_ != nullptr; }
  Tensor operator()(const Tensor& x, Site site) const { return call_(x, site); }

 private:
  std::function<Tensor(const Tensor&, Site)> call_;
};

/// Returns a loss of a layer's result, or nothing.
using ActivityRegularizer = std::function<std::optional<Tensor>(const Tensor& result)>;

}  // namespace towerflow::layers::types

#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow::types {

/// The axes of a reduction: none for all of them, one number, a list, or a tensor. Negative axes
/// count from the end.
class Axis {
 public:
  Axis(std::nullopt_t) {}  // NOLINT: reduce_sum(x, tf::None, {.name = "sum"})
  template <std::integral T>
  Axis(T axis) : value_(Operand(static_cast<std::int64_t>(axis))) {}  // NOLINT: reduce_sum(x, 0)
  template <std::same_as<Tensor> T>
  Axis(const T& axes) : value_(Operand(axes)) {}  // NOLINT
  template <std::same_as<std::vector<int>> T>
  Axis(const T& axes) : value_(Operand(axes)) {}  // NOLINT
  template <class = void>
  Axis(const std::initializer_list<int>& axes) : Axis(std::vector<int>(axes)) {}  // NOLINT: {1, 2}

  // Twin constructors, which keep options from being taken for axes: see arguments.h.
  explicit Axis(bool) = delete;
  explicit Axis(int axis) : value_(Operand(axis)) {}
  explicit Axis(Tensor axes) : value_(Operand(axes)) {}
  explicit Axis(const std::vector<int>& axes) : value_(Operand(axes)) {}
  template <class Item = int>
  Axis(const TwinList<Item>& axes) = delete;
  template <class Item = int>
  explicit Axis(TwinList<Item>&& axes) : Axis(std::vector<int>(axes)) {}

  const std::optional<Operand>& value() const { return value_; }

 private:
  std::optional<Operand> value_;
};

struct ReduceOptions {
  ByName by_name = ByName();
  Axis axis = std::nullopt;
  std::optional<bool> keepdims{};  ///< whether reduced dimensions stay, with size 1
  std::string name{};
  Axis reduction_indices = std::nullopt;  ///< older name of `axis`
  std::optional<bool> keep_dims{};        ///< older name of `keepdims`
};

}  // namespace towerflow::types

namespace towerflow {

/// Reductions over one or more axes.
///
/// shapes   input [d0, ..] -> without the reduced dimensions, or with size 1 in their place
/// dtypes   all numbers (reduce_all, reduce_any: bool), the same for the result. Integers wrap
///          around; their mean is summed in 64 bits and truncated towards zero. Over no elements:
///          sum 0, product 1, mean NaN (0 for integers), maximum -inf, minimum inf (for integers
///          the lowest and highest), all true, any false
/// grads    input; for a maximum or minimum, equal shares for all elements that equal it
/// errors   ValueError: an axis out of range, an option given under its older name too; TypeError:
///          an axis that is not an integer; at run time InvalidArgumentError: an axis given twice
/// source   tf.reduce_sum and so on
///
/// reduce_mean({a, b}, 0) packs the list of tensors. The order of a sum depends only on the shape.
/// The overloads with a positional axis are templates, so that options in braces are taken for
/// options.
template <class = void>
Tensor reduce_sum(const Operand& input, Axis axis, ReduceOptions options = {},
                  Site site = Site::current());
template <class = void>
Tensor reduce_mean(const Operand& input, Axis axis, ReduceOptions options = {},
                   Site site = Site::current());
template <class = void>
Tensor reduce_prod(const Operand& input, Axis axis, ReduceOptions options = {},
                   Site site = Site::current());
template <class = void>
Tensor reduce_max(const Operand& input, Axis axis, ReduceOptions options = {},
                  Site site = Site::current());
template <class = void>
Tensor reduce_min(const Operand& input, Axis axis, ReduceOptions options = {},
                  Site site = Site::current());
template <class = void>
Tensor reduce_all(const Operand& input, Axis axis, ReduceOptions options = {},
                  Site site = Site::current());
template <class = void>
Tensor reduce_any(const Operand& input, Axis axis, ReduceOptions options = {},
                  Site site = Site::current());

/// Over all dimensions, or with everything by name: reduce_mean(x, {.axis = 1, .keepdims = true}).
Tensor reduce_sum(const Operand& input, ReduceOptions options = {}, Site site = Site::current());
Tensor reduce_mean(const Operand& input, ReduceOptions options = {}, Site site = Site::current());
Tensor reduce_prod(const Operand& input, ReduceOptions options = {}, Site site = Site::current());
Tensor reduce_max(const Operand& input, ReduceOptions options = {}, Site site = Site::current());
Tensor reduce_min(const Operand& input, ReduceOptions options = {}, Site site = Site::current());
Tensor reduce_all(const Operand& input, ReduceOptions options = {}, Site site = Site::current());
Tensor reduce_any(const Operand& input, ReduceOptions options = {}, Site site = Site::current());

/// Returns whether reduced dimensions stay, given under either name. Throws ValueError if both
/// names are used.
bool keeps_dims(std::optional<bool> keepdims, std::optional<bool> keep_dims, Site site);

}  // namespace towerflow

#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow::types {

/// The axes of a reduction: none for all of them, one number, a list, or a tensor of them. Negative
/// ones count from the last.
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

  // The twins, which keep options from being taken for axes: see arguments.h.
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

/// Reductions: many elements to one.
///
/// shapes   input [d0, ..] -> without the reduced dimensions, or 1 in their place
/// dtypes   all numbers (reduce_all, reduce_any: bool); the result has the input's. Integers wrap;
///          a mean of them is added in 64 bits and cut off towards zero. Of no elements: sum 0,
///          product 1, mean NaN, maximum -inf, minimum inf (for integers the lowest and highest),
///          all true, any false
/// grads    input; of a maximum or minimum that several elements reach, equal shares
/// errors   ValueError: an axis out of range, an option given by its older name too; TypeError: an
/// axis that is not an integer; in a run
///          InvalidArgumentError: an axis given twice
/// source   tf.reduce_sum and so on
///
/// Sums are in an order fixed by the shape. Lists of tensors are packed: reduce_mean({a, b}, 0).
/// With the axis by its place these are templates, so that options in braces are taken for options.
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

/// Whether reduced dimensions stay, said by either name. Throws ValueError where both are given.
bool keeps_dims(std::optional<bool> keepdims, std::optional<bool> keep_dims, Site site);

}  // namespace towerflow

#include "ops/nn/weights_broadcast.h"

#include <fmt/format.h>

#include "core/graph/scopes.h"
#include "ops/array/concat.h"
#include "ops/array/fill.h"
#include "ops/array/rank_size.h"
#include "ops/array/set_operation.h"
#include "ops/array/shape_of.h"
#include "ops/array/view.h"
#include "ops/control/cond.h"
#include "ops/control/group.h"
#include "ops/data_flow/assert.h"
#include "ops/math/binary.h"

namespace towerflow::losses {
namespace {

constexpr const char* kPrefix = "weights can not be broadcast to values.";
constexpr const char* kHint =
    "weights are a scalar, or have the rank of the values, with size 1 where they are repeated";

std::vector<Tensor> tensors_in(const Operand& a, const Operand& b) {
  std::vector<Tensor> tensors;
  for (const Operand* operand : {&a, &b}) {
    if (const Tensor* tensor = operand->any_tensor()) tensors.push_back(*tensor);
  }
  return tensors;
}

/// A tensor with its shape and rank as nodes of a scope called `name`.
struct ShapedTensor {
  ShapedTensor(const Operand& operand, const char* name, Site site) {
    const NameScope scope(get_default_graph(), name, site);
    // A constant made from a value is named like the scope.
    const std::string& path = scope.name();
    tensor = convert_operand(get_default_graph(), operand, path, std::nullopt);
    sizes = shape(tensor, {.name = "shape"}, site);
    rank = towerflow::rank(tensor, {.name = "rank"}, site);
  }
  const Shape& known() const { return tensor.shape(); }

  Tensor tensor, sizes, rank;
};

void check_ranks(const Shape& weights, const Shape& values, Site site) {
  if (weights.rank() == values.rank()) return;
  throw ValueError(
      fmt::format("{} values.rank={}. weights.rank={}. values.shape={}. "
                  "weights.shape={}.",
                  kPrefix, values.rank(), weights.rank(), values.text(), weights.text()),
      {.site = site, .op = "assert_broadcastable", .hint = kHint});
}

void check_sizes(const Shape& weights, const Shape& values, Site site) {
  for (std::size_t i = 0; i < values.rank(); ++i) {
    if (weights.size(i) == 1 || weights.size(i) == values.size(i)) continue;
    throw ValueError(fmt::format("{} Mismatch at dim {}. values.shape={}, weights.shape={}.",
                                 kPrefix, i, values.text(), weights.text()),
                     {.site = site, .op = "assert_broadcastable", .hint = kHint});
  }
}

/// Returns a bool tensor: whether each size of the weights, which have the rank of the values, is 1
/// or that of the values.
Tensor has_valid_dims(const ShapedTensor& weights, const ShapedTensor& values, Site site) {
  const NameScope scope = name_scope(
      std::nullopt, {.default_name = "has_invalid_dims", .values = {{weights.sizes, values.sizes}}},
      site);
  const Tensor column = expand_dims(values.sizes, -1, {}, site);
  const Tensor ones = ones_like(column, {}, site);
  const Tensor valid = concat({column, ones}, 1, {}, site);
  const Tensor given = expand_dims(weights.sizes, -1, {}, site);
  const SparseTensor invalid = sets::set_difference(given, valid, {}, site);
  const Tensor count = size(invalid.values, {.name = "num_invalid_dims"}, site);
  return equal(0, count, {.name = scope.name()}, site);
}

/// Returns a bool tensor: whether weights that are not a scalar can be broadcast to the values.
Tensor has_valid_nonscalar_shape(const ShapedTensor& weights, const ShapedTensor& values,
                                 Site site) {
  const NameScope scope =
      name_scope(std::nullopt,
                 {.default_name = "has_valid_nonscalar_shape",
                  .values = {{weights.rank, weights.sizes, values.rank, values.sizes}}},
                 site);
  const Tensor same_rank = equal(values.rank, weights.rank, {.name = "is_same_rank"}, site);
  return cond(
      same_rank, [&] { return has_valid_dims(weights, values, site); }, [&] { return same_rank; },
      {.name = scope.name()}, site);
}

}  // namespace

Operation assert_broadcastable(const Operand& weights, const Operand& values, Site site) {
  const NameScope scope = name_scope(
      std::nullopt, {.default_name = "assert_broadcastable", .values = tensors_in(weights, values)},
      site);
  const ShapedTensor small(weights, "weights", site);
  const ShapedTensor large(values, "values", site);
  if (small.known().has_rank() && large.known().has_rank()) {
    if (small.known().rank() == 0) return no_op({.name = "static_scalar_check_success"}, site);
    check_ranks(small.known(), large.known(), site);
    if (small.known().fully_known() && large.known().fully_known()) {
      check_sizes(small.known(), large.known(), site);
      return no_op({.name = "static_dims_check_success"}, site);
    }
  }
  const Tensor is_scalar = equal(0, small.rank, {.name = "is_scalar"}, site);
  const Tensor fits = cond(
      is_scalar, [&] { return is_scalar; },
      [&] { return has_valid_nonscalar_shape(small, large, site); }, {.name = "is_valid_shape"},
      site);
  return Assert(fits,
                {kPrefix, "weights.shape=", small.tensor.name(), Operand(small.sizes, site),
                 "values.shape=", large.tensor.name(), Operand(large.sizes, site),
                 "is_scalar=", Operand(is_scalar, site)},
                {.name = scope.name()}, site);
}

Tensor broadcast_weights(const Tensor& weights, const Tensor& values, Site site) {
  const NameScope scope = name_scope(
      std::nullopt, {.default_name = "broadcast_weights", .values = {{weights, values}}}, site);
  const bool known = weights.shape().fully_known() && values.shape().fully_known();
  if (known && weights.shape().compatible(values.shape())) return weights;
  const Operation checked = assert_broadcastable(weights, values, site);
  const ControlDependencies after = control_dependencies({checked}, site);
  return multiply(weights, ones_like(values, {}, site), {.name = scope.name()}, site);
}

}  // namespace towerflow::losses

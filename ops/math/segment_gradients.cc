#include "ops/math/segment_gradients.h"

#include "core/graph/graph.h"
#include "ops/array/cast.h"
#include "ops/array/concat.h"
#include "ops/array/fill.h"
#include "ops/array/gather.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/rank_size.h"
#include "ops/array/select.h"
#include "ops/array/shape_of.h"
#include "ops/array/view.h"
#include "ops/math/binary.h"
#include "ops/math/segment.h"
#include "ops/math/sum_to_shape.h"

namespace towerflow {
namespace {

/// Returns the rows of `table` by id. Of unsorted ids, negative ones give zeros.
Tensor rows_by_id(const Operation& op, const Tensor& table, bool sorted) {
  if (sorted) return gather(table, op.input(1), {}, op.site());
  return op.graph()
      .add({.op = "GatherOrZero",
            .name = "GatherOrZero",
            .inputs = {table, op.input(1)},
            .site = op.site()})
      .output(0);
}

/// Sums rows by the ids of `op`.
Tensor summed_by_id(const Operation& op, const Tensor& rows, bool sorted) {
  if (sorted) return segment_sum(rows, op.input(1), {}, op.site());
  return unsorted_segment_sum(rows, op.input(1), op.input(2), {}, op.site());
}

Tensor multiplied_by_id(const Operation& op, const Tensor& rows, bool sorted) {
  if (sorted) return segment_prod(rows, op.input(1), {}, op.site());
  return unsorted_segment_prod(rows, op.input(1), op.input(2), {}, op.site());
}

SegmentGradients for_data(const Operation& op, const Tensor& dx) {
  SegmentGradients dxs(op.num_inputs());
  dxs[0] = dx;
  return dxs;
}

/// The elements that equal the result get equal shares. As those of a negative id get a share of
/// the zero that stands for it, they need no care.
SegmentGradients extreme_gradient(const Operation& op, const SegmentGradients& dys, bool sorted) {
  const Site site = op.site();
  const Tensor dy = dense_gradient(dys[0], site);
  const Tensor zeros = zeros_like(op.input(0), {}, site);
  const Tensor results = rows_by_id(op, op.output(0), sorted);
  const Tensor is_selected = equal(op.input(0), results, {}, site);
  const Tensor selected = cast(is_selected, dy.dtype(), {}, site);
  const Tensor number = summed_by_id(op, selected, sorted);
  const Tensor shares = divide(dy, number, {}, site);
  const Tensor row_shares = rows_by_id(op, shares, sorted);
  return for_data(op, where_v2(is_selected, row_shares, zeros, {}, site));
}

/// Each element gets the product of the others, computed without it where it is zero: a segment
/// with more zeros has no gradient.
SegmentGradients prod_gradient(const Operation& op, const SegmentGradients& dys, bool sorted) {
  const Site site = op.site();
  const Tensor data = op.input(0);
  const Tensor given = dense_gradient(dys[0], site);
  const Tensor is_zero = equal(data, scalar_like(data, 0, site), {}, site);
  const Tensor zeros = cast(is_zero, DType::int32, {}, site);
  const Tensor number = summed_by_id(op, zeros, sorted);
  const Tensor several = greater(number, 1, {}, site);
  const Tensor none = zeros_like(given, {}, site);
  const Tensor dy = where_v2(several, none, given, {}, site);
  const Tensor units = ones_like(data, {}, site);
  const Tensor nonzero = where_v2(is_zero, units, data, {}, site);
  const Tensor nonzero_products = multiplied_by_id(op, nonzero, sorted);
  const Tensor products = rows_by_id(op, op.output(0), sorted);
  const Tensor others_of_zero = rows_by_id(op, nonzero_products, sorted);
  const Tensor others = divide(products, nonzero, {}, site);
  const Tensor slope = where_v2(is_zero, others_of_zero, others, {}, site);
  const Tensor rows = rows_by_id(op, dy, sorted);
  return for_data(op, multiply(rows, slope, {}, site));
}

}  // namespace

SegmentGradients unsorted_segment_sum_gradient(const Operation& op, const SegmentGradients& dys) {
  return for_data(op, rows_by_id(op, dense_gradient(dys[0], op.site()), false));
}

SegmentGradients unsorted_segment_prod_gradient(const Operation& op, const SegmentGradients& dys) {
  return prod_gradient(op, dys, false);
}

SegmentGradients unsorted_segment_extreme_gradient(const Operation& op,
                                                   const SegmentGradients& dys) {
  return extreme_gradient(op, dys, false);
}

SegmentGradients segment_sum_gradient(const Operation& op, const SegmentGradients& dys) {
  return for_data(op, rows_by_id(op, dense_gradient(dys[0], op.site()), true));
}

SegmentGradients segment_mean_gradient(const Operation& op, const SegmentGradients& dys) {
  const Site site = op.site();
  const Tensor dy = dense_gradient(dys[0], site);
  const Tensor dimensions = rank(op.input(0), {}, site);
  const Tensor id_shape = shape(op.input(1), {}, site);
  const Tensor others = subtract(dimensions, 1, {}, site);
  const Tensor rest = ones(expand_dims(others, 0, {}, site), {.dtype = id_shape.dtype()}, site);
  const Tensor ones_shape = concat({id_shape, rest}, 0, {}, site);
  const Tensor units = ones(ones_shape, {.dtype = dy.dtype()}, site);
  const Tensor number = summed_by_id(op, units, true);
  return for_data(op, rows_by_id(op, divide(dy, number, {}, site), true));
}

SegmentGradients segment_prod_gradient(const Operation& op, const SegmentGradients& dys) {
  return prod_gradient(op, dys, true);
}

SegmentGradients segment_extreme_gradient(const Operation& op, const SegmentGradients& dys) {
  return extreme_gradient(op, dys, true);
}

}  // namespace towerflow

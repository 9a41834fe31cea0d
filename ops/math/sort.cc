#include "ops/math/sort.h"

#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "core/graph/constant.h"
#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/rank_size.h"
#include "ops/array/shape_of.h"
#include "ops/array/strided_slice.h"
#include "ops/array/tensor_scatter.h"
#include "ops/array/transpose.h"
#include "ops/math/binary.h"
#include "ops/math/range.h"
#include "ops/math/unary.h"
#include "ops/nn/top_k.h"

namespace towerflow {
namespace {

/// Returns the permutation that exchanges `axis` and the last dimension.
Tensor exchange_with_last(const Tensor& values, const Tensor& rank, int axis, Site site) {
  Graph& graph = values.graph();
  if (values.shape().has_rank()) {
    std::vector<std::int64_t> order(values.shape().rank());
    std::iota(order.begin(), order.end(), 0);
    if (axis < 0) axis += static_cast<int>(order.size());
    if (axis < 0 || axis >= static_cast<int>(order.size())) {
      throw ValueError(fmt::format("axis {} of a sort is out of range for values of shape {}", axis,
                                   values.shape().text()),
                       {.site = site, .op = "sort"});
    }
    std::swap(order[static_cast<std::size_t>(axis)], order.back());
    return make_constant(graph, Array::of(Shape{order.size()}, order), "transposition", site);
  }
  const Nested place = axis < 0 ? Nested(Operand(axis, site) + rank) : Nested(axis);
  const Tensor order = range(0, rank, 1, {}, site);
  const Tensor from = Operand(rank, site) - 1;
  const Tensor to = Operand(rank, site) - 1;
  // Compilers differ in what a list of one element in braces is.
  using Row = std::vector<Nested>;
  const Nested places(Row{Nested(Row{place}), Nested(Row{from})});
  return tensor_scatter_nd_update(order, Operand(places, site), {to, place}, {}, site);
}

Tensor sort_descending(const Tensor& values, int axis, bool places, Site site) {
  const Tensor sizes = shape(values, {}, site);
  const Tensor k = take_index(sizes, axis, site);
  const Tensor dimensions = rank(values, {}, site);
  const Shape& given = values.shape();
  const bool last = axis == -1 || (given.has_rank() && axis + 1 == static_cast<int>(given.rank()));
  if (last) {
    const nn::TopK found = nn::top_k(values, k, {}, site);
    return places ? found.indices : found.values;
  }
  const Tensor order = exchange_with_last(values, dimensions, axis, site);
  const nn::TopK found = nn::top_k(transpose(values, order, {}, site), k, {}, site);
  return transpose(places ? found.indices : found.values, order, {}, site);
}

/// Ascending order is the descending order of values that are turned round: largest - x for
/// unsigned integers, -x - 1 for signed ones, -x for others.
Tensor turn_round(const Tensor& values, Site site) {
  const DType dtype = values.dtype();
  const Operand given(values, site);
  if (!is_integer(dtype)) return -given;
  Array largest;
  dispatch_dtype(dtype, [&]<class T>() {
    if (std::is_unsigned_v<T>) largest = Array::scalar(std::numeric_limits<T>::max());
  });
  if (!largest.empty()) return Operand(largest, site) - given;
  return Operand(-given, site) - 1;
}

Tensor sort_or_argsort(const char* op, const Operand& values, int axis,
                       const std::string& direction, const std::string& name, bool places,
                       Site site) {
  Graph& graph = graph_of(values);
  const NameScope scope(graph, name.empty() ? op : name, site);
  if (direction != "ASCENDING" && direction != "DESCENDING") {
    throw ValueError(fmt::format("Argument `direction` should be one of ASCENDING, DESCENDING. "
                                 "Received: direction={}",
                                 direction),
                     {.site = site, .op = op});
  }
  make_constant(graph, Array::scalar(static_cast<std::int32_t>(axis)), "axis", site);
  const Tensor given = convert_operand(graph, values, "values", std::nullopt);
  if (direction == "DESCENDING") return sort_descending(given, axis, places, site);
  const Tensor sorted = sort_descending(turn_round(given, site), axis, places, site);
  return places ? sorted : turn_round(sorted, site);
}

}  // namespace

Tensor sort(const Operand& values, SortOptions options, Site site) {
  return sort_or_argsort("sort", values, options.axis, options.direction, options.name, false,
                         site);
}

Tensor argsort(const Operand& values, ArgSortOptions options, Site site) {
  return sort_or_argsort("argsort", values, options.axis, options.direction, options.name, true,
                         site);
}

}  // namespace towerflow

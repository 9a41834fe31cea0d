#include "ops/math/tensordot.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/op_builder.h"
#include "ops/array/boolean_mask.h"
#include "ops/array/concat.h"
#include "ops/array/gather.h"
#include "ops/array/operands.h"
#include "ops/array/rank_size.h"
#include "ops/array/select.h"
#include "ops/array/shape_of.h"
#include "ops/array/stack.h"
#include "ops/array/strided_slice.h"
#include "ops/array/transpose.h"
#include "ops/array/view.h"
#include "ops/math/binary.h"
#include "ops/math/matmul.h"
#include "ops/math/range.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"

namespace towerflow {
namespace {

using Axes = std::vector<std::int64_t>;

/// The axes of one operand: numbers, or a tensor of them.
struct ContractedAxes {
  std::optional<Axes> listed;
  Tensor tensor;
};

/// An operand as a matrix.
struct Flattened {
  Tensor matrix;
  std::optional<Axes> free_sizes;             ///< if they are known
  Tensor free_tensor;                         ///< else
  std::optional<std::vector<Dim>> free_dims;  ///< what is known of them
};

[[noreturn]] void fail_axes(const std::string& message, Site site) {
  throw ValueError(message, {.site = site,
                             .op = "Tensordot",
                             .hint = "axes are a number, {i, j}, {{i, ..}, {j, ..}} or a tensor"});
}

Axes upwards(std::int64_t first, std::int64_t end) {
  Axes axes;
  for (std::int64_t i = first; i < end; ++i) axes.push_back(i);
  return axes;
}

Axes listed_axes(const Nested& nested, Site site) {
  if (const auto* one = std::get_if<std::int64_t>(&nested.value())) return {*one};
  const auto* items = std::get_if<std::vector<Nested>>(&nested.value());
  if (items == nullptr) fail_axes("`axes` must be integers.", site);
  Axes axes;
  for (const Nested& item : *items) {
    const auto* axis = std::get_if<std::int64_t>(&item.value());
    if (axis == nullptr) fail_axes("`axes` must be integers.", site);
    axes.push_back(*axis);
  }
  return axes;
}

std::pair<ContractedAxes, ContractedAxes> last_and_first(const Tensor& a, std::int64_t count,
                                                         Site site) {
  if (count < 0) fail_axes(fmt::format("`axes` must be at least 0. Received: {}.", count), site);
  if (a.shape().has_rank()) {
    const auto rank = static_cast<std::int64_t>(a.shape().rank());
    if (count > rank) {
      fail_axes(fmt::format("`axes` must not be larger than the number of dimensions of tensor {}. "
                            "Received {}, vs tensor dimensions {}.",
                            a.name(), count, rank),
                site);
    }
    return {{upwards(rank - count, rank), {}}, {upwards(0, count), {}}};
  }
  const Tensor dims = rank(a, {}, site);
  const Tensor from = Operand(dims, site) - Operand(count, site);
  const Tensor last = range(from, dims, 1, {}, site);
  const Tensor first = range(count, {}, site);
  return {{std::nullopt, last}, {std::nullopt, first}};
}

std::pair<ContractedAxes, ContractedAxes> axes_of_both(const Tensor& a, const Operand& axes,
                                                       Site site) {
  const Nested* nested = axes.nested();
  if (nested == nullptr || nested->holds_tensor()) {
    const Tensor both = convert_operand(a.graph(), axes, "axes", DType::int32);
    const Tensor first = take_index(both, 0, site);
    return {{std::nullopt, first}, {std::nullopt, take_index(both, 1, site)}};
  }
  if (const auto* count = std::get_if<std::int64_t>(&nested->value())) {
    return last_and_first(a, *count, site);
  }
  const auto* lists = std::get_if<std::vector<Nested>>(&nested->value());
  if (lists == nullptr || lists->size() != 2) {
    fail_axes("`axes` must be an integer or have length 2.", site);
  }
  const Axes of_a = listed_axes((*lists)[0], site), of_b = listed_axes((*lists)[1], site);
  if (of_a.size() != of_b.size()) {
    fail_axes(fmt::format("Different number of contraction axes `a` and `b`, {} != {}.",
                          of_a.size(), of_b.size()),
              site);
  }
  return {{of_a, {}}, {of_b, {}}};
}

/// Makes the axes non-negative; returns the other ones.
Axes split_axes(Axes& axes, std::size_t rank, Site site) {
  for (std::int64_t& axis : axes) {
    const std::int64_t given = axis;
    if (axis < 0) axis += static_cast<std::int64_t>(rank);
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) {
      fail_axes(fmt::format("axis {} of a tensor of rank {}", given, rank), site);
    }
  }
  Axes free;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(rank); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) free.push_back(i);
  }
  return free;
}

Axes joined(const Axes& first, const Axes& second) {
  Axes all = first;
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

std::int64_t product_of_sizes(const Shape& shape, const Axes& axes) {
  std::int64_t product = 1;
  for (const std::int64_t axis : axes) product *= shape.size(static_cast<std::size_t>(axis));
  return product;
}

Operand numbers(const Axes& values, Site site) {
  return Operand(std::vector<int>(values.begin(), values.end()), site);
}

/// Flattens an operand whose shape is known. The contracted axes come last, or first if `turned`.
Flattened flatten_known(const Tensor& x, Axes axes, bool turned, Site site) {
  const Shape& shape = x.shape();
  const Axes free = split_axes(axes, shape.rank(), site);
  const std::int64_t rows = product_of_sizes(shape, free), inner = product_of_sizes(shape, axes);
  const Axes order = turned ? joined(axes, free) : joined(free, axes);
  const Axes wanted = turned ? Axes{inner, rows} : Axes{rows, inner};
  Flattened flat;
  flat.matrix = x;
  if (order != upwards(0, static_cast<std::int64_t>(shape.rank()))) {
    flat.matrix = transpose(x, numbers(order, site), {}, site);
  }
  if (flat.matrix.shape().sizes() != wanted) {
    flat.matrix = reshape(flat.matrix, numbers(wanted, site), {}, site);
  }
  flat.free_sizes.emplace();
  flat.free_dims.emplace();
  for (const std::int64_t axis : free) {
    const std::int64_t size = shape.size(static_cast<std::size_t>(axis));
    flat.free_sizes->push_back(size);
    flat.free_dims->push_back(Dim(size));
  }
  return flat;
}

/// Returns the axes of a tensor of `dims` dimensions that are not in `axes`.
Tensor other_axes(const Tensor& dims, const Tensor& axes, Site site) {
  const Tensor all = range(dims, {}, site);
  const Tensor column = expand_dims(all, 1, {}, site);
  const Tensor is_in = reduce_any(equal(column, axes, {}, site), 1, {}, site);
  return boolean_mask(all, logical_not(is_in, {}, site), {}, site);
}

/// Flattens an operand with sizes that are found in the run.
Flattened flatten_unknown(const Tensor& x, const ContractedAxes& given, bool turned, Site site) {
  Flattened flat;
  Tensor axes, free, sizes;
  Graph& graph = x.graph();
  if (x.shape().has_rank() && given.listed) {
    Axes contracted = *given.listed;
    const Axes rest = split_axes(contracted, x.shape().rank(), site);
    flat.free_dims.emplace();
    for (const std::int64_t axis : rest) {
      flat.free_dims->push_back(x.shape()[static_cast<std::size_t>(axis)]);
    }
    axes = convert_operand(graph, numbers(contracted, site), "axes", DType::int32);
    free = convert_operand(graph, numbers(rest, site), "free", DType::int32);
    sizes = shape(x, {}, site);
  } else {
    sizes = shape(x, {}, site);
    const Tensor dims = rank(x, {}, site);
    const Operand listed =
        given.listed ? numbers(*given.listed, site) : Operand(given.tensor, site);
    axes = convert_operand(graph, listed, "axes", DType::int32);
    const Tensor whole = Operand(axes, site) >= Operand(0, site);
    const Tensor counted = Operand(axes, site) + Operand(dims, site);
    axes = where(whole, axes, counted, {}, site);
    free = other_axes(dims, axes, site);
  }
  const Tensor free_sizes = gather(sizes, free, {}, site);
  const Tensor inner_sizes = gather(sizes, axes, {}, site);
  const Tensor rows = reduce_prod(free_sizes, {}, site);
  const Tensor inner = reduce_prod(inner_sizes, {}, site);
  const Tensor order =
      turned ? concat({axes, free}, 0, {}, site) : concat({free, axes}, 0, {}, site);
  const Tensor wanted = turned ? stack({inner, rows}, {}, site) : stack({rows, inner}, {}, site);
  flat.matrix = reshape(transpose(x, order, {}, site), wanted, {}, site);
  flat.free_tensor = free_sizes;
  return flat;
}

Flattened flatten_axes(const Tensor& x, const ContractedAxes& axes, bool turned, Site site) {
  if (x.shape().fully_known() && axes.listed) return flatten_known(x, *axes.listed, turned, site);
  return flatten_unknown(x, axes, turned, site);
}

Tensor free_sizes_tensor(const Flattened& flat, Graph& graph, Site site) {
  if (!flat.free_sizes) return flat.free_tensor;
  return convert_operand(graph, numbers(*flat.free_sizes, site), "", DType::int32);
}

}  // namespace

Tensor tensordot(const Operand& a, const Operand& b, const Operand& axes, TensordotOptions options,
                 Site site) {
  Graph& graph = graph_of(a, b);
  const NameScope scope(graph, options.name.empty() ? "Tensordot" : options.name, site);
  const Tensor left = convert_operand(graph, a, "a", std::nullopt);
  const Tensor right = convert_operand(graph, b, "b", std::nullopt);
  const auto [left_axes, right_axes] = axes_of_both(left, axes, site);
  const Flattened first = flatten_axes(left, left_axes, false, site);
  const Flattened second = flatten_axes(right, right_axes, true, site);
  const Tensor product = matmul(first.matrix, second.matrix, {}, site);
  if (first.free_sizes && second.free_sizes) {
    const Axes sizes = joined(*first.free_sizes, *second.free_sizes);
    if (product.shape().fully_known() && product.shape().sizes() == sizes) return product;
    return reshape(product, numbers(sizes, site), {.name = scope.name()}, site);
  }
  const Tensor outer = free_sizes_tensor(first, graph, site);
  const Tensor inner = free_sizes_tensor(second, graph, site);
  const Tensor sizes = concat({outer, inner}, 0, {}, site);
  Tensor result = reshape(product, sizes, {.name = scope.name()}, site);
  if (first.free_dims && second.free_dims) {
    std::vector<Dim> dims = *first.free_dims;
    dims.insert(dims.end(), second.free_dims->begin(), second.free_dims->end());
    result.set_shape(Shape(std::move(dims)), site);
  }
  return result;
}

}  // namespace towerflow

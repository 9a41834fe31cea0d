#include "ops/array/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/graph/constant.h"
#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/concat.h"
#include "ops/array/diagonal.h"
#include "ops/array/fill.h"
#include "ops/array/operands.h"
#include "ops/array/rank_size.h"
#include "ops/array/select.h"
#include "ops/array/slice.h"
#include "ops/array/stack.h"
#include "ops/array/view.h"
#include "ops/math/binary.h"
#include "ops/math/range.h"

namespace towerflow {
namespace {

/// Returns the number that an operand is, nullopt for a tensor. Throws TypeError for anything else.
std::optional<std::int64_t> literal_size(const ScalarOperand& size, Site site) {
  if (size.any_tensor() != nullptr) return std::nullopt;
  const Array value = size.array() != nullptr ? *size.array() : to_array(*size.nested());
  if (is_index(value.dtype())) {
    return value.dtype() == DType::int32 ? value.item<std::int32_t>() : value.item<std::int64_t>();
  }
  throw TypeError(fmt::format("Arguments `num_rows` and `num_columns` must be positive integer "
                              "values. Received: {}",
                              value.text()),
                  {.site = site, .op = "eye"});
}

Shape with_sizes(const std::vector<std::int64_t>& batch,
                 std::initializer_list<std::int64_t> sizes) {
  std::vector<Dim> dims(batch.begin(), batch.end());
  for (const std::int64_t size : sizes) {
    if (size < 0)
      throw ValueError(fmt::format("Fill dimensions must be >= 0, but one is {}", size));
    dims.emplace_back(size);
  }
  return Shape(std::move(dims));
}

Tensor add_eye(const ScalarOperand& num_rows, const std::optional<ScalarOperand>& num_columns,
               const EyeOptions& options, Site site) {
  const ScalarOperand& columns = num_columns ? *num_columns : num_rows;
  Graph& graph = graph_of(num_rows, columns);
  const NameScope scope(graph, options.name.empty() ? "eye" : options.name, site);
  const DefaultGraphGuard made_here(graph);
  const auto rows_known = literal_size(num_rows, site), columns_known = literal_size(columns, site);
  const ZerosOptions of_dtype{.dtype = options.dtype};
  if (rows_known && columns_known) {
    const std::int64_t diagonal = std::min(*rows_known, *columns_known);
    const Tensor units = ones(with_sizes(options.batch_shape, {diagonal}), of_dtype, site);
    if (*rows_known == *columns_known) return matrix_diag(units, {}, site);
    const Shape shape = with_sizes(options.batch_shape, {*rows_known, *columns_known});
    return matrix_set_diag(zeros(shape, of_dtype, site), units, {}, site);
  }
  const Tensor diagonal = minimum(num_rows, columns, {.name = "Minimum"}, site);
  const std::vector<std::int32_t> sizes(options.batch_shape.begin(), options.batch_shape.end());
  const Tensor batch = make_constant(graph, Array::of(Shape{sizes.size()}, sizes), "shape", site);
  const Tensor diagonal_shape =
      concat({batch, Operand(std::vector<Tensor>{diagonal}, site)}, 0, {}, site);
  Tensor shape;
  if (num_columns) {
    const auto item = [](const ScalarOperand& size, std::optional<std::int64_t> known) {
      return known ? Nested(*known) : Nested(*size.any_tensor());
    };
    const std::vector<Nested> both{item(num_rows, rows_known), item(columns, columns_known)};
    shape = concat({batch, Operand(Nested(both), site)}, 0, {}, site);
  }
  const Tensor units = ones_of_shape(diagonal_shape, of_dtype, site);
  if (!num_columns) return matrix_diag(units, {}, site);
  return matrix_set_diag(zeros_of_shape(shape, of_dtype, site), units, {}, site);
}

/// Reshapes to a vector along dimension `at` of `rank`.
Tensor along(const Tensor& values, std::size_t at, std::size_t rank, Site site) {
  std::vector<int> sizes(rank, 1);
  sizes[at] = -1;
  return reshape(values, sizes, {}, site);
}

}  // namespace

Tensor eye(const ScalarOperand& num_rows, EyeOptions options, Site site) {
  return add_eye(num_rows, std::nullopt, options, site);
}

Tensor eye(const ScalarOperand& num_rows, const ScalarOperand& num_columns, EyeOptions options,
           Site site) {
  return add_eye(num_rows, num_columns, options, site);
}

std::vector<Tensor> meshgrid(const OperandList& args, MeshgridOptions options, Site site) {
  if (options.indexing != "xy" && options.indexing != "ij") {
    throw ValueError(fmt::format("Argument `indexing` parameter must be either 'xy' or 'ij', got "
                                 "'{}'",
                                 options.indexing),
                     {.site = site, .op = "meshgrid"});
  }
  Graph& graph = graph_of(args);
  const NameScope scope(graph, options.name.empty() ? "meshgrid" : options.name, site);
  const std::size_t rank = args.size();
  if (rank == 0) return {};
  std::vector<Tensor> made, sizes;
  for (const Operand& arg : args.items()) {
    const Tensor vector = convert_operand(graph, arg, "stack", std::nullopt);
    made.push_back(along(vector, made.size(), rank, site));
  }
  for (const Operand& arg : args.items()) sizes.push_back(size(arg, {}, site));
  const Tensor first = convert_operand(graph, args.items()[0], "", std::nullopt);
  if (options.indexing == "xy" && rank > 1) {
    made[0] = along(made[0], 1, rank, site);
    made[1] = along(made[1], 0, rank, site);
    std::swap(sizes[0], sizes[1]);
  }
  Tensor units;
  {
    const NameScope ones_scope(graph, "ones", site);
    const Tensor packed = stack(OperandList(sizes, site), {.name = "packed"}, site);
    const Tensor one =
        make_constant(graph, cast_elements(Array::scalar(1.0), first.dtype()), "Const", site);
    units = fill(packed, one, {.name = ones_scope.name()}, site);
  }
  for (Tensor& values : made) values = Operand(values, site) * units;
  return made;
}

Tensor linspace(const ScalarOperand& start, const ScalarOperand& stop, const ScalarOperand& num,
                LinspaceOptions options, Site site) {
  Graph& graph = start.any_tensor() != nullptr ? graph_of(start) : graph_of(stop, num);
  const NameScope scope(graph, options.name.empty() ? "linspace" : options.name, site);
  const Tensor first = convert_operand(graph, start, "start", std::nullopt);
  const DType dtype = first.dtype();
  if (dtype != DType::float32 && dtype != DType::float64) {
    throw TypeError(
        fmt::format("a linspace of {}: it takes float32 and float64", dtype_name(dtype)),
        {.site = site, .op = "linspace", .hint = "tf::cast converts between dtypes"});
  }
  const Tensor last = convert_operand(graph, stop, "stop", dtype);
  const Tensor given = convert_operand(graph, num, "num", std::nullopt);
  const Tensor count = cast(given, DType::int32, {}, site);
  const Tensor begin = expand_dims(first, 0, {}, site);
  const Tensor end = expand_dims(last, 0, {}, site);
  const Tensor less_one = Operand(count, site) - 1;
  const Tensor steps = maximum(less_one, 1, {.name = "Maximum"}, site);
  const Tensor distance = Operand(end, site) - begin;
  const Tensor delta = Operand(distance, site) / cast(steps, dtype, {}, site);
  // The range fails for a negative number. The ends are not computed, so that they are exact.
  const Tensor is_size = greater_equal(count, 0, {}, site);
  const Tensor limit = where_v2(is_size, steps, -1, {}, site);
  const Tensor places = cast(range(1, limit, 1, {}, site), dtype, {}, site);
  const Tensor offsets = Operand(delta, site) * places;
  const Tensor between = Operand(begin, site) + offsets;
  const Tensor all = concat({begin, between, end}, 0, {}, site);
  return slice(all, {0}, expand_dims(count, 0, {}, site), {}, site);
}

}  // namespace towerflow

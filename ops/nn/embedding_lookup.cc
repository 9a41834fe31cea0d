#include "ops/nn/embedding_lookup.h"

#include <fmt/format.h>

#include <vector>

#include "core/graph/constant.h"
#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/concat.h"
#include "ops/array/dynamic_partition.h"
#include "ops/array/gather.h"
#include "ops/array/rank_size.h"
#include "ops/array/select.h"
#include "ops/array/shape_of.h"
#include "ops/array/stack.h"
#include "ops/array/strided_slice.h"
#include "ops/array/view.h"
#include "ops/math/binary.h"
#include "ops/math/clip.h"
#include "ops/math/range.h"
#include "ops/math/reduce.h"

namespace towerflow::nn {
namespace {

/// Returns the dimensions of a looked-up row, over which its norm is computed.
Axis row_axes(const Tensor& rows, const Tensor& ids, Site site) {
  // As in TensorFlow, a rank of zero counts as one that is not known.
  const auto known = [](const Tensor& x) { return x.shape().has_rank() && x.shape().rank() > 0; };
  if (known(rows) && known(ids)) {
    std::vector<int> axes;
    for (std::size_t d = ids.shape().rank(); d < rows.shape().rank(); ++d) {
      axes.push_back(static_cast<int>(d));
    }
    return axes;
  }
  const auto rank_of = [&](const Tensor& x) {
    if (known(x)) return Operand(static_cast<std::int64_t>(x.shape().rank()), site);
    return Operand(rank(x, {}, site), site);
  };
  const Operand first = rank_of(ids);
  const Operand end = rank_of(rows);
  return range(first, end, 1, {}, site);
}

/// Returns the tables: the items of a list, or the only one.
std::vector<Tensor> tables_of(Graph& graph, const Operand& params) {
  std::vector<Tensor> tables;
  const auto* list = params.nested() == nullptr
                         ? nullptr
                         : std::get_if<std::vector<Nested>>(&params.nested()->value());
  const char* name = params.array() != nullptr ? "params_0" : "params";
  if (list == nullptr) return {convert_operand(graph, params, name, std::nullopt)};
  for (const Nested& item : *list) {
    const auto* tensor = std::get_if<Tensor>(&item.value());
    const Operand table =
        tensor != nullptr ? Operand(*tensor, params.site()) : Operand(item, params.site());
    tables.push_back(
        convert_operand(graph, table, fmt::format("params_{}", tables.size()), std::nullopt));
  }
  return tables;
}

Tensor clipped(const Tensor& rows, const Tensor& ids, const std::optional<double>& max_norm,
               Site site) {
  if (!max_norm) return rows;
  return clip_by_norm(rows, *max_norm, {.axes = row_axes(rows, ids, site)}, site);
}

/// For each id, its table and its row there.
struct Places {
  Tensor tables;
  Tensor rows;
};

Places divide_by_remainder(const Tensor& ids, std::int64_t tables, Site site) {
  const Operand given(ids, site);
  const Tensor remainder = given % tables;
  return {remainder, floordiv(given, tables, {}, site)};
}

/// The first tables have one row more than the others if the number of rows is not a multiple.
Places divide_by_ranges(const std::vector<Tensor>& tables, const Tensor& ids, Site site) {
  Graph& graph = ids.graph();
  std::int64_t known_rows = 0;
  bool known = true;
  for (const Tensor& table : tables) {
    known = known && table.shape().has_rank() && table.shape()[0].known();
    if (known) known_rows += table.shape().size(0);
  }
  Tensor rows;
  if (known && known_rows > 0) {
    rows =
        make_constant(graph, cast_elements(Array::scalar(known_rows), ids.dtype()), "Const", site);
  } else {
    std::vector<Operand> sizes;
    for (const Tensor& table : tables) {
      if (table.shape().has_rank() && table.shape()[0].known()) {
        sizes.emplace_back(table.shape().size(0), site);
        continue;
      }
      const auto beside = colocate_with(table.op(), false, site);
      sizes.emplace_back(take_index(shape(table, {}, site), 0, site), site);
    }
    const Tensor all = cast(stack(sizes, {}, site), ids.dtype(), {}, site);
    rows = reduce_sum(all, {}, site);
  }
  const auto count = static_cast<std::int64_t>(tables.size());
  const Operand given(ids, site);
  const Tensor each = floordiv(rows, count, {}, site);
  const Tensor extras = Operand(rows, site) % count;
  const Tensor more = Operand(each, site) + 1;
  const Tensor among_first = floordiv(given, more, {}, site);
  const Tensor behind = given - extras;
  const Tensor among_others = floordiv(behind, each, {}, site);
  const Tensor table = maximum(among_first, among_others, {}, site);
  const Tensor is_first = Operand(table, site) < extras;
  const Tensor more_again = Operand(each, site) + 1;
  const Tensor row_of_first = given % more_again;
  const Tensor behind_again = given - extras;
  const Tensor row_of_others = Operand(behind_again, site) % each;
  return {table, where(is_first, row_of_first, row_of_others, {}, site)};
}

/// Looks up the rows of each table and puts them in the order of the ids.
Tensor lookup_in_tables(const std::vector<Tensor>& tables, const Tensor& ids,
                        const EmbeddingLookupOptions& options, const std::string& scope,
                        Site site) {
  const Tensor flat = reshape(ids, {-1}, {}, site);
  const Tensor numbers = range(size(flat, {}, site), {}, site);
  Places places;
  if (options.partition_strategy == "mod") {
    places = divide_by_remainder(flat, static_cast<std::int64_t>(tables.size()), site);
  } else if (options.partition_strategy == "div") {
    places = divide_by_ranges(tables, flat, site);
  } else {
    throw ValueError(fmt::format("Unrecognized partition strategy: {}. Must be one of either `mod` "
                                 "or `div`.",
                                 options.partition_strategy),
                     {.site = site, .op = "embedding_lookup"});
  }
  const Tensor table = cast(places.tables, DType::int32, {}, site);
  const int count = static_cast<int>(tables.size());
  const std::vector<Tensor> rows = dynamic_partition(places.rows, table, count, {}, site);
  const std::vector<Tensor> order = dynamic_partition(numbers, table, count, {}, site);
  std::vector<Tensor> found;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const auto anywhere = device(std::nullopt, site);
    const auto beside = colocate_with(tables[i].op(), false, site);
    found.push_back(gather(tables[i], rows[i], {}, site));
  }
  const Tensor stitched = parallel_dynamic_stitch(OperandList(order, site),
                                                  OperandList(found, site), {.name = scope}, site);
  Shape row = Shape::unknown();
  for (const Tensor& one : tables) {
    if (!one.shape().has_rank() || one.shape().rank() == 0) continue;
    const Shape own(std::vector<Dim>(one.shape().dims().begin() + 1, one.shape().dims().end()));
    const auto merged = row.merged(own);
    if (!merged) {
      throw ValueError(fmt::format("the rows of the tables have different shapes: {} and {}",
                                   row.text(), own.text()),
                       {.site = site, .op = "embedding_lookup"});
    }
    row = *merged;
  }
  Tensor shaped;
  if (row.fully_known()) {
    const Tensor id_shape = shape(ids, {}, site);
    shaped = reshape(stitched, concat({id_shape, Operand(row, site)}, 0, {}, site), {}, site);
  } else {
    Tensor sizes;
    {
      const auto beside = colocate_with(tables[0].op(), false, site);
      sizes = shape(tables[0], {}, site);
    }
    const Tensor row_shape = take_range(sizes, 1, std::nullopt, site);
    const Tensor id_shape = shape(ids, {}, site);
    shaped = reshape(stitched, concat({id_shape, row_shape}, 0, {}, site), {}, site);
  }
  shaped.set_shape(ids.shape().concatenated(row), site);
  return clipped(shaped, ids, options.max_norm, site);
}

}  // namespace

Tensor embedding_lookup(const Operand& params, const Operand& ids, EmbeddingLookupOptions options,
                        Site site) {
  Graph& graph = graph_of(params, ids);
  const NameScope scope(graph, options.name.empty() ? "embedding_lookup" : options.name, site);
  const std::vector<Tensor> tables = tables_of(graph, params);
  if (tables.empty()) {
    throw ValueError("Length of params is currently 0. Need at least one param.",
                     {.site = site, .op = "embedding_lookup"});
  }
  const Tensor places = convert_operand(graph, ids, "ids", std::nullopt);
  if (tables.size() > 1) return lookup_in_tables(tables, places, options, scope.name(), site);
  Tensor rows;
  {
    const auto beside = colocate_with(tables[0].op(), false, site);
    rows = gather(tables[0], places, {.name = scope.name()}, site);
    rows = clipped(rows, places, options.max_norm, site);
  }
  // The result may be placed on another device than the table.
  return identity(rows, {}, site);
}

}  // namespace towerflow::nn

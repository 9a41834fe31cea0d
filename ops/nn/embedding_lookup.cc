#include "ops/nn/embedding_lookup.h"

#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/gather.h"
#include "ops/array/rank_size.h"
#include "ops/array/view.h"
#include "ops/math/clip.h"
#include "ops/math/range.h"

namespace towerflow::nn {
namespace {

/// Returns the dimensions of a looked-up row, over which its norm is computed.
Axis row_axes(const Tensor& rows, const Tensor& ids, Site site) {
  if (rows.shape().has_rank() && ids.shape().has_rank()) {
    std::vector<int> axes;
    for (std::size_t d = ids.shape().rank(); d < rows.shape().rank(); ++d) {
      axes.push_back(static_cast<int>(d));
    }
    return axes;
  }
  const auto rank_of = [site](const Tensor& x) {
    if (x.shape().has_rank()) return Operand(static_cast<std::int64_t>(x.shape().rank()), site);
    return Operand(rank(x, {}, site), site);
  };
  const Operand first = rank_of(ids);
  const Operand end = rank_of(rows);
  return range(first, end, 1, {}, site);
}

}  // namespace

Tensor embedding_lookup(const Operand& params, const Operand& ids, EmbeddingLookupOptions options,
                        Site site) {
  Graph& graph = graph_of(params, ids);
  const NameScope scope(graph, options.name.empty() ? "embedding_lookup" : options.name, site);
  const Tensor table = convert_operand(graph, params, "params", std::nullopt);
  const Tensor places = convert_operand(graph, ids, "ids", std::nullopt);
  Tensor rows;
  {
    const auto beside = colocate_with(table.op(), false, site);
    rows = gather(table, places, {.name = scope.name()}, site);
    if (options.max_norm) {
      rows = clip_by_norm(rows, *options.max_norm, {.axes = row_axes(rows, places, site)}, site);
    }
  }
  // The result may be placed on another device than the table.
  return identity(rows, {}, site);
}

}  // namespace towerflow::nn

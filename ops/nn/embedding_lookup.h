#pragma once

#include <concepts>
#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow::nn::types {

/// A variable that may consist of parts.
template <class T>
concept TableOfParts = requires(const T& table) {
  table.partitioned();
  table.parts();
};

}  // namespace towerflow::nn::types

namespace towerflow::nn {

struct EmbeddingLookupOptions {
  /// How a list of tables divides the ids: "mod", id i is row i / n of table i % n, or "div", each
  /// table has a range of them.
  std::string partition_strategy = "mod";
  std::string name{};
  std::optional<double> max_norm{};  ///< rows with a larger norm are scaled down to this one
};

/// Looks up rows by id, in a table or in a list of tables, `{a, b}`.
///
/// shapes   params [n, ..], ids [i0, ..] -> [i0, .., ..]
/// dtypes   params all (with max_norm floating), the same for all tables; ids int32, int64
/// grads    params: IndexedSlices of the rows that were looked up; ids: none
/// errors   ValueError: partition_strategy; at run time InvalidArgumentError: an id not in [0, n)
/// source   tf.nn.embedding_lookup
Tensor embedding_lookup(const Operand& params, const Operand& ids,
                        EmbeddingLookupOptions options = {}, Site site = Site::current());
/// Of a variable; the parts of a partitioned one are a list of tables.
template <TableOfParts T>
Tensor embedding_lookup(const T& params, const Operand& ids, EmbeddingLookupOptions options = {},
                        Site site = Site::current()) {
  const Operand tables =
      params.partitioned() ? Operand(params.parts(), site) : Operand(params, site);
  return embedding_lookup(tables, ids, std::move(options), site);
}

}  // namespace towerflow::nn

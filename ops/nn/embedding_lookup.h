#pragma once

#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow::nn {

struct EmbeddingLookupOptions {
  std::optional<double> max_norm{};  ///< rows longer than that are shortened to it
  std::string name{};
};

/// Rows of a table, picked by number.
///
/// shapes   params [n, ..], ids [i0, ..] -> [i0, .., ..]
/// dtypes   params all (with max_norm floating); ids int32, int64
/// grads    params: IndexedSlices, the rows that were looked up; ids: none
/// errors   in a run InvalidArgumentError: an id not in [0, n)
/// source   tf.nn.embedding_lookup of a single table
Tensor embedding_lookup(const Operand& params, const Operand& ids,
                        EmbeddingLookupOptions options = {}, Site site = Site::current());

}  // namespace towerflow::nn

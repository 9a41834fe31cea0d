#pragma once

#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow::nn {

struct EmbeddingLookupOptions {
  std::optional<double> max_norm{};  ///< rows with a larger norm are scaled down to this one
  std::string name{};
};

/// Looks up rows of a table by id.
///
/// shapes   params [n, ..], ids [i0, ..] -> [i0, .., ..]
/// dtypes   params all (with max_norm floating); ids int32, int64
/// grads    params: IndexedSlices of the rows that were looked up; ids: none
/// errors   at run time InvalidArgumentError: an id not in [0, n)
/// source   tf.nn.embedding_lookup of a single table
Tensor embedding_lookup(const Operand& params, const Operand& ids,
                        EmbeddingLookupOptions options = {}, Site site = Site::current());

}  // namespace towerflow::nn

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow {

struct SplitOptions {
  ByName by_name = ByName();
  std::optional<int> num{};  ///< how many pieces, where the length of a tensor of sizes is unknown
  std::string name{};
};

/// Pieces of a tensor one after another along `axis`: a number of equal ones (op Split), or pieces
/// of the sizes in a list (op SplitV), one of which may be -1: the rest.
///
/// shapes   value [.., n, ..] -> pieces [.., ni, ..]     dtypes  all; sizes and axis int32, int64
/// grads    value: dys one after another, zeros for those that are absent; sizes, axis: none
/// errors   ValueError: pieces that do not make up n, an axis out of range, no pieces, sizes of
///          unknown length; in a run InvalidArgumentError for the same
/// source   tf.split
std::vector<Tensor> split(const Operand& value, const Operand& num_or_size_splits,
                          const ScalarOperand& axis = 0, SplitOptions options = {},
                          Site site = Site::current());
inline std::vector<Tensor> split(const Operand& value, const Operand& num_or_size_splits,
                                 SplitOptions options, Site site = Site::current()) {
  return split(value, num_or_size_splits, ScalarOperand(0, site), std::move(options), site);
}

}  // namespace towerflow

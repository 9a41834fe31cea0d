#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow {

struct SplitOptions {
  ByName by_name = ByName();
  std::optional<int> num{};  ///< number of pieces if `num_or_size_splits` has unknown length
  std::string name{};
};

/// Splits a tensor along `axis`: into a number of equal pieces (op Split), or into pieces of the
/// listed sizes (op SplitV), one of which may be -1 for the rest.
///
/// shapes   value [.., n, ..] -> pieces [.., ni, ..]     dtypes  all; sizes and axis int32, int64
/// grads    value: dys concatenated, zeros for absent ones; sizes, axis: none
/// errors   ValueError: pieces that do not add up to n, an axis out of range, no pieces, sizes of
///          unknown length; InvalidArgumentError if that is only known at run time
/// source   tf.split
std::vector<Tensor> split(const Operand& value, const Operand& num_or_size_splits,
                          const ScalarOperand& axis = 0, SplitOptions options = {},
                          Site site = Site::current());
inline std::vector<Tensor> split(const Operand& value, const Operand& num_or_size_splits,
                                 SplitOptions options, Site site = Site::current()) {
  return split(value, num_or_size_splits, ScalarOperand(0, site), std::move(options), site);
}

}  // namespace towerflow

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow {

namespace summary {

struct ScalarOptions {
  std::optional<std::vector<std::string>> collections{};  ///< SUMMARIES if not given
  std::string family{};  ///< prefix of the tag, by which charts are grouped
};

/// Returns a serialized tf.Summary of one number, as stored in event files. Characters of `name`
/// that are invalid in node names become '_'; the tag is the node's full name.
///
/// shapes   tensor [] -> []     dtypes  numbers -> string
/// grads    none: the result is a message
/// errors   TypeError: a tensor that is not a number
///          at run time InvalidArgumentError: not a scalar
/// source   tf.summary.scalar
Tensor scalar(const std::string& name, const Operand& tensor, ScalarOptions options = {},
              Site site = Site::current());

}  // namespace summary
}  // namespace towerflow

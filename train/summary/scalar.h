#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow {

namespace summary {

struct ScalarOptions {
  std::optional<std::vector<std::string>> collections{};  ///< SUMMARIES when not given
  std::string family{};  ///< put before the tag, so that charts are grouped by it
};

/// A serialized tf.Summary of one number, as event files hold them. Characters of `name` that no
/// node may have become '_'; the tag is the node's full name.
///
/// shapes   tensor [] -> []     dtypes  numbers -> string
/// grads    none: the result is a message
/// errors   TypeError: a tensor that is no number; in a run InvalidArgumentError: no scalar
/// source   tf.summary.scalar
Tensor scalar(const std::string& name, const Operand& tensor, ScalarOptions options = {},
              Site site = Site::current());

}  // namespace summary
}  // namespace towerflow

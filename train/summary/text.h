#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow {

namespace summary {

struct TextOptions {
  std::optional<std::vector<std::string>> collections{};  ///< SUMMARIES if not given
};

/// Returns a serialized tf.Summary of texts, which TensorBoard shows as Markdown; a matrix is a
/// table. Names are treated as by `scalar`.
///
/// shapes   tensor [...] -> []     dtypes  string -> string
/// grads    none: the result is a message
/// errors   ValueError: a tensor that is not a string
/// source   tf.summary.text
Tensor text(const std::string& name, const Tensor& tensor, TextOptions options = {},
            Site site = Site::current());

}  // namespace summary
}  // namespace towerflow

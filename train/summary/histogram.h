#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow {

namespace summary {

struct HistogramOptions {
  std::optional<std::vector<std::string>> collections{};  ///< SUMMARIES when not given
  std::string family{};  ///< put before the tag, so that charts are grouped by it
};

/// A serialized tf.Summary of how values are distributed, in TensorFlow's default buckets. Names as
/// `scalar` has them.
///
/// shapes   values [...] -> []     dtypes  numbers and bool -> string
/// grads    none: the result is a message
/// errors   TypeError: values that are no numbers; in a run InvalidArgumentError: a NaN or infinity
/// source   tf.summary.histogram
Tensor histogram(const std::string& name, const Operand& values, HistogramOptions options = {},
                 Site site = Site::current());

}  // namespace summary
}  // namespace towerflow

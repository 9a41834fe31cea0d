#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow {

namespace summary {

struct HistogramOptions {
  std::optional<std::vector<std::string>> collections{};  ///< SUMMARIES if not given
  std::string family{};  ///< prefix of the tag, by which charts are grouped
};

/// Returns a serialized tf.Summary with a histogram of `values` in TensorFlow's default buckets.
/// Names are treated as by `scalar`.
///
/// shapes   values [...] -> []
/// dtypes   float32, float64, integers -> string; bool only as literals
/// grads    none: the result is a message
/// errors   TypeError: values of another dtype; at run time InvalidArgumentError: a NaN or infinity
/// source   tf.summary.histogram
Tensor histogram(const std::string& name, const Operand& values, HistogramOptions options = {},
                 Site site = Site::current());

}  // namespace summary
}  // namespace towerflow

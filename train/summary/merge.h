#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/collections.h"
#include "core/graph/operand.h"

namespace towerflow {

namespace summary {

struct MergeOptions {
  std::vector<std::string> collections{};  ///< none when not given
  std::string name{};
};

/// Merges serialized tf.Summary messages into one.
///
/// shapes   inputs [...] -> []     dtypes  string
/// grads    none: the result is a message
/// errors   ValueError: no inputs; at run time InvalidArgumentError: a repeated tag, an invalid
///          message
/// source   tf.summary.merge
Tensor merge(const Collected<Tensor>& inputs, MergeOptions options = {},
             Site site = Site::current());

struct MergeAllOptions {
  std::string key = GraphKeys::SUMMARIES;
  std::optional<std::string> scope{};  ///< as for `get_collection`
  std::string name{};
};

/// Merges all summaries of the default graph; returns nothing if there are none. Throws like
/// `merge`. (tf.summary.merge_all)
std::optional<Tensor> merge_all(MergeAllOptions options = {}, Site site = Site::current());

}  // namespace summary
}  // namespace towerflow

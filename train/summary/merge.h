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

/// Serialized tf.Summary messages in one.
///
/// shapes   inputs [...] -> []     dtypes  string
/// grads    none: the result is a message
/// errors   ValueError: no inputs; in a run InvalidArgumentError: a tag twice, or no message
/// source   tf.summary.merge
Tensor merge(const Collected<Tensor>& inputs, MergeOptions options = {},
             Site site = Site::current());

struct MergeAllOptions {
  std::string key = GraphKeys::SUMMARIES;
  std::optional<std::string> scope{};  ///< as `get_collection` takes it
  std::string name{};
};

/// All summaries of the default graph in one; nothing where there are none.
/// (tf.summary.merge_all) Throws as `merge`.
std::optional<Tensor> merge_all(MergeAllOptions options = {}, Site site = Site::current());

}  // namespace summary
}  // namespace towerflow

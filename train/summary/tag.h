#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/tensor.h"

namespace towerflow {

/// A summary's name as a node may have it: what no name may hold becomes '_', slashes in front go.
/// Says so in the log where that changes it. (clean_tag)
std::string clean_tag(const std::string& name, Site site);

/// What a summary's node and its tag are called. (summary_scope)
struct SummaryName {
  SummaryName(const std::string& name, const std::string& family, Site site);
  /// The tag of a node in `scope`, which is the node's own with its trailing '/': a family stands
  /// before it once more, whatever scopes are around, so that charts are grouped by it.
  std::string tag(const std::string& scope) const;

  std::string family;  ///< empty for none
  std::string base;    ///< the node's name in its scope
};

/// Adds a summary to `collections`, to SUMMARIES when not given, and returns it.
Tensor collected(const Tensor& summary, const std::optional<std::vector<std::string>>& collections);

}  // namespace towerflow

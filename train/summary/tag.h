#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/tensor.h"

namespace towerflow {

/// Makes a summary's name valid for a node: invalid characters become '_', leading slashes are
/// removed. Logs a change. (clean_tag)
std::string clean_tag(const std::string& name, Site site);

/// The names of a summary's node and tag. (summary_scope)
struct SummaryName {
  SummaryName(const std::string& name, const std::string& family, Site site);
  /// Returns the tag of the node with the name scope `scope` (with a trailing '/'). The family is
  /// prepended once more, before all outer scopes, so that charts are grouped by it.
  std::string tag(const std::string& scope) const;

  std::string family;  ///< empty for none
  std::string base;    ///< the node's name in its scope
};

/// Adds a summary to `collections`, or to SUMMARIES if not given, and returns it.
Tensor add_summary_to_collections(const Tensor& summary,
                                  const std::optional<std::vector<std::string>>& collections);

}  // namespace towerflow

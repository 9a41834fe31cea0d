#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "core/graph/attr_fields.h"

namespace towerflow {

/// Attributes of _AllReduce, an op of plans only: it returns the sum of its input and those of the
/// nodes of the same bucket on other devices, one each, which run at the same time.
struct AllReduceAttrs {
  std::string bucket;        ///< names the nodes that belong together
  std::vector<int> members;  ///< Collective::members of their devices
  int rank = 0;              ///< of this node's device among them
  static constexpr auto fields = std::tuple{attr::required("bucket", &AllReduceAttrs::bucket),
                                            attr::required("members", &AllReduceAttrs::members),
                                            attr::required("rank", &AllReduceAttrs::rank)};
};

}  // namespace towerflow

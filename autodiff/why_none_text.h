#pragma once

#include <string>
#include <vector>

#include "autodiff/why_none.h"
#include "core/graph/node.h"

namespace towerflow {

/// The node among `candidates` that is to y's tower what `node` is to its own: the same op under
/// the same name but for the number of one scope that y is in, "tower_0/x" to "tower_1/x" for
/// "tower_0/loss". nullptr when there is none.
const Node* tower_twin(const Node& node, const Node& y, const std::vector<const Node*>& candidates);

/// The answer in words.
std::string why_none_text(const WhyNone& why, const Tensor& y, const Tensor& x,
                          const WhyNoneOptions& options);

}  // namespace towerflow

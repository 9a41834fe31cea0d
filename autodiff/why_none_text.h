#pragma once

#include <string>
#include <vector>

#include "autodiff/why_none.h"
#include "core/graph/node.h"

namespace towerflow {

/// Returns the counterpart of `node` in y's tower: the candidate with the same op and the same name
/// except for the number of one scope that y is in, "tower_0/x" for "tower_1/x" if y is
/// "tower_0/loss". nullptr if there is none.
const Node* tower_counterpart(const Node& node, const Node& y,
                              const std::vector<const Node*>& candidates);

/// Returns the explanation as text.
std::string why_none_text(const WhyNone& why, const Tensor& y, const Tensor& x,
                          const WhyNoneOptions& options);

}  // namespace towerflow

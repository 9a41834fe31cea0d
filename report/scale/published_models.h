#pragma once

#include <vector>

#include "report/scale/step_profile.h"

namespace towerflow::report {

/// The layers of the networks of which curves were published, as the papers describe them: sizes of
/// the weights and multiplications for one image. Biases and the variables of batch normalization
/// are left out; they are less than 1 % of the bytes.

std::vector<ProfiledLayer> alexnet_layers();
std::vector<ProfiledLayer> vgg16_layers();
std::vector<ProfiledLayer> inception3_layers();
/// Returns the layers of a residual network with bottlenecks; `blocks` of each of four sizes.
std::vector<ProfiledLayer> resnet_layers(const std::vector<int>& blocks);

}  // namespace towerflow::report

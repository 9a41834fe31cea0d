#pragma once

#include <string>
#include <vector>

#include "core/device/convolution_plans.h"

namespace towerflow::cuda {

/// Writes a file that read_convolution_plans reads: JSON, an object of devices with an object of
/// convolutions in each. Throws what AtomicFile does.
void write_convolution_plans(const std::string& path, const std::vector<ConvolutionPlan>& plans);

}  // namespace towerflow::cuda

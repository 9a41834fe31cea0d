#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace towerflow {

/// The plan of cuDNN that was the fastest for a convolution when several were timed.
struct ConvolutionPlan {
  std::string device;       ///< "NVIDIA H200, compute capability 9.0, cuDNN 9.14.0"
  std::string convolution;  ///< "forward float32 NHWC 64x28x28x1, filter 5x5x1x32, stride 1x1, .."
  std::int64_t engine = 0;  ///< its global index in cuDNN
  std::map<std::int64_t, std::int64_t> knobs{};  ///< values by cudnnBackendKnobType_t
  double milliseconds = 0;                       ///< of one execution
  double first_milliseconds = 0;                 ///< of the plan that a session without a file uses
  std::int64_t timed = 0;                        ///< the number of plans that were compared
};

/// Reads the plans in a file (docs/cuda.md, "Plans of convolutions"), in its order. Defined in
/// cuda/backend, a layer above this one.
///
/// errors   NotFoundError, PermissionDeniedError, ..: the file cannot be read; DataLossError: it is
///          no table of plans; UnavailableError: the build has no CUDA
std::vector<ConvolutionPlan> read_convolution_plans(const std::string& path);

}  // namespace towerflow

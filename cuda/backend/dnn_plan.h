#pragma once

#include <array>

#include "cuda/backend/dnn_descriptors.h"

namespace towerflow::cuda {

struct DnnConvolutionSpec;

/// The numbers of a convolution's tensors in its graph.
enum DnnUid : std::int64_t { kX = 1, kW, kY, kBias, kConvolved, kSum };

/// A plan of cuDNN for a convolution. The descriptor belongs to others.
struct DnnPlan {
  cudnnBackendDescriptor_t plan = nullptr;
  std::size_t workspace = 0;  ///< bytes that an execution needs

  /// Puts the convolution into the stream of a handle. `memory` is that of x, w, y and the bias,
  /// null without one. Throws if cuDNN refuses the call.
  void execute(Device& device, cudnnHandle_t handle, const std::array<const void*, 4>& memory,
               const void* scratch) const;
};

/// Returns a plan whose results are equal in all runs, and in full float32 if the images are
/// float32. It is the one in the session's table. If the table has none, it is the fastest if the
/// session measures, and otherwise the first that the heuristics propose. Hold
/// `device.planning()`.
///
/// errors   UnimplementedError: cuDNN has no such plan; InvalidArgumentError: the one in the table
/// is
///          not such a plan; FailedPreconditionError: the table is for other devices
DnnPlan choose_plan(Device& device, DnnDescriptors& made, const DnnConvolutionSpec& spec,
                    cudnnBackendDescriptor_t graph);

/// Returns a text that only this convolution has: "forward float32 NHWC
/// 64x28x28x1, filter 5x5x1x32, stride 1x1, dilation 1x1, padding 2,2,2,2".
std::string to_text(const DnnConvolutionSpec& spec);

}  // namespace towerflow::cuda

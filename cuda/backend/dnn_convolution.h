#pragma once

#include <memory>

#include "cuda/backend/cuda_queue.h"
#include "cuda/backend/dnn_plan.h"
#include "ops/window.h"

namespace towerflow::cuda {

/// What a convolution of cuDNN computes. The filter is [K,R,S,C / groups] for images of channels
/// last, [K,C / groups,R,S] for channels first.
struct DnnConvolutionSpec {
  enum class Kind { forward, data_gradient, weight_gradient } kind = Kind::forward;
  ConvGeometry geometry;
  DType dtype = DType::float32;
  bool bias = false, relu = false;  ///< after it, forward only
  bool winograd = true;             ///< whether it may round as Winograd's algorithm does
};

/// A plan of cuDNN for one convolution, whose repeats are equal bit for bit, in full float32 if the
/// images are float32. Thread-safe.
class DnnConvolution {
 public:
  /// Throws what choose_plan does.
  DnnConvolution(Device& device, const DnnConvolutionSpec& spec);
  ~DnnConvolution();
  DnnConvolution(const DnnConvolution&) = delete;
  DnnConvolution& operator=(const DnnConvolution&) = delete;

  std::size_t workspace_bytes() const { return plan_.workspace; }
  /// Puts the convolution into the queue's stream. One of x, w and y is the result; `bias` may be
  /// null.
  void run(CudaQueue& queue, const void* x, const void* w, const void* y, const void* bias,
           std::byte* workspace) const;

 private:
  DnnDescriptors made_;
  DnnPlan plan_;
};

}  // namespace towerflow::cuda

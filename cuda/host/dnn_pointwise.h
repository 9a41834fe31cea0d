#pragma once

#include <cudnn.h>

#include "cuda/host/dnn_tensor.h"

namespace towerflow::cuda::host {

/// A function of one element, or of one element of each of two or three tensors.
struct DnnPointwise {
  cudnnPointwiseMode_t mode = CUDNN_POINTWISE_ADD;
  double lower = 0, upper = 0, slope = 0;  ///< of RELU; `upper` counts if it was set
  bool has_upper = false;
  double elu_alpha = 1, softplus_beta = 1, swish_beta = 1;
  double alpha1 = 1, alpha2 = 1;  ///< factors of x and b
};

/// Which tensors a mode takes.
struct DnnPointwiseInputs {
  bool known = false;
  bool b = false;         ///< besides x
  bool t = false;         ///< a condition
  bool backward = false;  ///< x and dy give dx; otherwise x, and perhaps b, give y
};
DnnPointwiseInputs inputs_of(cudnnPointwiseMode_t mode);

/// Returns whether a tensor of these dimensions can be broadcast to others.
bool broadcasts(const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& to);

/// Computes each element of `result`. Unused operands are null; all are broadcast to the result.
/// In a backward mode `b` is dy.
void compute(const DnnPointwise& pointwise, const DnnArray* x, const DnnArray* b, const DnnArray* t,
             DnnArray& result);

}  // namespace towerflow::cuda::host

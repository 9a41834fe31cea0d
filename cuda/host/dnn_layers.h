#pragma once

#include "cuda/host/dnn_tensor.h"

namespace towerflow::cuda::host {

/// Local response normalization over channels:
/// y = x / (k + alpha / n * sum of x^2 over n channels)^beta.
struct DnnLrn {
  unsigned n = 5;
  double alpha = 1e-4, beta = 0.75, k = 2;
};

DnnArray normalize(const DnnLrn& lrn, const DnnArray& x);
DnnArray normalize_gradient(const DnnLrn& lrn, const DnnArray& x, const DnnArray& y,
                            const DnnArray& dy);

/// The softmax, or its logarithm, over the channels of each pixel or over a whole example.
struct DnnSoftmax {
  bool log = false, whole_example = false;
};

DnnArray softmax(const DnnSoftmax& how, const DnnArray& x);
DnnArray softmax_gradient(const DnnSoftmax& how, const DnnArray& y, const DnnArray& dy);

}  // namespace towerflow::cuda::host

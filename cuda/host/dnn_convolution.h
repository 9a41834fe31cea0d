#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cuda/host/dnn_descriptor.h"
#include "cuda/host/dnn_tensor.h"

namespace towerflow::cuda::host {

/// A convolution of one to three spatial dimensions.
struct DnnConvolution {
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  bool flips = false;  ///< a true convolution; otherwise a cross-correlation
  std::vector<std::int64_t> pre, post, strides, dilations;
};

/// Returns nothing if the descriptor's attributes are missing or contradict each other.
std::optional<DnnConvolution> read_convolution(const DnnDescriptor& descriptor);

/// Returns why the shapes of x, w and y do not fit together, "" if they do. x and y have the batch
/// first and channels second; w has output channels, input channels of a group, then the window.
std::string check_shapes(const DnnConvolution& convolution, const std::vector<std::int64_t>& x,
                         const std::vector<std::int64_t>& w, const std::vector<std::int64_t>& y);

/// The three products of a convolution. Sums are in double and in one order.
void convolve(const DnnConvolution& convolution, const DnnArray& x, const DnnArray& w, DnnArray& y);
void convolve_data_gradient(const DnnConvolution& convolution, const DnnArray& dy,
                            const DnnArray& w, DnnArray& dx);
void convolve_weight_gradient(const DnnConvolution& convolution, const DnnArray& x,
                              const DnnArray& dy, DnnArray& dw);

}  // namespace towerflow::cuda::host

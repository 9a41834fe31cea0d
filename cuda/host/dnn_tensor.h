#pragma once

#include <cudnn.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "cuda/host/dnn_descriptor.h"
#include "cuda/host/number.h"
#include "cuda/host/strided.h"

namespace towerflow::cuda::host {

/// Returns nothing for types that are not emulated.
std::optional<Number> number_of(cudnnDataType_t type);

/// A tensor as its descriptor describes it: batch, channels, then the spatial dimensions, whatever
/// the layout; strides are in elements.
struct DnnTensor {
  std::int64_t uid = 0;
  Number number = Number::f32;
  std::vector<std::int64_t> dims, strides;
  std::int64_t alignment = 1;
  bool is_virtual = false, by_value = false;

  std::int64_t count() const;
  std::vector<Extent> extents() const;
  std::size_t bytes() const;
};

/// Returns nothing if the descriptor is null or its type is not emulated.
std::optional<DnnTensor> read_tensor(const DnnDescriptorPtr& descriptor);

/// The values of a tensor in one order, whatever its layout: channels last. The libraries compute
/// on these.
struct DnnArray {
  std::vector<std::int64_t> dims;  ///< as in the tensor
  std::vector<double> values;      ///< batch, spatial dimensions, channels

  DnnArray() = default;
  explicit DnnArray(std::vector<std::int64_t> dims_of);
};

/// Reads and writes the elements of a tensor at a host address.
DnnArray load(const DnnTensor& tensor, const std::byte* from);
void store(const DnnTensor& tensor, std::byte* to, const DnnArray& array);

}  // namespace towerflow::cuda::host

#include "cuda/host/dnn_tensor.h"

#include <functional>
#include <numeric>

namespace towerflow::cuda::host {
namespace {

std::int64_t product(const std::vector<std::int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

/// Calls `f(offset, index)` for each run of channels: the offset of its first element in the
/// tensor, and its first index in the array.
template <typename F>
void for_each_run(const DnnTensor& tensor, const F& f) {
  const std::size_t rank = tensor.dims.size();
  const std::int64_t channels = rank > 1 ? tensor.dims[1] : 1;
  if (tensor.count() == 0) return;
  std::vector<std::size_t> outer = {0};
  for (std::size_t d = 2; d < rank; ++d) outer.push_back(d);
  std::vector<std::int64_t> index(outer.size(), 0);
  std::int64_t offset = 0, position = 0;
  while (true) {
    f(offset, position);
    position += channels;
    std::size_t d = outer.size();
    while (d > 0) {
      const std::size_t dim = outer[--d];
      offset += tensor.strides[dim];
      if (++index[d] < tensor.dims[dim]) break;
      offset -= tensor.strides[dim] * tensor.dims[dim];
      index[d] = 0;
      if (d == 0) return;
    }
  }
}

}  // namespace

std::optional<Number> number_of(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      return Number::f32;
    case CUDNN_DATA_DOUBLE:
      return Number::f64;
    case CUDNN_DATA_HALF:
      return Number::f16;
    case CUDNN_DATA_BFLOAT16:
      return Number::bf16;
    case CUDNN_DATA_INT8:
      return Number::i8;
    case CUDNN_DATA_UINT8:
      return Number::u8;
    case CUDNN_DATA_INT32:
      return Number::i32;
    case CUDNN_DATA_INT64:
      return Number::i64;
    case CUDNN_DATA_BOOLEAN:
      return Number::boolean;
    default:
      return std::nullopt;
  }
}

std::int64_t DnnTensor::count() const { return product(dims); }

std::vector<Extent> DnnTensor::extents() const {
  std::vector<Extent> extents;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    extents.push_back({dims[d], strides[d] * static_cast<std::int64_t>(size_of(number))});
  }
  return extents;
}

std::size_t DnnTensor::bytes() const { return hull_bytes(size_of(number), extents()); }

std::optional<DnnTensor> read_tensor(const DnnDescriptorPtr& descriptor) {
  if (descriptor == nullptr) return std::nullopt;
  const auto number = number_of(descriptor->get(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT));
  if (!number) return std::nullopt;
  DnnTensor tensor;
  tensor.uid = descriptor->get<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
  tensor.number = *number;
  tensor.dims = descriptor->list<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  tensor.strides = descriptor->list<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  tensor.alignment = descriptor->get<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1);
  tensor.is_virtual = descriptor->get(CUDNN_ATTR_TENSOR_IS_VIRTUAL, false);
  tensor.by_value = descriptor->get(CUDNN_ATTR_TENSOR_IS_BY_VALUE, false);
  return tensor;
}

DnnArray::DnnArray(std::vector<std::int64_t> dims_of)
    : dims(std::move(dims_of)), values(static_cast<std::size_t>(product(dims)), 0) {}

DnnArray load(const DnnTensor& tensor, const std::byte* from) {
  DnnArray array(tensor.dims);
  const auto size = static_cast<std::int64_t>(size_of(tensor.number));
  const bool has_channels = tensor.dims.size() > 1;
  for_each_run(tensor, [&](std::int64_t offset, std::int64_t position) {
    load(tensor.number, from + offset * size, has_channels ? tensor.strides[1] : 0,
         has_channels ? tensor.dims[1] : 1, array.values.data() + position);
  });
  return array;
}

void store(const DnnTensor& tensor, std::byte* to, const DnnArray& array) {
  const auto size = static_cast<std::int64_t>(size_of(tensor.number));
  const bool has_channels = tensor.dims.size() > 1;
  for_each_run(tensor, [&](std::int64_t offset, std::int64_t position) {
    store(tensor.number, to + offset * size, has_channels ? tensor.strides[1] : 0,
          has_channels ? tensor.dims[1] : 1, array.values.data() + position);
  });
}

}  // namespace towerflow::cuda::host

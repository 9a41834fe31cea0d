// The calls of cuDNN that are no graph: local response normalization and softmax.
#include <algorithm>
#include <functional>
#include <memory>

#include "cuda/host/dnn_context.h"
#include "cuda/host/dnn_layers.h"
#include "cuda/host/libraries.h"
#include "cuda/host/library_handles.h"

namespace towerflow::cuda::host {
namespace {

auto& tensors = *new LibraryHandles<cudnnTensorDescriptor_t, DnnTensor>;
auto& normalizations = *new LibraryHandles<cudnnLRNDescriptor_t, DnnLrn>;

cudnnStatus_t bad(const char* text) { return dnn_error(CUDNN_STATUS_BAD_PARAM, text); }

bool is_float(Number number) {
  return number == Number::f16 || number == Number::bf16 || number == Number::f32 ||
         number == Number::f64;
}

/// A tensor of a call, as the program gives it.
struct Given {
  cudnnTensorDescriptor_t descriptor;
  const void* at;
};

/// A tensor whose descriptor was found.
struct Bound {
  DnnTensor tensor;
  const void* at = nullptr;
};

using Arrays = std::vector<DnnArray>;

cudnnStatus_t bind(const std::vector<Given>& given, std::vector<Bound>& bound) {
  for (const Given& one : given) {
    const auto tensor = tensors.find(one.descriptor);
    if (tensor == nullptr) return bad("a tensor descriptor does not exist");
    if (tensor->dims.empty()) return bad("a tensor descriptor was not set");
    if (one.at == nullptr) return bad("a pointer is null");
    bound.push_back({*tensor, one.at});
  }
  for (const Bound& one : bound) {
    if (one.tensor.dims != bound[0].tensor.dims || one.tensor.number != bound[0].tensor.number) {
      return bad("the tensors differ in shape or type");
    }
    if (!is_float(one.tensor.number)) {
      return dnn_error(CUDNN_STATUS_NOT_SUPPORTED, "the layer computes with floats only");
    }
    const auto negative = [](std::int64_t stride) { return stride < 0; };
    if (std::any_of(one.tensor.strides.begin(), one.tensor.strides.end(), negative)) {
      return bad("a stride is negative");
    }
  }
  return CUDNN_STATUS_SUCCESS;
}

/// Puts `result = alpha f(inputs) + beta result` into the stream. The last tensor is the result.
cudnnStatus_t submit(cudnnHandle_t handle, const char* what, const void* alpha, const void* beta,
                     const std::vector<Given>& given,
                     std::function<DnnArray(const Arrays& inputs)> f) {
  const auto context = find_context(handle);
  if (context == nullptr) {
    return dnn_error(CUDNN_STATUS_NOT_INITIALIZED, "the handle does not exist");
  }
  if (alpha == nullptr || beta == nullptr) return bad("alpha or beta is null");
  std::vector<Bound> bound;
  const cudnnStatus_t status = bind(given, bound);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  const DnnTensor result = bound.back().tensor;
  const auto scale = [&](const void* at) {
    return result.number == Number::f64 ? *static_cast<const double*>(at)
                                        : static_cast<double>(*static_cast<const float*>(at));
  };
  const double factor = scale(alpha), keep = scale(beta);
  Work work{what, {}, {}};
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const bool is_result = i + 1 == bound.size();
    const DnnTensor& tensor = bound[i].tensor;
    append_operands(work.operands, bound[i].at, size_of(tensor.number), tensor.extents(),
                    is_result);
    if (is_result && keep != 0) {
      append_operands(work.operands, bound[i].at, size_of(tensor.number), tensor.extents(), false);
    }
  }
  work.run = [bound, factor, keep, f = std::move(f)] {
    Arrays arrays;
    for (const Bound& one : bound) {
      const cudaError_t fault =
          check_access(one.at, one.tensor.bytes(), size_of(one.tensor.number));
      if (fault != cudaSuccess) return fault;
      arrays.push_back(load(one.tensor, static_cast<const std::byte*>(host_address(one.at))));
    }
    const DnnArray earlier = std::move(arrays.back());
    arrays.pop_back();
    DnnArray values = f(arrays);
    for (std::size_t i = 0; i < values.values.size(); ++i) {
      values.values[i] = factor * values.values[i] + (keep == 0 ? 0 : keep * earlier.values[i]);
    }
    store(bound.back().tensor, static_cast<std::byte*>(host_address(bound.back().at)), values);
    return cudaSuccess;
  };
  return enqueue(context->stream, std::move(work)) == cudaSuccess
             ? CUDNN_STATUS_SUCCESS
             : dnn_error(CUDNN_STATUS_EXECUTION_FAILED_CUDART,
                         "the work could not be put into the stream");
}

}  // namespace

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* descriptor) {
  if (descriptor == nullptr) return bad("there is no place for the descriptor");
  *descriptor = tensors.add(std::make_shared<DnnTensor>());
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type,
                                         int rank, const int dims[], const int strides[]) {
  const auto tensor = tensors.find(descriptor);
  const auto number = number_of(type);
  if (tensor == nullptr || dims == nullptr || strides == nullptr) {
    return bad("the descriptor does not exist, or dimensions or strides are null");
  }
  if (!number) return bad("the data type is not emulated");
  if (rank < 2) return bad("a tensor has at least two dimensions");
  if (rank > CUDNN_DIM_MAX) {
    return dnn_error(CUDNN_STATUS_NOT_SUPPORTED, "a tensor has at most 8 dimensions");
  }
  for (int i = 0; i < rank; ++i) {
    if (dims[i] < 1 || strides[i] == 0) return bad("a dimension or a stride is 0");
  }
  tensor->number = *number;
  tensor->dims.assign(dims, dims + rank);
  tensor->strides.assign(strides, strides + rank);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t descriptor) {
  return descriptor == nullptr || tensors.remove(descriptor) ? CUDNN_STATUS_SUCCESS
                                                             : bad("the descriptor does not exist");
}

cudnnStatus_t cudnnCreateLRNDescriptor(cudnnLRNDescriptor_t* descriptor) {
  if (descriptor == nullptr) return bad("there is no place for the descriptor");
  *descriptor = normalizations.add(std::make_shared<DnnLrn>());
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetLRNDescriptor(cudnnLRNDescriptor_t descriptor, unsigned n, double alpha,
                                    double beta, double k) {
  const auto lrn = normalizations.find(descriptor);
  if (lrn == nullptr) return bad("the descriptor does not exist");
  if (n < CUDNN_LRN_MIN_N || n > CUDNN_LRN_MAX_N || beta < CUDNN_LRN_MIN_BETA ||
      k < CUDNN_LRN_MIN_K) {
    return bad("a parameter is out of its range");
  }
  *lrn = {n, alpha, beta, k};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyLRNDescriptor(cudnnLRNDescriptor_t descriptor) {
  return descriptor == nullptr || normalizations.remove(descriptor)
             ? CUDNN_STATUS_SUCCESS
             : bad("the descriptor does not exist");
}

cudnnStatus_t cudnnLRNCrossChannelForward(cudnnHandle_t handle, cudnnLRNDescriptor_t descriptor,
                                          cudnnLRNMode_t mode, const void* alpha,
                                          cudnnTensorDescriptor_t x_descriptor, const void* x,
                                          const void* beta, cudnnTensorDescriptor_t y_descriptor,
                                          void* y) {
  const auto lrn = normalizations.find(descriptor);
  if (lrn == nullptr || mode != CUDNN_LRN_CROSS_CHANNEL_DIM1) {
    return bad("the descriptor does not exist, or the mode is wrong");
  }
  return submit(handle, "cudnnLRNCrossChannelForward", alpha, beta,
                {{x_descriptor, x}, {y_descriptor, y}},
                [lrn = *lrn](const Arrays& arrays) { return normalize(lrn, arrays[0]); });
}

cudnnStatus_t cudnnLRNCrossChannelBackward(cudnnHandle_t handle, cudnnLRNDescriptor_t descriptor,
                                           cudnnLRNMode_t mode, const void* alpha,
                                           cudnnTensorDescriptor_t y_descriptor, const void* y,
                                           cudnnTensorDescriptor_t dy_descriptor, const void* dy,
                                           cudnnTensorDescriptor_t x_descriptor, const void* x,
                                           const void* beta, cudnnTensorDescriptor_t dx_descriptor,
                                           void* dx) {
  const auto lrn = normalizations.find(descriptor);
  if (lrn == nullptr || mode != CUDNN_LRN_CROSS_CHANNEL_DIM1) {
    return bad("the descriptor does not exist, or the mode is wrong");
  }
  return submit(handle, "cudnnLRNCrossChannelBackward", alpha, beta,
                {{x_descriptor, x}, {y_descriptor, y}, {dy_descriptor, dy}, {dx_descriptor, dx}},
                [lrn = *lrn](const Arrays& arrays) {
                  return normalize_gradient(lrn, arrays[0], arrays[1], arrays[2]);
                });
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm,
                                  cudnnSoftmaxMode_t mode, const void* alpha,
                                  cudnnTensorDescriptor_t x_descriptor, const void* x,
                                  const void* beta, cudnnTensorDescriptor_t y_descriptor, void* y) {
  const DnnSoftmax how{algorithm == CUDNN_SOFTMAX_LOG, mode == CUDNN_SOFTMAX_MODE_INSTANCE};
  return submit(handle, "cudnnSoftmaxForward", alpha, beta, {{x_descriptor, x}, {y_descriptor, y}},
                [how](const Arrays& arrays) { return softmax(how, arrays[0]); });
}

cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm,
                                   cudnnSoftmaxMode_t mode, const void* alpha,
                                   cudnnTensorDescriptor_t y_descriptor, const void* y,
                                   cudnnTensorDescriptor_t dy_descriptor, const void* dy,
                                   const void* beta, cudnnTensorDescriptor_t dx_descriptor,
                                   void* dx) {
  const DnnSoftmax how{algorithm == CUDNN_SOFTMAX_LOG, mode == CUDNN_SOFTMAX_MODE_INSTANCE};
  return submit(
      handle, "cudnnSoftmaxBackward", alpha, beta,
      {{y_descriptor, y}, {dy_descriptor, dy}, {dx_descriptor, dx}},
      [how](const Arrays& arrays) { return softmax_gradient(how, arrays[0], arrays[1]); });
}

}  // namespace towerflow::cuda::host

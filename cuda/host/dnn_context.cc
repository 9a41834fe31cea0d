// cuDNN's handles, version and texts of errors.
#include "cuda/host/dnn_context.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "cuda/host/coverage.h"
#include "cuda/host/dnn_descriptor.h"
#include "cuda/host/libraries.h"
#include "cuda/host/library_handles.h"
#include "cuda/host/runtime.h"

namespace towerflow::cuda::host {
namespace {

auto& contexts = *new LibraryHandles<cudnnHandle_t, DnnContext>;
thread_local std::string last_error;

// What the library allocates for a handle.
constexpr std::size_t kContextBytes = 1 << 10;

}  // namespace

std::shared_ptr<DnnContext> find_context(cudnnHandle_t handle) { return contexts.find(handle); }

cudnnStatus_t dnn_error(cudnnStatus_t status, std::string text) {
  last_error = std::move(text);
  return status;
}

std::size_t cudnnGetVersion() { return CUDNN_VERSION; }

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  if (handle == nullptr) {
    return dnn_error(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "there is no place for the handle");
  }
  // The library allocates device memory, and so cannot be opened during most captures.
  void* memory = nullptr;
  if (host::cudaMalloc(&memory, kContextBytes) != cudaSuccess) {
    return dnn_error(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED,
                     "cudaMalloc failed for the handle");
  }
  auto context = std::shared_ptr<DnnContext>(new DnnContext, [memory](DnnContext* made) {
    host::cudaFree(memory);
    delete made;
  });
  *handle = contexts.add(std::move(context));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  return contexts.remove(handle)
             ? CUDNN_STATUS_SUCCESS
             : dnn_error(CUDNN_STATUS_NOT_INITIALIZED, "the handle does not exist");
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  const auto context = contexts.find(handle);
  if (context == nullptr) {
    return dnn_error(CUDNN_STATUS_NOT_INITIALIZED, "the handle does not exist");
  }
  context->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

void cudnnGetLastErrorString(char* message, std::size_t most) {
  if (message == nullptr || most == 0) return;
  const std::size_t length = std::min(most - 1, last_error.size());
  std::memcpy(message, last_error.data(), length);
  message[length] = '\0';
  last_error.clear();
}

const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
#define TOWERFLOW_STATUS(name) \
  case CUDNN_STATUS_##name:    \
    return "CUDNN_STATUS_" #name;
    TOWERFLOW_STATUS(SUCCESS)
    TOWERFLOW_STATUS(NOT_INITIALIZED)
    TOWERFLOW_STATUS(BAD_PARAM)
    TOWERFLOW_STATUS(BAD_PARAM_NULL_POINTER)
    TOWERFLOW_STATUS(BAD_PARAM_MISALIGNED_POINTER)
    TOWERFLOW_STATUS(BAD_PARAM_NOT_FINALIZED)
    TOWERFLOW_STATUS(BAD_PARAM_OUT_OF_BOUND)
    TOWERFLOW_STATUS(BAD_PARAM_SIZE_INSUFFICIENT)
    TOWERFLOW_STATUS(BAD_PARAM_STREAM_MISMATCH)
    TOWERFLOW_STATUS(BAD_PARAM_SHAPE_MISMATCH)
    TOWERFLOW_STATUS(BAD_PARAM_DUPLICATED_ENTRIES)
    TOWERFLOW_STATUS(BAD_PARAM_ATTRIBUTE_TYPE)
    TOWERFLOW_STATUS(BAD_PARAM_DESCRIPTOR_TYPE)
    TOWERFLOW_STATUS(NOT_SUPPORTED)
    TOWERFLOW_STATUS(NOT_SUPPORTED_GRAPH_PATTERN)
    TOWERFLOW_STATUS(NOT_SUPPORTED_SHAPE)
    TOWERFLOW_STATUS(NOT_SUPPORTED_DATA_TYPE)
    TOWERFLOW_STATUS(NOT_SUPPORTED_LAYOUT)
    TOWERFLOW_STATUS(INTERNAL_ERROR)
    TOWERFLOW_STATUS(INTERNAL_ERROR_COMPILATION_FAILED)
    TOWERFLOW_STATUS(INTERNAL_ERROR_HOST_ALLOCATION_FAILED)
    TOWERFLOW_STATUS(INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)
    TOWERFLOW_STATUS(EXECUTION_FAILED)
    TOWERFLOW_STATUS(EXECUTION_FAILED_CUDART)
#undef TOWERFLOW_STATUS
    default:
      return "CUDNN_UNKNOWN_STATUS";
  }
}

void fill_cudnn(Table& table) {
#define TOWERFLOW_ENTRY(name) table.name = &host::name;
  TOWERFLOW_CUDA_CUDNN(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY
  count_calls(table);
}

}  // namespace towerflow::cuda::host

#pragma once

#include <map>
#include <numeric>

#include "tests/cuda/dnn_builder.h"
#include "tests/cuda/libraries.h"

namespace towerflow::cuda::testing {

/// The smallest number of elements that holds a tensor of these strides.
inline std::size_t span_of(const Dims& dims, const Dims& strides) {
  std::int64_t last = 0;
  for (std::size_t d = 0; d < dims.size(); ++d) last += (dims[d] - 1) * strides[d];
  return static_cast<std::size_t>(last + 1);
}

/// Calls `f(index)` for each index of a tensor, the last dimension the fastest.
template <typename F>
void for_each_index(const Dims& dims, const F& f) {
  Dims index(dims.size(), 0);
  while (true) {
    f(index);
    std::size_t d = dims.size();
    while (d > 0 && ++index[d - 1] == dims[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

inline std::size_t offset_of(const Dims& index, const Dims& strides) {
  return static_cast<std::size_t>(
      std::inner_product(index.begin(), index.end(), strides.begin(), std::int64_t{0}));
}

/// A handle of the emulated cuDNN with a stream.
class DnnHandle {
 public:
  DnnHandle() {
    CHECK(emulation().cudnnCreate(&handle_) == CUDNN_STATUS_SUCCESS);
    CHECK(emulation().cudnnSetStream(handle_, stream) == CUDNN_STATUS_SUCCESS);
  }
  ~DnnHandle() { CHECK(emulation().cudnnDestroy(handle_) == CUDNN_STATUS_SUCCESS); }
  DnnHandle(const DnnHandle&) = delete;
  DnnHandle& operator=(const DnnHandle&) = delete;
  operator cudnnHandle_t() const { return handle_; }

  const TestStream stream;

 private:
  cudnnHandle_t handle_ = nullptr;
};

/// Executes a configuration with the arrays of some UIDs and waits.
/// Returns the status of the call, or CUDNN_STATUS_EXECUTION_FAILED if the stream failed.
template <typename T>
cudnnStatus_t execute(DnnBuilder& builder, const DnnHandle& handle, DnnBuilder::Descriptor config,
                      const std::map<std::int64_t, DeviceArray<T>*>& arrays) {
  const auto plan = builder.plan(config);
  const std::int64_t bytes = builder.workspace(plan);
  DeviceArray<std::uint8_t> workspace(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)));
  Dims uids;
  std::vector<void*> pointers;
  for (const auto& [uid, array] : arrays) {
    uids.push_back(uid);
    pointers.push_back(array->get());
  }
  const auto pack = builder.pack(uids, pointers, workspace.get());
  const cudnnStatus_t status = emulation().cudnnBackendExecute(handle, plan, pack);
  if (handle.stream.wait() == cudaSuccess) return status;
  restart();
  return CUDNN_STATUS_EXECUTION_FAILED;
}

template <typename T>
std::vector<double> as_doubles(const std::vector<T>& values) {
  return std::vector<double>(values.begin(), values.end());
}

/// Returns values between -1 and 1.
template <typename T>
std::vector<T> random_array(std::size_t count, unsigned seed) {
  const std::vector<double> values = random_values(count, seed);
  return std::vector<T>(values.begin(), values.end());
}

}  // namespace towerflow::cuda::testing

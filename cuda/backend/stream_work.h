#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

#include "core/device/kernel.h"

namespace towerflow::cuda {

class CudaEvent;
class CudaKernel;

/// A call that a queue has received.
struct WorkCall {
  enum class Kind { launch, copy, record, wait };
  Kind kind = Kind::launch;
  std::size_t instruction = 0;
  const CudaKernel* kernel = nullptr;  ///< launch
  std::size_t first_input = 0, first_output = 0;
  std::byte* workspace = nullptr;
  std::byte* parameters = nullptr;
  const ErrorDetail* detail = nullptr;
  void* to = nullptr;  ///< copy
  const void* from = nullptr;
  std::size_t bytes = 0;
  CudaEvent* event = nullptr;  ///< record, wait
  cudaEvent_t handle = nullptr;
};

/// Calls that a queue has received and holds back, with the operands of launches. Keeps its memory
/// when it is cleared.
class StreamWork {
 public:
  void add_launch(std::size_t instruction, const CudaKernel& kernel, const LaunchArgs& args,
                  std::byte* parameters);
  void add_copy(std::size_t instruction, void* to, const void* from, std::size_t bytes);
  void add_record(std::size_t instruction, CudaEvent& event, cudaEvent_t handle);
  /// `checks_data` tells that what the event waits for may find its data wrong.
  void add_wait(std::size_t instruction, CudaEvent& event, cudaEvent_t handle, bool checks_data);
  void clear();

  bool empty() const { return calls_.empty(); }
  const std::vector<WorkCall>& calls() const { return calls_; }
  /// The launches and copies.
  std::size_t nodes() const { return nodes_; }
  bool has_copies() const { return has_copies_; }
  /// Returns whether a launch, or what is waited for, may find its data wrong.
  bool checks_data() const { return checks_data_; }
  /// Returns whether the event can be awaited on the host while all this is held back: it then does
  /// not wait for an event that is recorded here.
  bool can_await(const CudaEvent& event) const;
  /// Returns the arguments of a launch. `args.run` is null.
  LaunchArgs args_of(const WorkCall& launch) const;

  /// Returns whether `other` is the same but for addresses and the bytes of copies.
  bool has_calls_of(const StreamWork& other) const;
  bool operator==(const StreamWork& other) const;

 private:
  std::vector<WorkCall> calls_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::size_t nodes_ = 0;
  bool has_copies_ = false, checks_data_ = false;
};

}  // namespace towerflow::cuda

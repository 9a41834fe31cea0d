#pragma once

#include <cstddef>

#include "core/device/kernel.h"

namespace towerflow::cuda {

class CudaQueue;

/// A kernel of this backend.
///
/// `run` puts its work into the stream of a queue, which may be under capture. Whatever differs
/// from run to run is in the memory behind the addresses of `args`, or among its parameters: a
/// launch that was captured is repeated as long as the addresses are the same.
class CudaKernel : public PreparedKernel {
 public:
  void enqueue(Queue& queue, const LaunchArgs& args) const final;

  virtual void run(CudaQueue& queue, const LaunchArgs& args) const = 0;
  /// Returns whether it must be put into the stream when it is enqueued, and not as a part of a
  /// graph: it needs `args.run`, or meets other threads.
  virtual bool at_once() const { return false; }
  /// The bytes of pinned memory for what the host decides anew in each run.
  virtual std::size_t parameter_bytes() const { return 0; }
  /// Writes them. Called in each run, in the order of its instructions.
  virtual void set_parameters(const LaunchArgs& args, std::byte* parameters) const = 0;

  /// The operands that `args` has. Set once, before the first `enqueue`.
  std::size_t inputs = 0, outputs = 0;
};

}  // namespace towerflow::cuda

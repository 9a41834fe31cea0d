#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/device/cancellation.h"
#include "core/device/resource_store.h"
#include "core/device/tensor_desc.h"
#include "core/device/ticket.h"
#include "core/graph/error.h"
#include "core/graph/node.h"

namespace towerflow {

class Queue;
class RunObjects;

/// State of a run that its kernels may use.
struct RunContext {
  ResourceStore& resources;
  Cancellation& cancellation;
  RunObjects* objects = nullptr;  ///< null when a constant is computed
  Ticket ticket{};  ///< set by the kernel that reads a record, used by the one that enqueues it
};

/// The Arrays behind the operands of a launch: for outputs whose shape only the running kernel
/// knows, and for values that objects of the run share (see OpDef::keeps and OpDef::gives).
class LaunchArrays {
 public:
  virtual ~LaunchArrays() = default;
  /// Returns memory for output `index`, which lives as long as the run needs it.
  virtual void* allocate(std::size_t index, const Shape& shape) = 0;
  /// Returns input `index` as an Array that lives until the run ends and does not change: it shares
  /// the input's memory if nothing writes that again, otherwise it is a copy.
  virtual Array keep_input(std::size_t index) = 0;
  /// Makes `value` output `index`, without a copy. Its dtype and shape are those of the output.
  virtual void give_output(std::size_t index, const Array& value) = 0;
};

/// Merges the shape that a run found with the one the graph declares. Throws InvalidArgumentError
/// if they contradict each other, as after a wrong set_shape.
Shape merge_declared_shape(const Shape& found, const Shape& said);

/// The arguments of one launch.
struct LaunchArgs {
  const void* const* inputs = nullptr;  ///< a written variable is an input, despite the const
  void* const* outputs = nullptr;
  std::byte* workspace = nullptr;  ///< aligned to 64 bytes
  RunContext* run = nullptr;
  const ErrorDetail* detail = nullptr;  ///< the node and the user's line, for error messages
  /// For outputs of unknown shape, whose address is null, and for ops that keep or give values.
  LaunchArrays* arrays = nullptr;

  /// Returns the memory for output `index`, whose shape the kernel has found; `said` is the shape
  /// that the graph declares.
  void* output_memory(std::size_t index, const Shape& found, const Shape& said) const {
    if (outputs[index] != nullptr && found == said) return outputs[index];
    const Shape shape = merge_declared_shape(found, said);
    return outputs[index] != nullptr ? outputs[index] : arrays->allocate(index, shape);
  }
  /// Makes `value` output `index`, of which the graph declares the shape `said`, without a copy.
  void give_output(std::size_t index, const Array& value, const Shape& said) const {
    merge_declared_shape(value.shape(), said);
    arrays->give_output(index, value);
  }
  template <class T>
  const T* input(std::size_t index) const {
    return static_cast<const T*>(inputs[index]);
  }
  /// Returns input `index` as the storage of a variable that the op writes.
  template <class T>
  T* variable(std::size_t index) const {
    return static_cast<T*>(const_cast<void*>(inputs[index]));
  }
  template <class T>
  T* output(std::size_t index) const {
    return static_cast<T*>(outputs[index]);
  }
};

/// An output that may use the memory of an input that is not read later.
struct InPlacePair {
  int output = 0;
  int input = 0;
};

/// An op prepared for given shapes, which can be launched many times. Immutable; shared by plans.
///
/// `enqueue` neither allocates nor waits for the work it starts. It writes every byte of every
/// output and reads nothing but its operands. Equal inputs give bitwise equal outputs, whatever the
/// number of threads.
class PreparedKernel {
 public:
  virtual ~PreparedKernel() = default;
  virtual std::size_t workspace_bytes() const { return 0; }
  virtual std::vector<InPlacePair> in_place() const { return {}; }
  /// Returns whether a launch may wait, or fail for another reason than lack of memory. A run
  /// changes its first variable only after all such kernels, so that a failed step changes nothing;
  /// see also `enqueue_checked`.
  virtual bool may_fail() const { return true; }
  /// Returns whether the kernel has memory in which its inputs can be computed; see `input_memory`.
  virtual bool has_input_memory() const { return false; }
  /// Called before each run that launches the kernel, if it has such memory: writes an address for
  /// each input to `addresses`, aligned to 64 bytes, and returns what owns the memory until the run
  /// has ended. The planner has an input computed there if it can, so that the kernel, which finds
  /// it at that address, need not copy it.
  virtual std::shared_ptr<void> input_memory(ResourceStore&, std::span<void*>) const {
    return nullptr;
  }
  virtual void enqueue(Queue& queue, const LaunchArgs& args) const = 0;
};

/// Launches a kernel that runs on the calling thread. If the library is built with the verifier on,
/// an exception of a kernel that says it cannot fail becomes an InternalError.
void enqueue_checked(const PreparedKernel& kernel, Queue& queue, const LaunchArgs& args);

/// A request for a kernel for given operands. Outputs of a late op may have unknown shapes.
struct KernelRequest {
  const OpDef* op = nullptr;
  const Attrs* attrs = nullptr;
  std::vector<TensorDesc> inputs;
  std::vector<TensorDesc> outputs;
  std::map<int, Array> values;  ///< values of `OpDef::static_inputs`, by input
  std::string node{};           ///< names the state of a stateful or random op; empty for other ops
  bool winograd = true;         ///< whether convolutions may round like Winograd's algorithm
  int device = 0;  ///< index in the backend; devices with one memory share prepared kernels

  template <class T>
  const T& attributes() const {
    return attrs->as<T>();
  }
};

/// An entry of a backend's kernel table: what it supports and how it is prepared.
struct KernelEntry {
  std::string op;
  std::string label;  ///< shown in plan reports: "oneDNN", "simd", "reference"
  /// Returns whether it supports these operands, whose shapes may be unknown.
  std::function<bool(const KernelRequest&)> accepts;
  std::function<std::unique_ptr<PreparedKernel>(const KernelRequest&)> prepare;
  /// Inputs, such as axes and sizes, that it reads from host memory, in ascending order.
  std::vector<int> host_inputs{};

  bool reads_on_host(int input) const {
    return std::binary_search(host_inputs.begin(), host_inputs.end(), input);
  }
};

/// Prepares a kernel of `entry` for a request that it accepts. Throws InvalidArgumentError naming
/// the op and its input types if `prepare` returns none.
std::unique_ptr<PreparedKernel> prepare_kernel(const KernelEntry& entry,
                                               const KernelRequest& request);
/// Returns the inputs of a request for messages: "float32 (2, 3), int32 ()".
std::string inputs_text(const KernelRequest& request);

}  // namespace towerflow

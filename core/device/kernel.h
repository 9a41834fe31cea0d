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

/// What one run lends to its kernels.
struct RunContext {
  ResourceStore& resources;
  Cancellation& cancellation;
  Ticket ticket{};  ///< set by the kernel that reads a record, used by the one that enqueues it
};

/// Gives memory to outputs whose shape only the kernel finds out.
class LateOutputs {
 public:
  virtual ~LateOutputs() = default;
  /// Memory for output `index`, alive as long as the run needs it.
  virtual void* allocate(std::size_t index, const Shape& shape) = 0;
};

/// What the graph says of a shape, made as precise as the run has found it. Throws
/// InvalidArgumentError where the two contradict each other, as a wrong set_shape makes them.
Shape found_shape(const Shape& found, const Shape& said);

/// The addresses of one launch.
struct LaunchArgs {
  const void* const* inputs = nullptr;  ///< a written variable is the input itself, not const
  void* const* outputs = nullptr;
  std::byte* workspace = nullptr;  ///< aligned to 64 bytes
  RunContext* run = nullptr;
  const ErrorDetail* detail = nullptr;  ///< the node and the user's line, for a message
  LateOutputs* late = nullptr;          ///< for outputs of unknown shape; their address is null

  /// Where output `index` goes, whose shape the kernel has found; `said` is what the graph says.
  void* memory_for(std::size_t index, const Shape& found, const Shape& said) const {
    if (outputs[index] != nullptr && found == said) return outputs[index];
    const Shape shape = found_shape(found, said);
    return outputs[index] != nullptr ? outputs[index] : late->allocate(index, shape);
  }
  template <class T>
  const T* input(std::size_t index) const {
    return static_cast<const T*>(inputs[index]);
  }
  /// Input `index` as the storage of a variable that the op writes.
  template <class T>
  T* variable(std::size_t index) const {
    return static_cast<T*>(const_cast<void*>(inputs[index]));
  }
  template <class T>
  T* output(std::size_t index) const {
    return static_cast<T*>(outputs[index]);
  }
};

/// An output that may lie in the memory of an input, when nobody reads that input later.
struct InPlacePair {
  int output = 0;
  int input = 0;
};

/// One op prepared once for given shapes, then launched many times. Immutable; shared by plans.
///
/// `enqueue` neither allocates nor waits for the work it starts; it writes every byte of every
/// output, reads nothing outside its operands, and gives the same bits for the same bits whatever
/// the number of threads.
class PreparedKernel {
 public:
  virtual ~PreparedKernel() = default;
  virtual std::size_t workspace_bytes() const { return 0; }
  virtual std::vector<InPlacePair> in_place() const { return {}; }
  /// Whether a launch may end in an error other than of memory, or wait for something. A run
  /// changes its first variable only after all that may, so that a step that fails leaves nothing
  /// half done; see also `enqueue_checked`.
  virtual bool may_fail() const { return true; }
  virtual void enqueue(Queue& queue, const LaunchArgs& args) const = 0;
};

/// Launches a kernel that runs on the calling thread. A library that is built to verify itself
/// makes an InternalError of what one throws that says it cannot fail.
void enqueue_checked(const PreparedKernel& kernel, Queue& queue, const LaunchArgs& args);

/// What a kernel is asked for. Outputs of a late op may have unknown shapes.
struct KernelRequest {
  const OpDef* op = nullptr;
  const Attrs* attrs = nullptr;
  std::vector<TensorDesc> inputs;
  std::vector<TensorDesc> outputs;
  std::map<int, Array> values;  ///< of `OpDef::static_inputs`, by input
  std::string node{};    ///< names the state of a stateful or random op; empty for every other op
  bool winograd = true;  ///< whether convolutions may round as Winograd's algorithm does
  int device = 0;        ///< of the backend; those that share a memory share prepared kernels

  template <class T>
  const T& attributes() const {
    return attrs->as<T>();
  }
};

/// An entry of a backend's table: what it can do, and how it is prepared.
struct KernelEntry {
  std::string op;
  std::string label;  ///< "oneDNN", "simd", "reference": shown in plan reports
  /// Whether it takes these operands; shapes may be unknown here.
  std::function<bool(const KernelRequest&)> accepts;
  std::function<std::unique_ptr<PreparedKernel>(const KernelRequest&)> prepare;
  /// Inputs that it reads in the host's memory, such as axes and sizes, in order.
  std::vector<int> host_inputs{};

  bool reads_on_host(int input) const {
    return std::binary_search(host_inputs.begin(), host_inputs.end(), input);
  }
};

/// A kernel of `entry` for a request that it accepts. Throws InvalidArgumentError, naming op and
/// dtypes, where it makes none.
std::unique_ptr<PreparedKernel> prepare_kernel(const KernelEntry& entry,
                                               const KernelRequest& request);
/// "float32 (2, 3), int32 ()": the inputs of a request, for messages.
std::string inputs_text(const KernelRequest& request);

}  // namespace towerflow

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/graph/array.h"
#include "core/runtime/passes.h"

namespace towerflow {

/// Where the bytes of a value lie during a run.
struct Slot {
  enum class Kind {
    arena,     ///< at `offset` in the frame's memory
    constant,  ///< number `index` of the plan's constants
    variable,  ///< number `index` of the plan's variables
    feed,      ///< number `index` of the run's feeds
    output,    ///< a result of the run: a fresh Array each time
    boxed,     ///< strings: an Array the frame keeps
    late,      ///< shape known only while running: an Array made then
  };
  Kind kind = Kind::arena;
  TensorDesc desc;
  std::size_t offset = 0;
  int index = -1;
};

/// How an instruction touches a variable.
struct VariableUse {
  int variable = 0;
  bool writes = false;
  bool needs_value = true;  ///< an error if it is not initialised
};

/// One step of a queue.
struct Instruction {
  enum class Kind { launch, wait, record };
  Kind kind = Kind::launch;
  int event = -1;

  std::shared_ptr<const PreparedKernel> kernel;  ///< null when prepared late
  const KernelEntry* entry = nullptr;
  std::vector<int> inputs;             ///< slots
  std::vector<int> outputs;            ///< slots
  std::size_t workspace = 0;           ///< offset in the frame's memory
  std::vector<VariableUse> variables;  ///< in ascending order of `variable`
  bool late = false;

  const OpDef* op = nullptr;
  Attrs attrs;
  std::string state;   ///< names the state of a stateful kernel, else empty
  ErrorDetail detail;  ///< node, op, device, user's line
};

/// The instructions of one device, in order.
struct QueueProgram {
  int device = 0;
  std::vector<Instruction> instructions;
};

struct PlanVariable {
  std::string name;
  DType dtype = DType::invalid;
  Shape shape;
};

/// A compiled run. Immutable, without addresses; many frames may run it at the same time.
struct Plan {
  std::vector<Slot> slots;
  std::vector<Array> constants;
  std::vector<PlanVariable> variables;
  std::vector<QueueProgram> queues;
  std::vector<int> view_of;  ///< per slot: the slot whose memory it is, itself if its own
  std::vector<int> fetches;  ///< slot of each fetched tensor, -1 for an operation
  int events = 0;
  std::size_t arena_bytes = 0;
  std::size_t max_operands = 0;
  std::vector<Placement> placements;
  PassLog log;

  /// The plan in words: passes, instructions with their kernels and slots, memory.
  std::string text(const DeviceSet& devices) const;
  std::size_t launches() const;
};

/// Kernels prepared once and shared by the plans of a session; see KernelRequest.
class KernelCache {
 public:
  std::shared_ptr<const PreparedKernel> get(const KernelEntry& entry, const KernelRequest& request);

 private:
  struct Item {
    Attrs attrs;
    std::vector<TensorDesc> inputs, outputs;
    std::map<int, Array> values;
    std::string node;
    std::shared_ptr<const PreparedKernel> kernel;
  };
  std::mutex mutex_;
  std::map<const KernelEntry*, std::vector<Item>> items_;
};

struct CompileOptions {
  bool soft_placement = false;
  PassOptions passes;
};

/// Runs all passes.
Plan compile_plan(std::span<const Fetch> fetches, std::span<const FeedSpec> feeds,
                  const DeviceSet& devices, KernelCache& kernels, const CompileOptions& options);

/// Passes 5 to 7: views, kernels, order, memory, instruction lists.
void lower(const PlanGraph& graph, const DeviceSet& devices, KernelCache& kernels,
           const PassOptions& options, Plan& plan);

/// Gives every arena slot and workspace its offset.
void assign_memory(Plan& plan, bool reuse);

/// Checks what every plan must satisfy; throws InternalError naming the broken rule. Run on each
/// plan when the library is built with the verifier on.
void verify_plan(const Plan& plan);

}  // namespace towerflow

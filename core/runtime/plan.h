#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/graph/array.h"
#include "core/runtime/passes.h"

namespace towerflow {

/// Where a value is stored during a run.
struct Slot {
  enum class Kind {
    arena,     ///< at `offset` in the frame's arena number `arena`
    constant,  ///< number `index` of the plan's constants
    variable,  ///< number `index` of the plan's variables
    feed,      ///< number `index` of the run's feeds
    output,    ///< a result of the run, or a value that objects of the run share, in its own Array
    given,     ///< in an Array of such an object or of a kernel, which the run or one of its
               ///< instructions gives
    boxed,     ///< strings, in an Array that the frame keeps
    late,      ///< shape known only during the run, which allocates the Array
  };
  Kind kind = Kind::arena;
  TensorDesc desc;
  int arena = 0;
  std::size_t offset = 0;
  int index = -1;
};

/// How an instruction uses a variable.
struct VariableUse {
  int variable = 0;
  bool writes = false;
  bool needs_value = true;  ///< it is an error if the variable is uninitialized
};

/// A variable stored in another memory that an instruction of the host writes: the instruction
/// changes the host's replica, which is then copied to the variable's home.
struct WriteThrough {
  int master = 0;
  int replica = 0;
  int device = 0;  ///< the variable's home
};

/// A variable that must be initialized, and the node that needs it.
struct NeededVariable {
  int variable = 0;
  ErrorDetail detail;
};

/// A condition of an instruction: the bool in `slot` of the host must be `branch`.
struct GuardUse {
  int slot = -1;
  bool branch = false;
  bool operator==(const GuardUse&) const = default;
};

class LoopPlan;  // core/runtime/loop_plan.h

/// One step of a queue.
struct Instruction {
  enum class Kind {
    launch,
    copy,    ///< from slot inputs[0] to slot outputs[0] in another memory
    fill,    ///< a copy that refreshes a replica of a variable if it is stale
    commit,  ///< the run may change variables from here on, and will finish
    loop,    ///< runs the plans of a loop until its condition is false
    wait,
    record,
  };
  Kind kind = Kind::launch;
  int event = -1;
  /// Event recorded after an instruction of an asynchronous queue that uses variables, for other
  /// runs; else -1.
  int access = -1;
  int depth = 0;  ///< of the event that is recorded, see Event::depth

  std::shared_ptr<const PreparedKernel> kernel;  ///< null if `late`
  const KernelEntry* entry = nullptr;
  std::vector<int> inputs;             ///< slots
  std::vector<int> outputs;            ///< slots
  std::size_t workspace = 0;           ///< offset in the arena of the queue
  std::vector<VariableUse> variables;  ///< in the order of Plan::locked_before
  std::vector<WriteThrough> through;   ///< writes of variables stored elsewhere
  bool late = false;
  bool shares = false;           ///< keeps or gives Arrays, see OpDef
  std::uint64_t write = 0;       ///< names its writes, and those of instructions that mirror it
  bool mirrors = false;          ///< changes replicas as another instruction changes the variables
  bool host_waits = false;       ///< of a wait: the thread that executes the queue waits too
  std::vector<GuardUse> guards;  ///< it runs only if all hold; checked in order
  /// With guards: where the queue goes on if they do not hold.
  std::size_t otherwise = 0;
  bool must_run = false;                 ///< it is an error if they do not hold
  std::shared_ptr<const LoopPlan> loop;  ///< of a loop

  const OpDef* op = nullptr;
  Attrs attrs;
  Cost cost;
  std::string state;                   ///< names the state of a stateful kernel, else empty
  ErrorDetail detail;                  ///< node, op, device, user's line
  std::vector<NeededVariable> needed;  ///< for a commit: must be initialized before it

  /// Returns whether the only variables that it changes are replicas.
  bool changes_replica() const { return kind == Kind::fill || mirrors; }
};

/// Memory of a kernel in which some of its inputs are computed; see PreparedKernel::input_memory.
struct InputMemory {
  std::shared_ptr<const PreparedKernel> kernel;
  std::vector<int> slots;  ///< per input; -1 for those that are elsewhere
};

/// The instructions of one engine of a device, in order.
struct QueueProgram {
  int device = 0;
  Lane lane = Lane::compute;
  int arena = 0;  ///< arena of its outputs and workspaces
  std::vector<Instruction> instructions;
};

/// A variable at its home, or a replica of it in another memory.
struct PlanVariable {
  std::string name;
  DType dtype = DType::invalid;
  Shape shape;
  int device = 0;
  bool replica = false;
  int staging = -1;  ///< for a replica on the host: the device that copies it; else -1
};

/// Memory of a frame, on the host (always the first) or on one device.
struct Arena {
  int device = 0;
  MemorySpace space = kHostSpace;
  std::size_t bytes = 0;
  int staging = -1;  ///< for host memory: the device that allocates it as staging; else -1
};

/// A compiled run. Immutable and free of addresses, so many frames can run it concurrently.
struct Plan {
  std::vector<Slot> slots;
  std::vector<Array> constants;
  std::vector<PlanVariable> variables;
  std::vector<QueueProgram> queues;
  std::vector<int> view_of;  ///< per slot: the slot whose memory it uses, itself if its own
  std::vector<int> fetches;  ///< slot of each fetched tensor, -1 for an operation
  /// Per fetch: a feed of the same size that only its kernel reads and whose memory it can use, as
  /// for a sum over the iterations of a loop; else -1.
  std::vector<int> in_memory_of;
  int events = 0;
  std::vector<Arena> arenas;
  std::vector<InputMemory> input_memories;
  std::size_t max_operands = 0;
  std::vector<Placement> placements;
  std::vector<Transfer> transfers;
  bool simulated = false;  ///< has queues of simulated devices: runs keep the virtual clock
  PassLog log;

  /// Returns whether an instruction that uses both variables locks `a` before `b`. All plans of a
  /// session use the same order, so that two runs cannot deadlock.
  bool locked_before(int a, int b) const;
  /// Describes the plan: passes, instructions with their kernels and slots, memory.
  std::string text(const DeviceSet& devices) const;
  /// Lists the values in one arena, the largest first, for errors about memory.
  std::string memory_map(std::size_t arena) const;
  std::size_t launches() const;
  std::size_t copies() const;
  std::size_t waits() const;
  std::size_t arena_bytes() const;  ///< sum over all arenas
};

/// A cache of prepared kernels, shared by the plans of a session; see KernelRequest.
class KernelCache {
 public:
  /// Returns the kernel for a request, prepared on first use. Blocks only callers that ask for the
  /// same kernel. If preparing fails, the next caller tries again.
  std::shared_ptr<const PreparedKernel> get(const KernelEntry& entry, const KernelRequest& request);

 private:
  struct Prepared {
    std::mutex mutex;
    std::shared_ptr<const PreparedKernel> kernel;  // null until prepared
  };
  struct Item {
    Attrs attrs;
    std::vector<TensorDesc> inputs, outputs;
    std::map<int, Array> values;
    std::string node;
    std::shared_ptr<Prepared> prepared;
  };
  std::shared_ptr<Prepared> find(const KernelEntry& entry, const KernelRequest& request);

  std::mutex mutex_;
  std::map<const KernelEntry*, std::vector<Item>> items_;
};

struct CompileOptions {
  bool nested = false;             ///< the plan is a part of a loop: its changes need no commit
  int worker = 0;                  ///< RunOptions::worker
  const ColocationGroups& groups;  ///< groups of the fetches' graph
  HomeDevices* homes = nullptr;    ///< homes of the session; nullptr for a standalone plan
  bool soft_placement = false;
  PassOptions passes;
  std::function<void(const PlanGraph&)> look_at{};  ///< called with the pruned graph before passes
};

/// Runs all passes and returns the plan.
Plan compile_plan(std::span<const Fetch> fetches, std::span<const FeedSpec> feeds,
                  const DeviceSet& devices, KernelCache& kernels, const CompileOptions& options);

/// Runs the passes on a graph that has been built, and returns the plan.
Plan compile_graph(PlanGraph graph, const DeviceSet& devices, KernelCache& kernels,
                   const CompileOptions& options, Plan plan = {});

/// Passes 5 to 7: views, kernels, order, memory, instruction lists.
void lower(const PlanGraph& graph, const DeviceSet& devices, KernelCache& kernels,
           const CompileOptions& options, Plan& plan);

/// An instruction that is not yet scheduled, or a join: a point without instruction that waits for
/// several drafts.
struct Draft {
  Instruction instruction;
  int device = 0;
  Lane lane = Lane::compute;
  std::vector<int> after;  ///< drafts that must end before it starts
  /// Those of them whose results the host reads before it starts: the conditions of its guards.
  std::vector<int> read_by_host;
  double seconds = 0;  ///< an estimate from flops and bytes only
  bool may_fail = true;
  bool writes = false;        ///< changes a variable (not a replica)
  bool asynchronous = false;  ///< set by `schedule`: its queue is asynchronous
  bool urgent = false;        ///< starts before drafts of its queue that are ready as well: work of
                              ///< others waits for it
  int meeting = -1;           ///< drafts of one meeting start together; they wait for the same
  bool joins = false;         ///< a join: ends when all drafts in `after` have ended
};

/// Assigns the drafts, given in tape order, to one queue per engine, and adds events between
/// queues. A free queue starts, of the drafts estimated to be ready, the first in tape order, so
/// that gradients are averaged and applied as they arrive. Urgent drafts go first, and large
/// gradients that only changes of variables need go last on CPUs.
/// Drafts that may fail come before those that change variables unless they depend on the change.
/// Equal drafts give equal plans. A nested plan has no commit.
void schedule(std::vector<Draft> drafts, const DeviceSet& devices, bool nested, Plan& plan);

/// Assigns an offset to every arena slot and workspace.
void assign_memory(Plan& plan, const DeviceSet& devices, bool reuse);

/// Checks the invariants of a plan; throws InternalError naming the violated one. Run on each plan
/// if the library is built with the verifier on.
void verify_plan(const Plan& plan);

}  // namespace towerflow

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
    arena,     ///< at `offset` in the frame's memory number `arena`
    constant,  ///< number `index` of the plan's constants
    variable,  ///< number `index` of the plan's variables
    feed,      ///< number `index` of the run's feeds
    output,    ///< a result of the run: a fresh Array each time
    boxed,     ///< strings: an Array the frame keeps
    late,      ///< shape known only while running: an Array made then
  };
  Kind kind = Kind::arena;
  TensorDesc desc;
  int arena = 0;
  std::size_t offset = 0;
  int index = -1;
};

/// How an instruction touches a variable.
struct VariableUse {
  int variable = 0;
  bool writes = false;
  bool needs_value = true;  ///< an error if it is not initialised
};

/// A variable of another memory that an instruction of the host writes: it changes the host's
/// replica, which is stored at the variable's home when it has ended.
struct WriteThrough {
  int master = 0;
  int replica = 0;
  int device = 0;  ///< the home
};

/// A variable that has to be initialised, and who needs it.
struct NeededVariable {
  int variable = 0;
  ErrorDetail detail;
};

/// One step of a queue.
struct Instruction {
  enum class Kind {
    launch,
    copy,    ///< from slot inputs[0] to slot outputs[0], which lie in different memories
    fill,    ///< a copy that brings a replica of a variable up to date, if it is not
    commit,  ///< from here on the run changes variables: it is to finish, and nothing left fails
    wait,
    record,
  };
  Kind kind = Kind::launch;
  int event = -1;
  /// Recorded behind what an asynchronous queue does with variables, for other runs; else -1.
  int access = -1;

  std::shared_ptr<const PreparedKernel> kernel;  ///< null when prepared late
  const KernelEntry* entry = nullptr;
  std::vector<int> inputs;             ///< slots
  std::vector<int> outputs;            ///< slots
  std::size_t workspace = 0;           ///< offset in the memory of the queue's device
  std::vector<VariableUse> variables;  ///< in the order of Plan::locked_before
  std::vector<WriteThrough> through;   ///< some of those, by their masters
  bool late = false;

  const OpDef* op = nullptr;
  Attrs attrs;
  Cost cost;
  std::string state;                   ///< names the state of a stateful kernel, else empty
  ErrorDetail detail;                  ///< node, op, device, user's line
  std::vector<NeededVariable> needed;  ///< of a commit: what the run does not initialise itself
};

/// The instructions of one engine of a device, in order.
struct QueueProgram {
  int device = 0;
  Lane lane = Lane::compute;
  int arena = 0;  ///< where its outputs and workspaces lie
  std::vector<Instruction> instructions;
};

/// A variable at its home, or the replica of it that other memory has.
struct PlanVariable {
  std::string name;
  DType dtype = DType::invalid;
  Shape shape;
  int device = 0;
  bool replica = false;
  int staging = -1;  ///< of a replica on the host: the device whose copy engines reach it
};

/// Memory of a frame: on the host (the first always) or on one device.
struct Arena {
  int device = 0;
  MemorySpace space = kHostSpace;
  std::size_t bytes = 0;
  int staging = -1;  ///< of the host: the device that gives it, whose copy engines reach it
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
  std::vector<Arena> arenas;
  std::size_t max_operands = 0;
  std::vector<Placement> placements;
  std::vector<Transfer> transfers;
  bool simulated = false;  ///< has queues of simulated devices: runs keep the virtual clock
  PassLog log;

  /// Whether variable `a` is locked before `b` by an instruction that uses both: an order that all
  /// plans of a session share, so that two runs never wait for each other.
  bool locked_before(int a, int b) const;
  /// The plan in words: passes, instructions with their kernels and slots, memory.
  std::string text(const DeviceSet& devices) const;
  /// What lies in one memory: the largest values first, for errors of memory.
  std::string memory_map(std::size_t arena) const;
  std::size_t launches() const;
  std::size_t copies() const;
  std::size_t waits() const;
  std::size_t arena_bytes() const;  ///< of all memories
};

/// Kernels prepared once and shared by the plans of a session; see KernelRequest.
class KernelCache {
 public:
  /// Waits only for those who ask for the same kernel. One that could not be prepared is tried
  /// again by each of them.
  std::shared_ptr<const PreparedKernel> get(const KernelEntry& entry, const KernelRequest& request);

 private:
  struct Prepared {
    std::mutex mutex;
    std::shared_ptr<const PreparedKernel> kernel;  // null until it is prepared
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
  const ColocationGroups& groups;  ///< of the fetches' graph
  HomeDevices* homes = nullptr;    ///< of the session; nullptr for a plan by itself
  bool soft_placement = false;
  PassOptions passes;
  std::function<void(const PlanGraph&)> look_at{};  ///< is shown what is needed, before any pass
};

/// Runs all passes.
Plan compile_plan(std::span<const Fetch> fetches, std::span<const FeedSpec> feeds,
                  const DeviceSet& devices, KernelCache& kernels, const CompileOptions& options);

/// Passes 5 to 7: views, kernels, order, memory, instruction lists.
void lower(const PlanGraph& graph, const DeviceSet& devices, KernelCache& kernels,
           const PassOptions& options, Plan& plan);

/// An instruction that has no place in a queue yet; or none, but what many wait for together.
struct Draft {
  Instruction instruction;
  int device = 0;
  Lane lane = Lane::compute;
  std::vector<int> after;  ///< drafts that must have ended before it starts
  double seconds = 0;      ///< an estimate, from work and bytes alone
  bool may_fail = true;
  bool writes = false;        ///< changes a variable (not a replica)
  bool asynchronous = false;  ///< known to `schedule`: its queue goes on by itself
  bool joins = false;         ///< has no instruction: has ended as soon as those in `after` have
};

/// Puts the drafts, which come in tape order, into one queue an engine and events between them. A
/// queue takes what is estimated to be ready first, in tape order among those: gradients are
/// averaged and applied as they arrive. What may fail goes before what changes variables, unless it
/// needs the change. Plans are the same for the same drafts.
void schedule(std::vector<Draft> drafts, const DeviceSet& devices, Plan& plan);

/// Gives every arena slot and workspace its offset.
void assign_memory(Plan& plan, const DeviceSet& devices, bool reuse);

/// Checks what every plan must satisfy; throws InternalError naming the broken rule. Run on each
/// plan when the library is built with the verifier on.
void verify_plan(const Plan& plan);

}  // namespace towerflow

#include <fmt/format.h>

#include <algorithm>

#include "core/runtime/plan.h"

namespace towerflow {

std::shared_ptr<const PreparedKernel> KernelCache::get(const KernelEntry& entry,
                                                       const KernelRequest& request) {
  const std::shared_ptr<Prepared> prepared = find(entry, request);
  std::lock_guard lock(prepared->mutex);
  if (prepared->kernel == nullptr) prepared->kernel = prepare_kernel(entry, request);
  return prepared->kernel;
}

std::shared_ptr<KernelCache::Prepared> KernelCache::find(const KernelEntry& entry,
                                                         const KernelRequest& request) {
  std::lock_guard lock(mutex_);
  std::vector<Item>& items = items_[&entry];
  for (const Item& item : items) {
    if (item.inputs == request.inputs && item.outputs == request.outputs &&
        item.values == request.values && item.node == request.node &&
        item.attrs == *request.attrs) {
      return item.prepared;
    }
  }
  // Plans keep their kernels alive. The limit is for kernels of late instructions: every new shape
  // adds one.
  constexpr std::size_t kMost = 128;
  if (items.size() == kMost) items.erase(items.begin());
  items.push_back({*request.attrs, request.inputs, request.outputs, request.values, request.node,
                   std::make_shared<Prepared>()});
  return items.back().prepared;
}

Plan compile_plan(std::span<const Fetch> fetches, std::span<const FeedSpec> feeds,
                  const DeviceSet& devices, KernelCache& kernels, const CompileOptions& options) {
  Plan plan;
  PlanGraph graph = build_plan_graph(fetches, feeds, plan.log);
  if (options.look_at) options.look_at(graph);
  return compile_graph(std::move(graph), devices, kernels, options, std::move(plan));
}

/// Returns whether a library can reduce values of these devices of a session.
static Collective collective_of(const DeviceSet& devices, const std::vector<int>& list) {
  Backend& backend = *devices[list.front()].backend;
  std::vector<int> indices;
  for (const int device : list) {
    if (devices[device].backend != &backend) return {{}, "the devices are not of one kind"};
    indices.push_back(devices[device].index);
  }
  return backend.collective(indices);
}

/// Chooses how accelerators average gradients if the program leaves it open.
static void choose_all_reduce(PlanGraph& graph, const DeviceSet& devices) {
  graph.collective = [&devices](const std::vector<int>& list) {
    return collective_of(devices, list);
  };
  if (graph.all_reduce.algorithm != AllReduce::automatic) return;
  graph.chose_all_reduce = true;
  graph.all_reduce.algorithm = AllReduce::gather;
  bool mirrored = false;
  for (std::size_t i = 0; i < graph.nodes.size() && !mirrored; ++i) {
    mirrored = graph.is_mirrored(static_cast<int>(i));
  }
  std::vector<int> accelerators;
  for (std::size_t i = 0; i < graph.accelerators.size(); ++i) {
    if (graph.accelerators[i]) accelerators.push_back(static_cast<int>(i));
  }
  if (!mirrored || accelerators.size() < 2) return;
  if (graph.collective(accelerators).refusal.empty()) {
    graph.all_reduce.algorithm = AllReduce::nccl;
  }
}

Plan compile_graph(PlanGraph graph, const DeviceSet& devices, KernelCache& kernels,
                   const CompileOptions& options, Plan plan) {
  graph.winograd = options.passes.choose_winograd;
  graph.recompute_from = options.passes.recompute_from;
  graph.all_reduce = options.passes.all_reduce;
  for (const Device& device : devices.devices()) graph.accelerators.push_back(!device.on_host());
  choose_all_reduce(graph, devices);
  HomeDevices own;
  plan.placements = place(graph, devices, options.groups, options.homes ? *options.homes : own,
                          options.soft_placement, plan.log, options.worker);
  if (options.passes.drop_unread) drop_unread(graph, plan.log);
  if (options.passes.fold_constants) fold_constants(graph, devices, plan.log);
  move_late_to_host(graph, devices, plan.placements, plan.log);
  if (options.passes.share_subexpressions) share_subexpressions(graph, plan.log);
  apply_rewrites(graph, devices, options.passes, plan.log);
  plan.transfers = insert_copies(graph, devices, plan.log);
  lower(graph, devices, kernels, options, plan);
#ifdef TOWERFLOW_VERIFY
  verify_plan(plan);
#endif
  return plan;
}

void verify_plan(const Plan& plan) {
  const auto check = [](bool holds, const char* rule, const std::string& node) {
    if (!holds) throw errors::InternalError(fmt::format("plan verifier: {}", rule), {.node = node});
  };
  std::vector<int> recorded(static_cast<std::size_t>(plan.events), 0);
  for (const QueueProgram& queue : plan.queues) {
    for (const Instruction& instruction : queue.instructions) {
      if (instruction.kind == Instruction::Kind::record) {
        ++recorded[static_cast<std::size_t>(instruction.event)];
      }
      if (instruction.access >= 0) ++recorded[static_cast<std::size_t>(instruction.access)];
      const bool copies = instruction.kind == Instruction::Kind::copy ||
                          instruction.kind == Instruction::Kind::fill;
      if (instruction.kind != Instruction::Kind::launch && !copies) continue;
      const std::string& node = instruction.detail.node;
      check(copies || instruction.late == (instruction.kernel == nullptr),
            "a launch has a kernel unless it is late", node);
      check(std::is_sorted(instruction.variables.begin(), instruction.variables.end(),
                           [&](const auto& a, const auto& b) {
                             return plan.locked_before(a.variable, b.variable);
                           }),
            "variables are locked in one order", node);
      const MemorySpace own = plan.arenas[static_cast<std::size_t>(queue.arena)].space;
      const auto on_host = [&](const std::vector<int>& operands, std::size_t operand) {
        return &operands == &instruction.inputs && instruction.entry != nullptr &&
               instruction.entry->reads_on_host(static_cast<int>(operand));
      };
      const auto named = [&](const std::vector<int>& operands, std::size_t operand) {
        return &operands == &instruction.inputs &&
               contains_input(instruction.op->name_only_inputs, operand);
      };
      for (const auto* operands : {&instruction.inputs, &instruction.outputs}) {
        for (std::size_t operand = 0; operand < operands->size(); ++operand) {
          const int slot = (*operands)[operand];
          check(slot >= 0 && static_cast<std::size_t>(slot) < plan.slots.size(),
                "an operand names a slot", node);
          const Slot& at = plan.slots[static_cast<std::size_t>(slot)];
          check(at.kind != Slot::Kind::arena ||
                    at.offset + at.desc.bytes() <=
                        plan.arenas[static_cast<std::size_t>(at.arena)].bytes,
                "a slot lies inside its arena", node);
          check(copies || named(*operands, operand) ||
                    at.desc.space == (on_host(*operands, operand) ? kHostSpace : own),
                "a launch reads and writes one memory, but for what it reads on the host", node);
          check(at.kind == Slot::Kind::late || at.desc.shape.fully_known(),
                "only a late slot has an open shape", node);
        }
      }
    }
  }
  for (int count : recorded) check(count == 1, "an event is recorded exactly once", "");
}

}  // namespace towerflow

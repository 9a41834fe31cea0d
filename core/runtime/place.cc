#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "core/graph/variable_attrs.h"
#include "core/runtime/passes.h"

namespace towerflow {
namespace {

/// Returns whether the node is a variable that is to be stored on devices.
bool has_device_home(const PlanNode& node) {
  const auto* attrs = node.attrs.get_if<VariableAttrs>();
  return attrs != nullptr && attrs->home != VariableHome::host;
}

/// Returns the variable whose storage an input refers to; nullptr if it refers to none.
const PlanNode* referenced_variable(const PlanGraph& graph, ValueId input) {
  const int variable = graph.spec(input).is_ref ? graph.root_variable(input) : -1;
  return variable < 0 ? nullptr : &graph.nodes[static_cast<std::size_t>(variable)];
}

/// Returns whether an op uses the storage that an input refers to, rather than its value.
bool takes_storage(const OpDef& op, std::size_t input) {
  if (contains_input(op.written, input)) return true;
  const auto& arguments = op.signature.inputs;
  for (std::size_t i = 0; i <= input && i < arguments.size(); ++i) {
    if (arguments[i].is_list()) return false;
  }
  return input < arguments.size() && arguments[input].is_ref;
}

/// A node whose device another node must share, and that device.
struct Tie {
  const PlanNode* node = nullptr;
  int device = 0;
};

/// Finds the node whose device a node must share: the variable that it refers to, else the first
/// node of its colocation group. Variables stored on a device are exempt, since they can be read
/// from anywhere.
Tie find_tie(const PlanGraph& graph, const PlanNode& node,
             const std::unordered_map<std::string, int>& by_name) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    if (!graph.spec(input).is_ref) continue;
    const PlanNode* variable = referenced_variable(graph, input);
    if (variable != nullptr && has_device_home(*variable) && !takes_storage(*node.op, i)) continue;
    return {&graph.node(input), variable == nullptr ? graph.node(input).device : variable->device};
  }
  for (const std::string& group : node.origin->colocation_groups) {
    const auto it = by_name.find(group.substr(group.find('@') + 1));
    if (it == by_name.end()) continue;
    const PlanNode& other = graph.nodes[static_cast<std::size_t>(it->second)];
    return {&other, other.device};
  }
  return {};
}

std::string short_name(const Device& device) {
  return fmt::format("/device:{}:{}", device.backend->type(), device.index);
}

ErrorDetail placement_detail(const PlanNode& node, const Device& device, std::string hint) {
  return {.site = node.origin->site,
          .node = node.origin->name,
          .op = node.op->name,
          .device = device.name,
          .hint = std::move(hint)};
}

[[noreturn]] void throw_no_kernel(const PlanNode& node, const Device& device) {
  throw errors::InvalidArgumentError(
      fmt::format("Cannot assign a device for operation {}: Could not satisfy explicit device "
                  "specification '{}' because no supported kernel for {} devices is available.",
                  node.origin->name, node.origin->device, device.backend->type()),
      placement_detail(node, device,
                       "set allow_soft_placement, or put it under tf::device(\"/cpu:0\")"));
}

/// Returns whether a device can store a variable: it needs an Identity kernel to read it.
bool can_hold(const PlanNode& variable, const Device& device) {
  static const OpDef& identity = OpRegistry::global().get("Identity");
  const OutputSpec& spec = variable.outputs[0];
  const TensorDesc desc{spec.dtype, spec.shape, device.space()};
  KernelRequest request{&identity, &identity.attrs.defaults(), {desc}, {desc}, {}, ""};
  request.device = device.index;
  return device.backend->find_kernel(request) != nullptr;
}

/// Returns the home of a variable that is stored on its device. A home chosen by an earlier plan of
/// the session is kept, whatever the graph requests now.
int home_of(const PlanNode& node, const DeviceSet& devices, const ColocationGroups& groups,
            HomeDevices& homes, bool soft, std::string& why) {
  const bool mirrored = node.attrs.as<VariableAttrs>().home == VariableHome::mirrored;
  const ErrorDetail detail{
      .site = node.origin->site, .node = node.origin->name, .op = node.op->name};
  int chosen = devices.choose(groups.device(*node.origin), soft, detail, why);
  if (mirrored && devices[chosen].on_host()) chosen = devices.first_accelerator();
  const Device& device = devices[chosen];
  if (device.on_host() || can_hold(node, device)) {
    why = fmt::format("{} ({})", mirrored ? "mirrored from here" : "its device is its home", why);
  } else {
    if (!soft) throw_no_kernel(node, device);
    why = fmt::format("{} has no kernel that reads it: the host's memory is its home",
                      short_name(device));
    chosen = devices.host();
  }
  const auto known = homes.emplace(node.origin->name, chosen).first;
  if (known->second != chosen) why = "its home since an earlier run";
  return known->second;
}

/// Returns whether the plan launches a kernel for the node: not for variables, known values, and
/// nodes that only order others.
bool is_launched(const PlanNode& node) {
  if (node.op->effect == Effect::variable) return false;
  if (node.op->effect == Effect::pure && node.outputs.empty()) return false;
  return !(node.op->effect == Effect::pure && node.is_known(0));
}

/// Moves a node to the host if its device has no kernel for it. Throws without soft placement.
void ensure_kernel(const PlanGraph& graph, PlanNode& node, const DeviceSet& devices, bool soft,
                   std::string& why) {
  const Device& device = devices[node.device];
  if (device.on_host()) return;
  if (node.op->effect == Effect::variable) {
    node.device = devices.host();
    why = fmt::format("variables live in the host's memory ({})", why);
    return;
  }
  if (!is_launched(node)) return;
  if (device.backend->find_kernel(kernel_request(graph, node, device)) != nullptr) return;
  if (!soft) throw_no_kernel(node, device);
  why = fmt::format("{} has no kernel of it", short_name(device));
  node.device = devices.host();
}

/// Moves a node to the host if it asks the session about variables, or writes variables that are
/// stored in several memories.
void ensure_one_memory(const PlanGraph& graph, PlanNode& node, const DeviceSet& devices, bool soft,
                       std::string& why) {
  if (!node.op->name_only_inputs.empty() && !devices[node.device].on_host()) {
    node.device = devices.host();
    why = "it asks the session, not the device";
    return;
  }
  for (const int written : node.op->written) {
    const PlanNode* variable =
        referenced_variable(graph, node.inputs[static_cast<std::size_t>(written)]);
    if (variable == nullptr) continue;
    const Device &home = devices[variable->device], &device = devices[node.device];
    if (home.space() == device.space()) continue;
    if (!soft) {
      throw errors::InvalidArgumentError(
          fmt::format("Cannot assign a device for operation {}: it writes variables that live on "
                      "{} and on {}.",
                      node.origin->name, device.name, home.name),
          placement_detail(node, home, "set allow_soft_placement, or place them on one device"));
    }
    node.device = devices.host();
    why = "it writes variables in several memories";
    return;
  }
}

/// Moves averages of gradients to the accelerator whose update reads them, if they request no
/// device, their inputs come from accelerators, and nothing else reads them. What only updates of
/// mirrored variables read is moved whatever it requests: it must be where the gradients are.
class AveragePlacer {
 public:
  AveragePlacer(PlanGraph& graph, const DeviceSet& devices, const ColocationGroups& groups)
      : graph_(graph),
        devices_(devices),
        groups_(groups),
        readers_(graph.nodes.size(), kNone),
        only_mirrored_(graph.nodes.size(), true) {}

  /// Moves the nodes and calls `moved` with each of them.
  template <class Moved>
  void run(const Moved& moved) {
    std::vector<bool> averages, of_accelerators;
    for (const PlanNode& node : graph_.nodes) {
      averages.push_back(may_move(node, averages) && is_free_average(node));
      of_accelerators.push_back(may_move(node, of_accelerators));
    }
    if (std::find(of_accelerators.begin(), of_accelerators.end(), true) == of_accelerators.end()) {
      return;
    }
    for (const ValueId fetch : graph_.fetches) {
      if (fetch.node >= 0) readers_[static_cast<std::size_t>(fetch.node)] = kSeveral;
    }
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      PlanNode& node = graph_.nodes[i];
      if (node.dead) continue;
      bool follows = node.op->effect == Effect::writes_variable;
      bool mirrored = follows && updates_mirrored(node);
      const bool average = averages[i] || (of_accelerators[i] && only_mirrored_[i]);
      if (average && readers_[i] >= 0 && has_kernel(node, devices_[readers_[i]])) {
        node.device = readers_[i];
        follows = true;
        mirrored = only_mirrored_[i];
        moved(node);
      }
      for (const ValueId input : node.inputs) {
        note_reader(input.node, follows ? node.device : -1);
        if (!mirrored) only_mirrored_[static_cast<std::size_t>(input.node)] = false;
      }
    }
  }

 private:
  static constexpr int kNone = -1, kSeveral = -2;

  /// Returns whether a node of the host computes only from values of accelerators, of nodes that do
  /// so themselves, and single numbers of the host, such as a rate.
  bool may_move(const PlanNode& node, const std::vector<bool>& others) const {
    if (node.dead || node.feed >= 0 || node.op->effect != Effect::pure ||
        !devices_[node.device].on_host()) {
      return false;
    }
    bool reads = false;
    for (const ValueId input : node.inputs) {
      const PlanNode& producer = graph_.node(input);
      if (producer.is_known(static_cast<std::size_t>(input.output))) continue;
      const bool from_device = producer.feed < 0 && !devices_[producer.device].on_host();
      if (from_device || others[static_cast<std::size_t>(input.node)])
        reads = true;
      else if (graph_.spec(input).is_ref || graph_.spec(input).shape != Shape{})
        return false;
    }
    return reads;
  }

  /// Returns whether a node is an average whose device the program leaves open.
  bool is_free_average(const PlanNode& node) const {
    return node.origin->role == NodeRole::gradient && groups_.device(*node.origin).empty();
  }

  bool updates_mirrored(const PlanNode& node) const {
    if (node.op->written.empty()) return false;
    const int variable =
        graph_.root_variable(node.inputs[static_cast<std::size_t>(node.op->written.front())]);
    return variable >= 0 && graph_.is_mirrored(variable);
  }

  bool has_kernel(const PlanNode& node, const Device& device) const {
    return device.backend->find_kernel(kernel_request(graph_, node, device)) != nullptr;
  }

  void note_reader(int node, int device) {
    int& reader = readers_[static_cast<std::size_t>(node)];
    const bool on_device = device >= 0 && !devices_[device].on_host();
    if (!on_device || (reader != kNone && reader != device))
      reader = kSeveral;
    else
      reader = device;
  }

  PlanGraph& graph_;
  const DeviceSet& devices_;
  const ColocationGroups& groups_;
  std::vector<int> readers_;  // per node: the accelerator of all its readers, kNone or kSeveral
  std::vector<bool> only_mirrored_;  // per node: whether only updates of mirrored variables need it
};

}  // namespace

std::vector<Placement> place(PlanGraph& graph, const DeviceSet& devices,
                             const ColocationGroups& groups, HomeDevices& homes, bool soft,
                             PassLog& log, int worker) {
  std::vector<Placement> ledger;
  std::unordered_map<std::string, int> by_name;
  std::map<std::string, int> counts;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    PlanNode& node = graph.nodes[i];
    if (node.dead) continue;
    if (node.feed >= 0) {
      node.device = devices.host();
      continue;
    }
    by_name[node.origin->name] = static_cast<int>(i);
    const ErrorDetail detail{
        .site = node.origin->site, .node = node.origin->name, .op = node.op->name};
    std::string why;
    if (node.op->on_host) {
      // On the CPU that it asks for: the loops of towers on several CPUs run side by side.
      node.device = devices.choose(groups.device(*node.origin), true, detail, why, worker);
      if (!devices[node.device].on_host()) {
        node.device = devices.host();
        why = "the host reads its result";
      }
      ledger.push_back({node.origin->name, node.op->name, node.origin->device,
                        devices[node.device].name, std::move(why)});
      continue;
    }
    if (has_device_home(node)) {
      node.device = home_of(node, devices, groups, homes, soft, why);
    } else {
      const Tie tie = find_tie(graph, node, by_name);
      if (tie.node != nullptr && tie.node != &node) {
        node.device = tie.device;
        why = fmt::format("beside {}", tie.node->origin->name);
      } else {
        node.device = devices.choose(groups.device(*node.origin), soft, detail, why, worker);
      }
      ensure_one_memory(graph, node, devices, soft, why);
      ensure_kernel(graph, node, devices, soft, why);
    }
    ledger.push_back({node.origin->name, node.op->name, node.origin->device,
                      devices[node.device].name, std::move(why)});
  }
  std::map<std::string, std::size_t> entries;  // node -> ledger entry, filled on demand
  AveragePlacer(graph, devices, groups).run([&](const PlanNode& node) {
    for (std::size_t i = entries.size(); i < ledger.size(); ++i) entries[ledger[i].node] = i;
    Placement& entry = ledger[entries.at(node.origin->name)];
    entry.given = devices[node.device].name;
    entry.why = "beside the update that reads it";
  });
  for (const Placement& placement : ledger) ++counts[placement.given];
  for (const auto& [name, count] : counts)
    log.add(fmt::format("place: {} nodes on {}", count, name));
  return ledger;
}

void move_late_to_host(PlanGraph& graph, const DeviceSet& devices, std::vector<Placement>& ledger,
                       PassLog& log) {
  int moved = 0;
  std::unordered_map<std::string, std::size_t> entries;  // node -> ledger entry, filled on demand
  for (PlanNode& node : graph.nodes) {
    if (node.dead || node.feed >= 0 || devices[node.device].on_host() || !is_launched(node)) {
      continue;
    }
    const auto has_unknown_shape = [](const OutputSpec& spec) { return !spec.shape.fully_known(); };
    const auto is_unknown_input = [&](int input) {
      const ValueId value = node.inputs[static_cast<std::size_t>(input)];
      return !graph.node(value).is_known(static_cast<std::size_t>(value.output));
    };
    const Device& device = devices[node.device];
    const KernelEntry* kernel = device.backend->find_kernel(kernel_request(graph, node, device));
    const bool reads_unknown =
        kernel != nullptr &&
        std::any_of(kernel->host_inputs.begin(), kernel->host_inputs.end(), is_unknown_input);
    const bool late =
        std::any_of(node.outputs.begin(), node.outputs.end(), has_unknown_shape) ||
        std::any_of(node.inputs.begin(), node.inputs.end(),
                    [&](ValueId input) { return has_unknown_shape(graph.spec(input)); }) ||
        reads_unknown ||
        std::any_of(node.op->static_inputs.begin(), node.op->static_inputs.end(), is_unknown_input);
    if (!late) continue;
    node.device = devices.host();
    ++moved;
    for (std::size_t i = entries.size(); i < ledger.size(); ++i) entries[ledger[i].node] = i;
    Placement& entry = ledger[entries.at(node.origin->name)];
    entry.given = devices[node.device].name;
    entry.why = "its shape is known only while it runs: on the host";
  }
  if (moved > 0)
    log.add(fmt::format("place: {} nodes whose shape is known only at run time stay on the host",
                        moved));
}

namespace {

/// A Merge copies one of its inputs.
KernelRequest merge_request(const PlanGraph& graph, const PlanNode& node, const Device& device) {
  static const OpDef& identity = OpRegistry::global().get("Identity");
  const OutputSpec& from = graph.spec(node.inputs[0]);
  KernelRequest request;
  request.op = &identity;
  request.attrs = &identity.attrs.defaults();
  request.device = device.index;
  request.inputs = {{from.dtype, from.shape, device.space()}};
  request.outputs = {{node.outputs[0].dtype, node.outputs[0].shape, device.space()}};
  return request;
}

}  // namespace

KernelRequest kernel_request(const PlanGraph& graph, const PlanNode& node, const Device& device) {
  KernelRequest request;
  request.op = node.op;
  request.attrs = &node.attrs;
  if (node.is_merge()) return merge_request(graph, node, device);
  request.winograd = graph.winograd;
  request.device = device.index;
  const MemorySpace space = device.space();
  for (ValueId input : node.inputs) {
    const OutputSpec& spec = graph.spec(input);
    request.inputs.push_back({spec.dtype, spec.shape, space});
  }
  for (const OutputSpec& spec : node.outputs) {
    request.outputs.push_back({spec.dtype, spec.shape, space});
  }
  const auto add_value = [&](int input) {
    const ValueId value = node.inputs[static_cast<std::size_t>(input)];
    const PlanNode& producer = graph.node(value);
    const auto output = static_cast<std::size_t>(value.output);
    if (producer.is_known(output)) request.values[input] = producer.values[output];
  };
  for (int input : node.op->static_inputs) add_value(input);
  if (!device.on_host()) {  // whose kernels may be prepared with more values than the host's
    const KernelEntry* entry = device.backend->find_kernel(request);
    for (int input : entry != nullptr ? entry->host_inputs : std::vector<int>()) add_value(input);
  }
  const bool has_state = node.op->effect == Effect::stateful || node.op->effect == Effect::random ||
                         node.op->effect == Effect::io;
  if (has_state) request.node = node.origin->name;
  // Kernels multiply the sizes of their operands without checks; elements() throws on overflow.
  for (const auto* operands : {&request.inputs, &request.outputs}) {
    for (const TensorDesc& operand : *operands) operand.shape.elements();
  }
  return request;
}

const KernelEntry& kernel_for(const PlanGraph& graph, const PlanNode& node, const Device& device) {
  const KernelRequest request = kernel_request(graph, node, device);
  if (const KernelEntry* entry = device.backend->find_kernel(request)) return *entry;
  throw errors::InvalidArgumentError(fmt::format("No kernel of {} for inputs ({}) on {}",
                                                 node.op->name, inputs_text(request), device.name),
                                     {.site = node.origin->site,
                                      .node = node.origin->name,
                                      .op = node.op->name,
                                      .device = device.name,
                                      .hint = "tf::cast to a dtype that has one, such as float32"});
}

}  // namespace towerflow

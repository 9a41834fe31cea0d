#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "core/runtime/passes.h"

namespace towerflow {
namespace {

/// The node whose device this one must share: the first of its colocation group, or the variable
/// that it refers to.
const PlanNode* tied_to(const PlanGraph& graph, const PlanNode& node,
                        const std::unordered_map<std::string, int>& by_name) {
  for (ValueId input : node.inputs) {
    if (graph.spec(input).is_ref) return &graph.node(input);
  }
  for (const std::string& group : node.origin->colocation_groups) {
    const auto it = by_name.find(group.substr(group.find('@') + 1));
    if (it != by_name.end()) return &graph.nodes[static_cast<std::size_t>(it->second)];
  }
  return nullptr;
}

std::string short_name(const Device& device) {
  return fmt::format("/device:{}:{}", device.backend->type(), device.index);
}

/// Whether the plan launches something for the node, rather than knowing its value or only keeping
/// an order.
bool is_launched(const PlanNode& node) {
  if (node.op->effect == Effect::variable) return false;
  if (node.op->effect == Effect::pure && node.outputs.empty()) return false;
  return !(node.op->effect == Effect::pure && node.is_known(0));
}

/// Moves a node that its device cannot run to the host, or says that it was asked for strictly.
void need_kernel(const PlanGraph& graph, PlanNode& node, const DeviceSet& devices, bool soft,
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
  if (!soft) {
    throw errors::InvalidArgumentError(
        fmt::format("Cannot assign a device for operation {}: Could not satisfy explicit device "
                    "specification '{}' because no supported kernel for {} devices is available.",
                    node.origin->name, node.origin->device, device.backend->type()),
        {.site = node.origin->site,
         .node = node.origin->name,
         .op = node.op->name,
         .device = device.name,
         .hint = "set allow_soft_placement, or put it under tf::device(\"/cpu:0\")"});
  }
  why = fmt::format("{} has no kernel of it", short_name(device));
  node.device = devices.host();
}

}  // namespace

std::vector<Placement> place(PlanGraph& graph, const DeviceSet& devices,
                             const ColocationGroups& groups, bool soft, PassLog& log) {
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
    const PlanNode* tied = tied_to(graph, node, by_name);
    if (tied != nullptr && tied != &node) {
      node.device = tied->device;
      why = fmt::format("beside {}", tied->origin->name);
    } else {
      node.device = devices.choose(groups.device(*node.origin), soft, detail, why);
    }
    need_kernel(graph, node, devices, soft, why);
    ++counts[devices[node.device].name];
    ledger.push_back({node.origin->name, node.op->name, node.origin->device,
                      devices[node.device].name, std::move(why)});
  }
  for (const auto& [name, count] : counts)
    log.add(fmt::format("place: {} nodes on {}", count, name));
  return ledger;
}

void keep_late_on_host(PlanGraph& graph, const DeviceSet& devices, std::vector<Placement>& ledger,
                       PassLog& log) {
  int moved = 0;
  std::unordered_map<std::string, std::size_t> entries;  // of the ledger, once they are asked for
  for (PlanNode& node : graph.nodes) {
    if (node.dead || node.feed >= 0 || devices[node.device].on_host() || !is_launched(node)) {
      continue;
    }
    const auto open = [](const OutputSpec& spec) { return !spec.shape.fully_known(); };
    const auto unknown = [&](int input) {
      const ValueId value = node.inputs[static_cast<std::size_t>(input)];
      return !graph.node(value).is_known(static_cast<std::size_t>(value.output));
    };
    const bool late =
        std::any_of(node.outputs.begin(), node.outputs.end(), open) ||
        std::any_of(node.inputs.begin(), node.inputs.end(),
                    [&](ValueId input) { return open(graph.spec(input)); }) ||
        std::any_of(node.op->static_inputs.begin(), node.op->static_inputs.end(), unknown);
    if (!late) continue;
    node.device = devices.host();
    ++moved;
    for (std::size_t i = entries.size(); i < ledger.size(); ++i) entries[ledger[i].node] = i;
    Placement& entry = ledger[entries.at(node.origin->name)];
    entry.given = devices[node.device].name;
    entry.why = "its shape is known only while it runs: on the host";
  }
  if (moved > 0) log.add(fmt::format("place: {} nodes of late shape stay on the host", moved));
}

KernelRequest kernel_request(const PlanGraph& graph, const PlanNode& node, const Device& device) {
  KernelRequest request;
  request.op = node.op;
  request.attrs = &node.attrs;
  request.winograd = graph.winograd;
  request.device = device.index;
  const MemorySpace space = device.space();
  for (ValueId input : node.inputs) {
    const OutputSpec& spec = graph.spec(input);
    request.inputs.push_back({spec.dtype, spec.shape, 0, space});
  }
  for (const OutputSpec& spec : node.outputs) {
    request.outputs.push_back({spec.dtype, spec.shape, 0, space});
  }
  for (int input : node.op->static_inputs) {
    const ValueId value = node.inputs[static_cast<std::size_t>(input)];
    const PlanNode& producer = graph.node(value);
    const auto output = static_cast<std::size_t>(value.output);
    if (producer.is_known(output)) request.values[input] = producer.values[output];
  }
  const bool has_state = node.op->effect == Effect::stateful || node.op->effect == Effect::random ||
                         node.op->effect == Effect::io;
  if (has_state) request.node = node.origin->name;
  // Kernels multiply sizes of their operands as they like: here it is seen that the products fit.
  for (const auto* operands : {&request.inputs, &request.outputs}) {
    for (const TensorDesc& operand : *operands) operand.shape.elements();
  }
  return request;
}

const KernelEntry& kernel_for(const PlanGraph& graph, const PlanNode& node, const Device& device) {
  const KernelRequest request = kernel_request(graph, node, device);
  if (const KernelEntry* entry = device.backend->find_kernel(request)) return *entry;
  std::string dtypes;
  for (const TensorDesc& input : request.inputs) {
    dtypes += fmt::format("{}{} {}", dtypes.empty() ? "" : ", ", dtype_name(input.dtype),
                          input.shape.text());
  }
  throw errors::InvalidArgumentError(
      fmt::format("No kernel of {} for inputs ({}) on {}", node.op->name, dtypes, device.name),
      {.site = node.origin->site,
       .node = node.origin->name,
       .op = node.op->name,
       .device = device.name,
       .hint = "tf::cast to a dtype that has one, such as float32"});
}

}  // namespace towerflow

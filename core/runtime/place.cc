#include <fmt/format.h>

#include <map>
#include <unordered_map>

#include "core/graph/graph.h"
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

/// The device asked for; for an initial value that of the variable that is made after it.
const std::string& requested(const Node& node) {
  if (!node.device.empty() || node.colocation_groups.empty()) return node.device;
  const std::string& group = node.colocation_groups[0];
  const std::string name = group.substr(group.find('@') + 1);
  try {
    return node.graph->get_operation_by_name(name).device();
  } catch (const KeyError&) {  // making the variable failed
    return node.device;
  }
}

}  // namespace

std::vector<Placement> place(PlanGraph& graph, const DeviceSet& devices, bool soft, PassLog& log) {
  std::vector<Placement> ledger;
  std::unordered_map<std::string, int> by_name;
  std::map<std::string, int> counts;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    PlanNode& node = graph.nodes[i];
    if (node.dead || node.feed >= 0) continue;
    by_name[node.origin->name] = static_cast<int>(i);
    const ErrorDetail detail{
        .site = node.origin->site, .node = node.origin->name, .op = node.op->name};
    std::string why;
    const PlanNode* tied = tied_to(graph, node, by_name);
    if (tied != nullptr && tied != &node) {
      node.device = tied->device;
      why = fmt::format("beside {}", tied->origin->name);
    } else {
      node.device = devices.choose(requested(*node.origin), soft, detail, why);
    }
    ++counts[devices[node.device].name];
    ledger.push_back({node.origin->name, node.op->name, node.origin->device,
                      devices[node.device].name, std::move(why)});
  }
  for (const auto& [name, count] : counts)
    log.add(fmt::format("place: {} nodes on {}", count, name));
  return ledger;
}

KernelRequest kernel_request(const PlanGraph& graph, const PlanNode& node, MemorySpace space) {
  KernelRequest request;
  request.op = node.op;
  request.attrs = &node.attrs;
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
  return request;
}

const KernelEntry& kernel_for(const PlanGraph& graph, const PlanNode& node, const Device& device) {
  const KernelRequest request = kernel_request(graph, node, device.backend->space(device.index));
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

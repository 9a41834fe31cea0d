#include "ops/control/group.h"

#include <map>

#include "core/graph/op_builder.h"
#include "ops/family.h"

namespace towerflow {
namespace {

/// Adds a NoOp that runs after `after`, on `device_name` unless that is empty.
Operation no_op_after(const std::string& name, const std::vector<Operation>& after,
                      const std::string& device_name, Site site) {
  Graph& graph = after.empty() ? get_default_graph() : after[0].graph();
  const ControlDependencies dependencies(graph, [&] {
    std::vector<Node*> nodes;
    for (const Operation& op : after) nodes.push_back(&op.node());
    return nodes;
  }());
  if (device_name.empty()) return OpBuilder("NoOp", name, site).build();
  const DeviceScope device(graph, DeviceSpec::parse(device_name, site));
  return OpBuilder("NoOp", name, site).build();
}

}  // namespace

static void register_control_ops(OpRegistry& registry) {
  registry.add({.name = "NoOp",
                .shape = [](InferenceContext&) {},
                .gradient = NoGradient{"an operation without outputs has no gradient"}});
}

OpFamily group_family() { return {.ops = register_control_ops}; }

Operation no_op(GroupOptions options, Site site) {
  return OpBuilder("NoOp", options.name, site).build();
}

Operation group(std::span<const Fetch> inputs, GroupOptions options, Site site) {
  const std::string name = options.name.empty() ? "group_deps" : options.name;
  Graph& graph = inputs.empty() ? get_default_graph() : inputs[0].operation().graph();
  const NameScope scope(graph, name, site);
  std::map<std::string, std::vector<Operation>> by_device;  // sorted, as in TensorFlow
  const auto add = [&](const Operation& op) { by_device[op.device()].push_back(op); };
  for (const Fetch& input : inputs) {
    add(input.operation());
    if (const IndexedSlices* slices = input.slices()) {
      add(slices->indices.op());
      if (slices->dense_shape) add(slices->dense_shape->op());
    }
  }
  if (by_device.empty()) return no_op({.name = scope.name()}, site);
  if (by_device.size() == 1) {
    const auto& [device_name, operations] = *by_device.begin();
    return no_op_after(scope.name(), operations, device_name, site);
  }
  std::vector<Operation> parts;
  for (const auto& [device_name, operations] : by_device) {
    parts.push_back(no_op_after("NoOp", operations, device_name, site));
  }
  return no_op_after(scope.name(), parts, "", site);
}

}  // namespace towerflow

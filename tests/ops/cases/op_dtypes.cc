#include "tests/ops/cases/op_dtypes.h"

#include <algorithm>

#include "core/device/backend_registry.h"
#include "core/runtime/passes.h"
#include "tests/ops/cases/plan_case.h"

namespace towerflow::testing {
namespace {

/// Converts integers to another dtype, since a shape rule may read them. Returns an empty Array for
/// anything else.
Array converted(const Array& array, DType dtype) {
  const bool integers = array.dtype() == DType::int32 || array.dtype() == DType::int64;
  if (!integers || dtype == DType::string) return {};
  Array made(dtype, array.shape());
  dispatch_dtype(array.dtype(), [&]<class From>() {
    dispatch_dtype(dtype, [&]<class To>() {
      for (std::int64_t i = 0; i < array.elements(); ++i) {
        made.data<To>()[i] = static_cast<To>(array.data<From>()[i]);
      }
    });
  });
  return made;
}

/// Returns the inputs of a node by the attribute that gives their dtype: {"T": {x, y}}. Throws
/// ValueError if they do not fit the op's arguments, as when a fused op omits some.
std::map<std::string, std::vector<ValueId>> inputs_by_attr(const PlanGraph& graph,
                                                           const PlanNode& node) {
  std::map<std::string, std::vector<ValueId>> found;
  std::vector<OutputSpec> specs;
  for (const ValueId input : node.inputs) specs.push_back(graph.spec(input));
  AttrMap known;
  match_arguments(node.op->signature.inputs, specs, known);
  std::size_t at = 0;
  for (const ArgDef& argument : node.op->signature.inputs) {
    if (!argument.type_list_attr.empty()) return {};
    std::int64_t count = 1;
    if (!argument.number_attr.empty())
      count = std::get<std::int64_t>(known.at(argument.number_attr).held());
    for (; count > 0; --count, ++at) {
      if (!argument.type_attr.empty()) found[argument.type_attr].push_back(node.inputs[at]);
    }
  }
  return found;
}

DtypeTrial trial_of(const PlanGraph& graph, const PlanNode& node) {
  DtypeTrial trial{.op = node.op->name, .attrs = node.attrs, .inputs = {}};
  for (const ValueId input : node.inputs) {
    const OutputSpec& spec = graph.spec(input);
    const PlanNode& producer = graph.node(input);
    const auto output = static_cast<std::size_t>(input.output);
    trial.inputs.push_back({spec.dtype, spec.shape, spec.is_ref,
                            producer.is_known(output) ? producer.values[output] : Array()});
  }
  return trial;
}

/// Tries the node with another dtype for `values`, which it reads. Returns nullopt if that is not
/// accepted. Restores the graph before it returns.
std::optional<DtypeTrial> try_dtype(PlanGraph& graph, PlanNode& node,
                                    const std::vector<ValueId>& values, DType dtype,
                                    const Device& device) {
  const PlanNode before = node;
  std::vector<PlanNode> producers;
  for (const ValueId value : values) {
    PlanNode& producer = graph.node(value);
    producers.push_back(producer);
    const auto output = static_cast<std::size_t>(value.output);
    producer.outputs[output].dtype = dtype;
    if (producer.is_known(output)) {
      producer.values[output] = converted(producer.values[output], dtype);
    }
  }
  std::optional<DtypeTrial> accepted;
  try {
    inputs_by_attr(graph, node);
    infer_plan_node(graph, node);
    const KernelRequest request = kernel_request(graph, node, device);
    const KernelEntry* const kernel = device.backend->find_kernel(request);
    if (kernel != nullptr) {
      // A kernel that needs values which only the run knows is prepared then.
      const std::vector<int>& needed = request.op->static_inputs;
      const bool late = std::any_of(needed.begin(), needed.end(),
                                    [&](int input) { return !request.values.contains(input); });
      if (!late) prepare_kernel(*kernel, request);
      accepted = trial_of(graph, node);
    }
  } catch (const Error&) {
  }
  node = before;
  for (std::size_t i = values.size(); i-- > 0;) graph.node(values[i]) = std::move(producers[i]);
  return accepted;
}

void add_dtypes(PlanGraph graph, const Device& device, OpDtypes& found,
                const std::function<void(const DtypeTrial&)>& on_accepted) {
  for (PlanNode& node : graph.nodes) {
    if (node.dead || node.feed >= 0 || node.is_known(0)) continue;
    std::map<std::string, std::vector<ValueId>> inputs;
    try {
      inputs = inputs_by_attr(graph, node);
    } catch (const ValueError&) {
      continue;
    }
    for (const auto& [attr, values] : inputs) {
      std::set<DType>& accepted = found[node.op->name][attr];
      for (const DType dtype : all_dtypes()) {
        if (accepted.contains(dtype)) continue;
        if (const auto trial = try_dtype(graph, node, values, dtype, device)) {
          accepted.insert(dtype);
          if (on_accepted) on_accepted(*trial);
        }
      }
    }
  }
}

}  // namespace

std::vector<DType> all_dtypes() {
  std::vector<DType> all = any_dtype();
  all.push_back(DType::string);
  return all;
}

OpDtypes op_dtypes(const std::function<void(const DtypeTrial&)>& on_accepted) {
  const DeviceSet devices(make_backends({}));
  OpDtypes found;
  for (const OpCase& one : op_cases()) {
    for (const DType dtype : one.dtypes) {
      const BuiltCase built(one, {.dtype = dtype});
      PlanGraph graph = plan_case(built, case_arrays(one.inputs, dtype));
      place_case(graph, built, devices);
      add_dtypes(graph, devices[0], found, on_accepted);
      add_dtypes(rewrite_case(std::move(graph), devices), devices[0], found, {});
    }
  }
  return found;
}

}  // namespace towerflow::testing

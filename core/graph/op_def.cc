#include "core/graph/op_def.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/evaluate.h"
#include "core/graph/graph.h"

namespace towerflow {

/// Throws ValueError for an input that the node lacks: an imported node may have an empty list.
static void check_input(const InferenceContext& context, std::size_t input) {
  if (input >= context.num_inputs()) {
    context.fail(fmt::format("the op takes more than {} inputs", context.num_inputs()));
  }
}

const OutputSpec& InferenceContext::spec(std::size_t input) const {
  check_input(*this, input);
  if (node_ == nullptr) return inputs_[input];
  const Tensor& tensor = node_->inputs[input];
  return tensor.node().outputs[static_cast<std::size_t>(tensor.index())];
}

const Array* InferenceContext::constant(std::size_t input) const {
  check_input(*this, input);
  if (node_ == nullptr) return constants_[input];
  if (evaluated_constants_.empty()) evaluated_constants_.resize(node_->inputs.size());
  std::optional<Array>& value = evaluated_constants_[input];
  if (!value) {
    value = constant_value(node_->inputs[input]);
    if (value->empty()) value = evaluate_constant(node_->inputs[input]);
  }
  return value->empty() ? nullptr : &*value;
}

bool contains_input(const std::vector<int>& inputs, std::size_t input) {
  return std::find(inputs.begin(), inputs.end(), static_cast<int>(input)) != inputs.end();
}

Cost no_cost(std::span<const OutputSpec>, std::span<const OutputSpec>) { return {}; }

Cost cost_of(const OpDef& op, std::span<const OutputSpec> inputs,
             std::span<const OutputSpec> outputs) {
  Cost cost;
  bool known = true;
  for (const auto specs : {inputs, outputs}) {
    for (const OutputSpec& spec : specs) {
      if (!spec.shape.fully_known()) {
        known = false;
      } else if (spec.dtype != DType::string && spec.dtype != DType::resource) {
        cost.bytes += static_cast<double>(spec.shape.elements()) *
                      static_cast<double>(dtype_size(spec.dtype));
      }
    }
  }
  return known && op.cost ? op.cost(inputs, outputs) : cost;
}

bool elementwise_always(const Attrs&, std::span<const OutputSpec>, const OutputSpec&) {
  return true;
}

OpRegistry& OpRegistry::global() {
  static OpRegistry* registry = [] {
    auto* made = new OpRegistry;  // lives as long as the process: nodes point into it
    register_builtin_ops(*made);
    return made;
  }();
  return *registry;
}

void OpRegistry::add(OpDef def) {
  std::string name = def.name;
  for (const std::string& text : def.inputs.list()) {
    def.signature.inputs.push_back(parse_argument(name, text));
  }
  for (const std::string& text : def.outputs.list()) {
    def.signature.outputs.push_back(parse_argument(name, text));
  }
  def.attrs.make_defaults(name);
  if (!defs_.emplace(name, std::move(def)).second) {
    throw ValueError(fmt::format("op '{}' is registered already", name));
  }
}

const OpDef* OpRegistry::find(const std::string& name) const {
  const auto it = defs_.find(name);
  return it == defs_.end() ? nullptr : &it->second;
}

const OpDef& OpRegistry::get(const std::string& name) const {
  const OpDef* def = find(name);
  if (def == nullptr) throw KeyError(fmt::format("no op '{}' is registered", name));
  return *def;
}

std::vector<const OpDef*> OpRegistry::all() const {
  std::vector<const OpDef*> defs;
  for (const auto& [name, def] : defs_) defs.push_back(&def);
  std::sort(defs.begin(), defs.end(),
            [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
  return defs;
}

}  // namespace towerflow

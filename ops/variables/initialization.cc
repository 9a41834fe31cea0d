#include "ops/variables/initialization.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "core/device/cpu/launch.h"
#include "core/device/resource_store.h"
#include "core/graph/control_flow.h"
#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "ops/array/boolean_mask.h"
#include "ops/array/constant.h"
#include "ops/array/rank_size.h"
#include "ops/array/stack.h"
#include "ops/control/cond.h"
#include "ops/family.h"
#include "ops/math/unary.h"

namespace towerflow {
namespace {

constexpr const char* kIsInitialized = "IsVariableInitialized";

/// The variable's name, by which its storage is found in the session.
struct VariableName {
  std::string name;
  static constexpr auto fields = std::tuple{attr::input_name(0, "_variable", &VariableName::name)};
};

std::unique_ptr<PreparedKernel> is_initialized_kernel(const KernelRequest& request) {
  const std::string name = request.attributes<VariableName>().name;
  const bool untouched = starts_initialized(request.inputs[0].shape);
  return function_kernel(
      [name, untouched](const LaunchArgs& args) {
        const VariableStorage* storage = args.run->resources.find_variable(name);
        *args.output<bool>(0) =
            storage == nullptr ? untouched : storage->initialized.load(std::memory_order_acquire);
      },
      {.may_fail = false});
}

/// A variable's storage and the tensor of its value.
struct Storage {
  Tensor ref, value;
};

std::vector<Storage> storages(const std::vector<Variable>& variables) {
  std::vector<Storage> found;
  for (const Variable& variable : variables) found.push_back({variable.ref(), variable.value()});
  return found;
}

/// Returns all storages in the graph, listed in a collection or not.
std::vector<Storage> all_storages() {
  std::vector<Storage> found;
  for (const Operation& op : get_default_graph().get_operations()) {
    if (op.node().op->effect == Effect::variable) found.push_back({op.output(0), op.output(0)});
  }
  return found;
}

/// Returns `var_list`, or the global and local variables if there is no list.
std::vector<Variable> var_list_or_default(const std::optional<std::vector<Variable>>& var_list) {
  if (var_list) return *var_list;
  std::vector<Variable> variables = global_variables();
  const std::vector<Variable> local = local_variables();
  variables.insert(variables.end(), local.begin(), local.end());
  return variables;
}

Tensor is_initialized(const Tensor& ref, const std::string& name, Site site) {
  const ColocationScope beside(ref.graph(), &ref.node(), false);
  const Operand operand(ref, site);
  return OpBuilder(kIsInitialized, name, site, {&operand})
      .input(operand, "ref")
      .attrs(VariableName{ref.op().name()})
      .output();
}

/// Returns whether a tensor depends on a variable, and on no loop, of which TensorFlow replaces
/// nothing. Most initial values do not, so this is checked first. Uses no recursion, since chains
/// of nodes may be long.
bool needs_guard(const Tensor& value) {
  std::vector<const Node*> open{&value.node()};
  std::unordered_set<const Node*> seen{&value.node()};
  bool variable = false;
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    variable |= node->op->effect == Effect::variable;
    if (is_next_iteration(*node)) return false;
    for (const Tensor& input : node->inputs) {
      if (seen.insert(&input.node()).second) open.push_back(&input.node());
    }
    for (const Node* awaited : node->control_inputs) {
      if (seen.insert(awaited).second) open.push_back(awaited);
    }
  }
  return variable;
}

/// Replaces variables that an initial value depends on by their `initialized_value`.
class InitialValueRewriter {
 public:
  InitialValueRewriter(Graph& graph, std::string scope, Site site)
      : graph_(graph), scope_(std::move(scope)), site_(site) {
    for (const char* key : {GraphKeys::GLOBAL_VARIABLES, GraphKeys::LOCAL_VARIABLES}) {
      for (const CollectionItem& item : graph.collections().all(key)) {
        const auto* variable = std::any_cast<Variable>(&item.value);
        if (variable != nullptr) variables_.try_emplace(&variable->op().node(), *variable);
      }
    }
  }

  Tensor value(const Tensor& tensor) {
    std::vector<Node*> open{&tensor.node()};  // a stack: a node is made after its inputs
    while (!open.empty()) {
      Node* node = open.back();
      const std::size_t size = open.size();
      if (!made_.contains(node) && !is_end(node)) {
        for (auto input = node->inputs.rbegin(); input != node->inputs.rend(); ++input) {
          if (!made_.contains(&input->node())) open.push_back(&input->node());
        }
      }
      if (open.size() > size) continue;
      open.pop_back();
      if (!made_.contains(node)) made_.emplace(node, replaced(node));
    }
    return copy_of(tensor);
  }

 private:
  /// Returns whether the inputs of a node are not to be replaced.
  bool is_end(const Node* node) const {
    return node->op->name == kIsInitialized || variables_.contains(node);
  }

  Tensor copy_of(const Tensor& tensor) const {
    return made_.at(&tensor.node()).output(static_cast<std::size_t>(tensor.index()));
  }

  Operation replaced(Node* node) {
    if (node->op->name == kIsInitialized) return Operation(node);
    const auto variable = variables_.find(node);
    if (variable != variables_.end()) return variable->second.initialized_value(site_).op();
    std::vector<Tensor> inputs;
    for (const Tensor& input : node->inputs) inputs.push_back(copy_of(input));
    if (inputs == node->inputs) return Operation(node);
    // What stands for the storage of a variable is a value.
    const bool of_storage = node->op->name == "RefSwitch";
    const Operation copy = graph_.add({.op = of_storage ? "Switch" : node->op->name,
                                       .name = node->name + "_" + scope_,
                                       .inputs = inputs,
                                       .attrs = node->attrs,
                                       .site = site_});
    // Copy the colocation too, which is one of the node's attributes in TensorFlow.
    if (graph_.scopes().colocation.empty()) {
      copy.node().colocation_groups = node->colocation_groups;
    }
    return copy;
  }

  Graph& graph_;
  std::string scope_;
  Site site_;
  std::unordered_map<const Node*, Variable> variables_;
  std::unordered_map<const Node*, Operation> made_;
};

}  // namespace

static void register_initialization_ops(OpRegistry& registry) {
  registry.add({.name = kIsInitialized,
                .inputs = {"ref: Ref(dtype)"},
                .outputs = {"is_initialized: bool"},
                .attrs = attributes<VariableName>(),
                .shape =
                    [](InferenceContext& context) {
                      if (!context.is_ref(0)) {
                        context.fail_type(
                            "Input 'ref' of the op requires a variable (l-value) input");
                      }
                      context.add_output(DType::bool_, Shape{});
                    },
                .gradient = NoGradient{"the result has dtype bool"},
                .maybe_uninitialized = {0},
                .name_only_inputs = {0}});
}

static void register_initialization_kernels(KernelTable& table) {
  table.add(
      {.op = kIsInitialized, .label = "look", .accepts = {}, .prepare = is_initialized_kernel});
}

OpFamily initialization_family() {
  return {.ops = register_initialization_ops, .kernels = register_initialization_kernels};
}

Tensor is_variable_initialized(const Variable& variable, IsVariableInitializedOptions options,
                               Site site) {
  return is_initialized(variable.ref(), options.name, site);
}

Tensor Variable::initialized_value(Site site) const {
  const InitScope outside(graph());
  const Tensor initialized = is_variable_initialized(*this, {}, site);
  return cond(
      initialized, [&] { return read_value(site); }, [&] { return initial_value(); }, {}, site);
}

Tensor report_uninitialized_variables(const std::optional<std::vector<Variable>>& var_list,
                                      ReportUninitializedVariablesOptions options, Site site) {
  std::vector<Storage> watched = storages(var_list_or_default(var_list));
  if (!var_list && watched.empty()) watched = all_storages();
  Graph& graph = get_default_graph();
  const NameScope scope(graph, options.name, site);
  std::vector<Tensor> initialized;
  std::vector<Nested> names;
  for (const Storage& storage : watched) {
    initialized.push_back(is_initialized(storage.ref, "", site));
    names.emplace_back(storage.ref.op().name());
  }
  const DeviceScope reported_on = device("/cpu:0", site);
  if (watched.empty()) return constant(Array(DType::string, Shape{0}), {}, site);
  const Tensor missing = logical_not(stack(initialized, {}, site), {}, site);
  return boolean_mask(constant(Nested(std::move(names)), {}, site), missing, {}, site);
}

std::optional<Tensor> assert_variables_initialized(
    const std::optional<std::vector<Variable>>& var_list, Site site) {
  std::vector<Storage> watched = storages(var_list_or_default(var_list));
  if (watched.empty()) watched = all_storages();
  std::vector<Tensor> ranks;
  for (const Storage& storage : watched) {
    const ColocationScope beside(storage.ref.graph(), &storage.ref.node(), false);
    ranks.push_back(runtime_rank(storage.value, {}, site));
  }
  if (ranks.empty()) return std::nullopt;
  if (ranks.size() == 1) return ranks[0];
  return stack(ranks, {}, site);
}

std::vector<Variable> all_variables() { return global_variables(); }

Operation initialize_variables(const std::vector<Variable>& variables, std::string name,
                               Site site) {
  return variables_initializer(variables, std::move(name), site);
}

Operation initialize_all_variables(Site site) { return global_variables_initializer(site); }

Operation initialize_local_variables(Site site) { return local_variables_initializer(site); }

Tensor guarded_initial_value(const Tensor& initial_value, const std::string& scope, Site site) {
  if (!needs_guard(initial_value)) return initial_value;
  return InitialValueRewriter(initial_value.graph(), scope, site).value(initial_value);
}

}  // namespace towerflow

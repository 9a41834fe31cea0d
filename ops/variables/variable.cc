#include "ops/variables/variable.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "ops/array/view.h"
#include "ops/control/group.h"
#include "ops/variables/assign.h"
#include "ops/variables/families.h"

namespace towerflow {
namespace {

struct VariableAttrs {
  DType dtype = DType::float32;
  Shape shape;
  bool operator==(const VariableAttrs&) const = default;
};

std::vector<Variable> listed(const char* key, const std::optional<std::string>& scope) {
  return get_collection<Variable>(key, scope);
}

/// Colocates the nodes made while it lives with a node that does not exist yet.
class FutureColocation {
 public:
  FutureColocation(Graph& graph, const std::string& name)
      : place_(graph.scopes().future_variable), before_(std::exchange(place_, name)) {}
  ~FutureColocation() { place_ = before_; }
  FutureColocation(const FutureColocation&) = delete;
  FutureColocation& operator=(const FutureColocation&) = delete;

 private:
  std::optional<std::string>& place_;
  std::optional<std::string> before_;
};

/// The storage node; device and colocation come from the open scopes.
Tensor storage(Graph& graph, const std::string& scope, DType dtype, const Shape& shape, Site site) {
  return graph
      .add({.op = "VariableV2",
            .name = scope.empty() ? "VariableV2" : scope,
            .attrs = VariableAttrs{dtype, shape},
            .site = site})
      .output(0);
}

}  // namespace

void register_storage_ops(OpRegistry& registry) {
  registry.add({.name = "VariableV2",
                .shape =
                    [](InferenceContext& context) {
                      const auto& attrs = context.attrs<VariableAttrs>();
                      context.add_output(attrs.dtype, attrs.shape, true);
                    },
                .gradient = NoGradient{"a variable is where a path ends"},
                .effect = Effect::variable});
}

Variable make_variable(const Initializer& initial, const Shape* shape, DType dtype,
                       const VariableOptions& options, Site site) {
  Graph& graph = get_default_graph();
  std::vector<std::string> collections =
      options.collections.value_or(std::vector<std::string>{GraphKeys::GLOBAL_VARIABLES});
  const bool listed_already = std::find(collections.begin(), collections.end(),
                                        GraphKeys::TRAINABLE_VARIABLES) != collections.end();
  if (options.trainable && !listed_already) {
    collections.push_back(GraphKeys::TRAINABLE_VARIABLES);
  }
  auto record = std::make_shared<VariableRecord>();
  record->trainable = options.trainable;
  record->site = site;
  {
    // A variable is made once, before everything: open control dependencies are not for it.
    const ControlDependencies outside(graph, std::nullopt);
    const UnhiddenDevices devices(graph);
    // get_variable("") makes its nodes at the root, under the names of their ops.
    const bool unnamed = options.name.empty() && shape != nullptr;
    const NameScope scope(graph,
                          unnamed                ? ""
                          : options.name.empty() ? "Variable"
                                                 : options.name,
                          site);
    const std::string node_name = scope.name().substr(0, scope.name().rfind('/'));
    std::optional<FutureColocation> beside;
    if (initial.is_function()) {
      beside.emplace(graph, node_name);
      const NameScope inner(graph, "Initializer", site);
      const DeviceScope anywhere(graph, std::monostate{});
      record->initial_value = initial.function()(*shape, dtype, site);
    } else {
      record->initial_value =
          convert_operand(graph, initial.value(), "initial_value", options.dtype);
    }
    const Shape known = options.validate_shape ? record->initial_value.shape() : Shape::unknown();
    record->ref = storage(graph, scope.name(), record->initial_value.dtype(), known, site);
    if (options.validate_shape && !known.fully_known()) {
      throw ValueError(fmt::format("initial_value must have a shape specified: {} has shape {}",
                                   record->initial_value.name(), known.text()),
                       {.site = site,
                        .node = node_name,
                        .hint = "set_shape fixes it, validate_shape = false leaves it open"});
    }
    record->initializer =
        assign_ref(record->ref, record->initial_value,
                   {.validate_shape = options.validate_shape, .name = "Assign"}, site)
            .op();
    if (!options.caching_device.empty()) {
      const DeviceScope cache(graph, DeviceSpec::parse(options.caching_device, site));
      record->snapshot = identity(record->ref, {.name = "read"}, site);
    } else {
      const ColocationScope with_ref(graph, &record->ref.node(), false);
      record->snapshot = identity(record->ref, {.name = "read"}, site);
    }
  }
  Variable variable;
  variable.record_ = std::move(record);
  // A collection that is named twice lists the variable once.
  for (auto key = collections.begin(); key != collections.end(); ++key) {
    if (std::find(collections.begin(), key, *key) != key) continue;
    graph.collections().add(*key, CollectionItem::of(variable));
  }
  return variable;
}

Variable::Variable(const Operand& initial_value, VariableOptions options, Site site)
    : Variable(make_variable(Initializer(initial_value), nullptr,
                             options.dtype.value_or(DType::float32), options, site)) {}

const VariableRecord& Variable::record() const {
  if (record_ == nullptr) {
    throw ValueError("a Variable was used before it was assigned",
                     {.hint = "tf::get_variable or the constructor with a value makes one"});
  }
  return *record_;
}

std::string Variable::name() const { return ref().name(); }
DType Variable::dtype() const { return ref().dtype(); }
const Shape& Variable::shape() const { return ref().shape(); }
const std::string& Variable::device() const { return ref().device(); }
Graph& Variable::graph() const { return ref().graph(); }
Operation Variable::op() const { return ref().op(); }
bool Variable::trainable() const { return record().trainable; }
Site Variable::site() const { return record().site; }
Tensor Variable::ref() const { return record().ref; }
Tensor Variable::value() const { return record().snapshot; }
Operation Variable::initializer() const { return record().initializer; }
Tensor Variable::initial_value() const { return record().initial_value; }

Tensor Variable::read_value(Site site) const { return identity(ref(), {.name = "read"}, site); }

std::vector<Variable> global_variables(const std::optional<std::string>& scope) {
  return listed(GraphKeys::GLOBAL_VARIABLES, scope);
}
std::vector<Variable> local_variables(const std::optional<std::string>& scope) {
  return listed(GraphKeys::LOCAL_VARIABLES, scope);
}
std::vector<Variable> trainable_variables(const std::optional<std::string>& scope) {
  return listed(GraphKeys::TRAINABLE_VARIABLES, scope);
}
std::vector<Variable> model_variables(const std::optional<std::string>& scope) {
  return listed(GraphKeys::MODEL_VARIABLES, scope);
}
std::vector<Variable> moving_average_variables(const std::optional<std::string>& scope) {
  return listed(GraphKeys::MOVING_AVERAGE_VARIABLES, scope);
}

Operation variables_initializer(const std::vector<Variable>& variables, std::string name,
                                Site site) {
  std::vector<Operation> initializers;
  for (const Variable& variable : variables) initializers.push_back(variable.initializer());
  return group(initializers, {.name = std::move(name)}, site);
}

Operation global_variables_initializer(Site site) {
  return variables_initializer(global_variables(), "init", site);
}

Operation local_variables_initializer(Site site) {
  return variables_initializer(local_variables(), "init", site);
}

}  // namespace towerflow

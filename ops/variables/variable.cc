#include "ops/variables/variable.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "ops/array/concat.h"
#include "ops/array/view.h"
#include "ops/control/group.h"
#include "ops/variables/assign.h"
#include "ops/variables/families.h"
#include "ops/variables/initialization.h"

namespace towerflow {
namespace {

struct VariableAttrs {
  DType dtype = DType::float32;
  Shape shape;
  static constexpr auto fields = std::tuple{attr::required("dtype", &VariableAttrs::dtype),
                                            attr::required("shape", &VariableAttrs::shape)};
};

Collected<Variable> listed(const char* key, const std::optional<std::string>& scope) {
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

/// The value of all parts; independent of open control dependencies, as a variable's read is.
Tensor put_together(const PartitionedParts& whole, Site site) {
  Graph& graph = whole.variables[0].graph();
  const ControlDependencies outside(graph, std::nullopt);
  Tensor value = whole.variables[0].value();
  if (whole.variables.size() > 1) {
    const auto axis = std::find_if(whole.partitions.begin(), whole.partitions.end(),
                                   [](int parts) { return parts > 1; }) -
                      whole.partitions.begin();
    const NameScope scope(graph, whole.name + "/ConcatPartitions/", site);
    value = concat(std::vector<Tensor>(whole.variables.begin(), whole.variables.end()),
                   static_cast<int>(axis), {}, site);
  }
  const NameScope root(graph, std::nullopt, site);
  return identity(value, {.name = whole.name}, site);
}

}  // namespace

void register_storage_ops(OpRegistry& registry) {
  registry.add(
      {.name = "VariableV2",
       .outputs = {"ref: Ref(dtype)"},
       .attrs = attributes<VariableAttrs>().fixed("container", "").fixed("shared_name", ""),
       .shape =
           [](InferenceContext& context) {
             const auto& attrs = context.attrs<VariableAttrs>();
             context.add_output(attrs.dtype, attrs.shape, true);
           },
       .gradient = NoGradient{"a variable is where a path ends"},
       .effect = Effect::variable});
}

Tensor Initializer::make(const Shape* shape, DType dtype, const PartitionInfo* partition,
                         Site site) const {
  if (make_value_) {
    if (shape == nullptr) return make_value_();
    throw TypeError("The initializer takes no shape, but a shape was given.",
                    {.site = site, .hint = "leave the shape out: the value has one"});
  }
  return function_(*shape, dtype, partition, site);
}

Variable make_variable(const Initializer& initial, const VariableRequest& request,
                       const VariableOptions& options, Site site) {
  if (options.use_resource.value_or(false)) {
    throw NotImplementedError("Resource variables are not supported.",
                              {.site = site,
                               .node = options.name,
                               .hint = "leave use_resource out: reads of a variable are ordered "
                                       "with its writes anyway"});
  }
  Graph& graph = get_default_graph();
  std::vector<std::string> collections =
      options.collections.value_or(std::vector<std::string>{GraphKeys::GLOBAL_VARIABLES});
  const bool listed_already = std::find(collections.begin(), collections.end(),
                                        GraphKeys::TRAINABLE_VARIABLES) != collections.end();
  auto record = std::make_shared<VariableRecord>();
  record->trainable =
      options.trainable.value_or(options.synchronization != VariableSynchronization::ON_READ);
  record->constraint = options.constraint;
  record->save_slice_info = request.save_slice_info;
  record->site = site;
  if (record->trainable && !listed_already) {
    collections.push_back(GraphKeys::TRAINABLE_VARIABLES);
  }
  {
    // A variable is made once, before everything: open control dependencies are not for it.
    const InitScope outside(graph);
    // get_variable("") makes its nodes at the root, under the names of their ops.
    const bool unnamed = options.name.empty() && !request.named;
    const NameScope scope(graph, unnamed ? "Variable" : options.name, site);
    const std::string node_name = scope.name().substr(0, scope.name().rfind('/'));
    std::optional<FutureColocation> beside;
    if (initial.is_value()) {
      record->initial_value =
          convert_operand(graph, initial.value().at(site), "initial_value", options.dtype);
    } else {
      beside.emplace(graph, node_name);
      const NameScope inner(graph, "Initializer", site);
      const DeviceScope anywhere(graph, std::monostate{});
      const Tensor made = initial.make(request.shape, request.dtype, request.partition, site);
      record->initial_value =
          convert_operand(graph, Operand(made, site), "initial_value",
                          request.shape != nullptr ? request.dtype : options.dtype);
    }
    const Shape known = options.shape            ? *options.shape
                        : options.validate_shape ? record->initial_value.shape()
                                                 : Shape::unknown();
    record->ref = storage(graph, scope.name(), record->initial_value.dtype(), known, site);
    beside.reset();
    if (options.validate_shape && !record->initial_value.shape().fully_known()) {
      throw ValueError(fmt::format("initial_value must have a shape specified: {}",
                                   record->initial_value.name()),
                       {.site = site,
                        .node = record->ref.op().name(),
                        .hint = "set_shape it, or pass {.validate_shape = false}"});
    }
    record->initializer =
        assign_ref(record->ref, guarded_initial_value(record->initial_value, scope.name(), site),
                   {.validate_shape = options.validate_shape, .name = "Assign"}, site)
            .op();
    if (options.caching_device) {
      const DeviceScope cache(graph, device_level(*options.caching_device, site), site);
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

Variable variable_of(VariableRecord record) {
  Variable variable;
  variable.record_ = std::make_shared<const VariableRecord>(std::move(record));
  return variable;
}

Variable partitioned_variable(PartitionedParts parts, Site site) {
  auto record = std::make_shared<VariableRecord>();
  record->trainable = parts.variables.at(0).trainable();
  record->site = site;
  record->parts = std::move(parts);
  Variable variable;
  variable.record_ = std::move(record);
  return variable;
}

Operand::Operand(const Variable& variable, Site site)
    : Operand(Held(), static_cast<Tensor>(variable), site) {
  is_variable_ = true;
}

Variable::Variable(const Operand& initial_value, VariableOptions options, Site site)
    : Variable(make_variable(Initializer(initial_value), {}, options, site)) {}

Variable::Variable(InitialValueFunction initial_value, VariableOptions options, Site site)
    : Variable(make_variable(Initializer(std::move(initial_value)), {}, options, site)) {}

const VariableRecord& Variable::record() const {
  if (record_ == nullptr) {
    throw ValueError("a Variable was used before it was assigned",
                     {.hint = "tf::get_variable or the constructor with a value makes one"});
  }
  return *record_;
}

std::string Variable::name() const { return partitioned() ? record().parts->name : ref().name(); }
DType Variable::dtype() const { return partitioned() ? parts()[0].dtype() : ref().dtype(); }
const Shape& Variable::shape() const {
  return partitioned() ? record().parts->shape : ref().shape();
}
const std::string& Variable::device() const { return ref().device(); }
Graph& Variable::graph() const { return partitioned() ? parts()[0].graph() : ref().graph(); }
Operation Variable::op() const { return ref().op(); }
bool Variable::trainable() const { return record().trainable; }
Site Variable::site() const { return record().site; }
Operation Variable::initializer() const { return whole().initializer; }
Tensor Variable::initial_value() const { return whole().initial_value; }
Tensor Variable::ref() const { return whole().ref; }
const Constraint& Variable::constraint() const { return record().constraint; }
bool Variable::partitioned() const { return record().parts.has_value(); }

Tensor Variable::value() const {
  return partitioned() ? put_together(*record().parts, site()) : record().snapshot;
}

const std::vector<Variable>& Variable::parts() const {
  static const std::vector<Variable> none;
  return partitioned() ? record().parts->variables : none;
}

const std::vector<int>& Variable::partitions() const {
  static const std::vector<int> none;
  return partitioned() ? record().parts->partitions : none;
}

const std::optional<SaveSliceInfo>& Variable::save_slice_info() const {
  return record().save_slice_info;
}

const VariableRecord& Variable::whole() const {
  if (partitioned()) {
    throw NotImplementedError(
        "PartitionedVariable doesn't support being used as a reference.",
        {.node = record().parts->name, .hint = "use its parts(), each of which is a variable"});
  }
  return record();
}

Tensor Variable::read_value(Site site) const {
  return partitioned() ? put_together(*record().parts, site)
                       : identity(ref(), {.name = "read"}, site);
}

Collected<Variable> global_variables(const std::optional<std::string>& scope) {
  return listed(GraphKeys::GLOBAL_VARIABLES, scope);
}
Collected<Variable> local_variables(const std::optional<std::string>& scope) {
  return listed(GraphKeys::LOCAL_VARIABLES, scope);
}
Collected<Variable> trainable_variables(const std::optional<std::string>& scope) {
  return listed(GraphKeys::TRAINABLE_VARIABLES, scope);
}
Collected<Variable> model_variables(const std::optional<std::string>& scope) {
  return listed(GraphKeys::MODEL_VARIABLES, scope);
}
Collected<Variable> moving_average_variables(const std::optional<std::string>& scope) {
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

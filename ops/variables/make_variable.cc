// Makes the nodes of a variable: storage, initial value, Assign and read.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/graph/capture.h"
#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "core/graph/variable_attrs.h"
#include "ops/array/view.h"
#include "ops/family.h"
#include "ops/variables/assign.h"
#include "ops/variables/initialization.h"
#include "ops/variables/variable.h"

namespace towerflow {
namespace {

/// Colocates the nodes made during its lifetime with a node that does not exist yet.
class FutureColocation {
 public:
  FutureColocation(Graph& graph, const std::string& name)
      : place_(graph.scopes().pending_variable), before_(std::exchange(place_, name)) {}
  ~FutureColocation() { place_ = before_; }
  FutureColocation(const FutureColocation&) = delete;
  FutureColocation& operator=(const FutureColocation&) = delete;

 private:
  std::optional<std::string>& place_;
  std::optional<std::string> before_;
};

/// Adds the storage node; device and colocation come from the open scopes.
Tensor storage(Graph& graph, const std::string& scope, VariableAttrs attrs, Site site) {
  return graph
      .add({.op = "VariableV2",
            .name = scope.empty() ? "VariableV2" : scope,
            .attrs = std::move(attrs),
            .site = site})
      .output(0);
}

/// Returns where a variable is stored; nullopt if the node is not a variable.
std::optional<VariableHome> variable_home(const Node& node) {
  const auto* attrs = node.attrs.get_if<VariableAttrs>();
  return attrs == nullptr ? std::nullopt : std::optional(attrs->home);
}

}  // namespace

static void register_storage_ops(OpRegistry& registry) {
  registry.add(
      {.name = "VariableV2",
       .outputs = {"ref: Ref(dtype)"},
       .attrs = attributes<VariableAttrs>().fixed("container", "").fixed("shared_name", ""),
       .shape =
           [](InferenceContext& context) {
             const auto& attrs = context.attrs<VariableAttrs>();
             context.add_output(attrs.dtype, attrs.shape, true);
           },
       .gradient = NoGradient{"a variable has no inputs"},
       .effect = Effect::variable});
}

OpFamily make_variable_family() { return {.ops = register_storage_ops}; }

Tensor Initializer::make(const Shape* shape, DType dtype, const PartitionInfo* partition,
                         Site site) const {
  if (make_value_) {
    if (shape == nullptr) return make_value_();
    throw TypeError("The initializer takes no shape, but a shape was given.",
                    {.site = site, .hint = "leave the shape out: the value has one"});
  }
  return function_(*shape, dtype, partition, site);
}

std::optional<VariableHome> colocated_home(Graph& graph) {
  const auto& beside = graph.scopes().colocation;
  for (auto node = beside.rbegin(); node != beside.rend(); ++node) {
    if (const auto home = variable_home(**node)) return home;
    for (const std::string& group : (*node)->colocation_groups) {
      const Node* other = graph.find_published(group.substr(group.find('@') + 1));
      const auto home = other == nullptr ? std::nullopt : variable_home(*other);
      if (home) return home;
    }
  }
  return std::nullopt;
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
  if (CaptureScope::of(graph) != nullptr) {
    throw ValueError("A function of a dataset cannot make a variable.",
                     {.site = site,
                      .node = options.name,
                      .hint = "make it before, and use its value in the function"});
  }
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
    // A variable is made once, before all else: open control dependencies do not apply to it.
    const InitScope outside(graph);
    // get_variable("") makes its nodes at the root, under the names of their ops.
    const bool unnamed = options.name.empty() && !request.named;
    const NameScope scope(graph, unnamed ? "Variable" : options.name, site);
    const std::string node_name = scope.name().substr(0, scope.name().rfind('/'));
    std::optional<FutureColocation> beside;
    if (initial.is_value()) {
      record->initial_value =
          convert_operand(graph, initial.value().at(site), "initial_value", options.dtype);
      if (record->initial_value.node().context != nullptr) {
        throw ValueError(
            fmt::format("Initializer for variable {} is from inside a control-flow construct, such "
                        "as a loop or conditional.",
                        scope.name()),
            {.site = site,
             .node = record->initial_value.op().name(),
             .hint = "pass a function that makes the initial value"});
      }
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
    const VariableHome home =
        options.home ? *options.home : colocated_home(graph).value_or(VariableHome::host);
    record->ref = storage(graph, scope.name(), {record->initial_value.dtype(), known, home}, site);
    beside.reset();
    if (options.validate_shape && !record->initial_value.shape().fully_known()) {
      throw ValueError(fmt::format("initial_value must have a shape specified: {}",
                                   record->initial_value.name()),
                       {.site = site,
                        .node = record->ref.op().name(),
                        .hint = "call set_shape on it, or pass {.validate_shape = false}"});
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
  // A collection that is listed twice gets the variable once.
  for (auto key = collections.begin(); key != collections.end(); ++key) {
    if (std::find(collections.begin(), key, *key) != key) continue;
    graph.collections().add(*key, CollectionItem::of(variable));
  }
  return variable;
}

Variable::Variable(const Operand& initial_value, VariableOptions options, Site site)
    : Variable(make_variable(Initializer(initial_value), {}, options, site)) {}

Variable::Variable(InitialValueFunction initial_value, VariableOptions options, Site site)
    : Variable(make_variable(Initializer(std::move(initial_value)), {}, options, site)) {}

}  // namespace towerflow

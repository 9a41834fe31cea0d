#include <fmt/format.h>

#include "core/graph/nearest.h"
#include "core/graph/scopes.h"
#include "ops/variables/initializers.h"
#include "ops/variables/scaling_initializers.h"
#include "ops/variables/variable_store.h"

namespace towerflow {
namespace {

/// Returns the names of existing variables that are nearest to `name`, best first; if there are
/// none, one with the same last part.
std::vector<std::string> nearest_variables(const std::string& name,
                                           const std::map<std::string, Variable>& variables) {
  std::vector<std::string> names, same_leaf;
  const std::string leaf = name.substr(name.rfind('/') + 1);
  for (const auto& [known, variable] : variables) {
    names.push_back(known);
    if (known.substr(known.rfind('/') + 1) == leaf) same_leaf.push_back(known);
  }
  auto nearest = nearest_names(name, names);
  if (nearest.empty() && !same_leaf.empty()) nearest.push_back(same_leaf[0]);
  return nearest;
}

/// Returns a hint about a variable that reuse did not find.
std::string missing_hint(const std::string& name, const OpenScopes& open,
                         const std::map<std::string, Variable>& variables) {
  std::string hint = fmt::format("reuse looks for exactly '{}' (open variable scope: '{}'", name,
                                 open.variable_scope);
  if (!open.name_scope.empty() && open.name_scope != open.variable_scope) {
    hint += fmt::format("; name scope '{}' does not apply to variables", open.name_scope);
  }
  if (open.reuse.known()) hint += "; reuse since " + open.reuse.text();
  hint += ")";
  if (open.renamed) {
    hint += fmt::format(
        "; default_name '{}' was made unique: '{}' (opened at {}); to find the "
        "variables of '{}' write tf::variable_scope(\"{}\")",
        open.renamed->asked, open.renamed->made, open.renamed->site.text(), open.renamed->asked,
        open.renamed->asked);
  }
  if (const auto nearest = nearest_variables(name, variables); !nearest.empty()) {
    hint += fmt::format("; nearest existing: '{}', created at {}", fmt::join(nearest, "', '"),
                        variables.at(nearest[0]).site().text());
  }
  return hint + "; to share variables open the same variable scope name both times";
}

Initializer default_initializer(const std::string& name, DType dtype, Site site) {
  if (is_floating(dtype)) return glorot_uniform_initializer();
  if (is_integer(dtype) || dtype == DType::bool_ || dtype == DType::string) {
    return zeros_initializer();
  }
  throw ValueError(
      fmt::format("An initializer for variable {} of {} is required", name, dtype_name(dtype)),
      get_variable_detail(name, site, "pass {.initializer = ...}"));
}

/// Lists the regularizer's loss. TensorFlow first calls the regularizer to see whether there is a
/// loss, then builds the loss that it lists, and builds it again each time that is used as an
/// operand.
void list_loss(const Variable& variable, const std::string& name, const Regularizer& regularizer,
               Site site) {
  if (!regularizer(variable)) return;
  const auto build = [=] {
    Graph& graph = variable.graph();
    const ColocationScope beside(graph, &variable.op().node(), false);
    const NameScope scope(graph, name + "/Regularizer/", site);
    return *regularizer(variable);
  };
  const Tensor listed = build();
  Graph& graph = variable.graph();
  graph.collections().add(GraphKeys::REGULARIZATION_LOSSES, CollectionItem::of(listed));
  graph.extension<RebuiltTensors>().builders.emplace(listed.name(), build);
}

}  // namespace

Variable VariableStore::reuse_existing(const Variable& variable, const std::string& name,
                                       const std::optional<Shape>& shape,
                                       const GetVariableOptions& options, Site site) const {
  const std::string first = fmt::format("first created at {}", variable.site().text());
  const char* what = variable.partitioned() ? "reuse partitioned" : "share";
  if (shape && !shape->compatible(variable.shape())) {
    throw ValueError(fmt::format("Trying to {} variable {}, but specified shape {} and found "
                                 "shape {}.",
                                 what, name, shape->text(), variable.shape().text()),
                     get_variable_detail(name, site, first));
  }
  if (options.dtype && *options.dtype != variable.dtype()) {
    throw ValueError(
        fmt::format("Trying to {} variable {}, but specified dtype {} and found dtype {}.", what,
                    name, dtype_name(*options.dtype), dtype_name(variable.dtype())),
        get_variable_detail(name, site, first));
  }
  if (variable.partitioned()) {
    for (const Variable& part : variable.parts()) {
      part.graph().record_reuse(part.op().node(), site);
    }
  } else {
    variable.graph().record_reuse(variable.op().node(), site);
  }
  return variable;
}

Variable VariableStore::get(const std::string& name, const std::optional<Shape>& shape,
                            const GetVariableOptions& options, const OpenScopes& open, Site site) {
  const bool scalar = shape && shape->has_rank() && shape->rank() == 0;
  const bool cut = options.partitioner && !scalar;
  const bool cut_before = options.reuse == Reuse(true) && partitioned_.contains(name);
  if (cut || (cut_before && !options.partitioner)) {
    return partitioned(name, shape, options, open, site);
  }
  if (variables_.contains(name + "/part_0")) {
    throw ValueError(fmt::format("No partitioner was provided, but a partitioned version of the "
                                 "variable was found: {}/part_0. Perhaps a variable of the same "
                                 "name was already created with partitioning?",
                                 name),
                     get_variable_detail(name, site, "pass the same partitioner, or reuse"));
  }
  return single(name, shape, options, nullptr, open, site);
}

Variable VariableStore::single(const std::string& name, const std::optional<Shape>& shape,
                               const GetVariableOptions& options, const Part* part,
                               const OpenScopes& open, Site site) {
  const bool from_value = options.initializer && options.initializer->is_value();
  if (shape && from_value) {
    throw ValueError("If initializer is a constant, do not specify shape.",
                     get_variable_detail(name, site, "leave the shape out: the value has one"));
  }
  const auto existing = variables_.find(name);
  if (existing != variables_.end()) {
    if (options.reuse.mode() == Reuse::Mode::no) {
      throw ValueError(
          fmt::format("Variable {} already exists, disallowed. Did you mean to set "
                      "reuse=True or reuse=tf.AUTO_REUSE in VarScope? Originally "
                      "defined at {}",
                      name, existing->second.site().text()),
          get_variable_detail(name, site,
                              "call reuse_variables() on the scope before building the next "
                              "tower, or open it with {.reuse = true}"));
    }
    return reuse_existing(existing->second, name, shape, options, site);
  }
  if (options.reuse.mode() == Reuse::Mode::yes) {
    throw ValueError(fmt::format("Variable {} does not exist, or was not created with "
                                 "tf.get_variable(). Did you mean to set reuse=tf.AUTO_REUSE in "
                                 "VarScope?",
                                 name),
                     get_variable_detail(name, site, missing_hint(name, open, variables_)));
  }
  if (!options.initializer && !shape) {
    throw ValueError(
        fmt::format("Variable {} did not get an initializer, so its `shape` argument "
                    "must be specified.",
                    name),
        get_variable_detail(name, site, "pass a shape, or a value as the initializer"));
  }
  const DType dtype = options.dtype.value_or(DType::float32);
  const Initializer initializer =
      options.initializer ? *options.initializer : default_initializer(name, dtype, site);
  if (initializer.takes_shape() && !(shape && shape->fully_known())) {
    throw ValueError(
        fmt::format("The initializer passed is not valid. It needs a `shape` that is fully "
                    "defined, but that of {} is {}.",
                    name, shape.value_or(Shape::unknown()).text()),
        get_variable_detail(name, site, "give every dimension a size"));
  }
  VariableRequest request{.dtype = dtype, .shape = shape ? &*shape : nullptr, .named = true};
  if (part != nullptr) {
    request.partition = &part->info;
    request.save_slice_info = part->slice;
  }
  const Variable made = make_variable(initializer, request,
                                      {.trainable = options.trainable,
                                       .collections = options.collections,
                                       .validate_shape = options.validate_shape,
                                       .caching_device = options.caching_device,
                                       .name = name,
                                       .constraint = options.constraint,
                                       .use_resource = options.use_resource,
                                       .synchronization = options.synchronization,
                                       .aggregation = options.aggregation,
                                       .shape = shape,
                                       .home = options.home},
                                      site);
  variables_.emplace(name, made);
  if (options.regularizer) list_loss(made, name, options.regularizer, site);
  return made;
}

}  // namespace towerflow

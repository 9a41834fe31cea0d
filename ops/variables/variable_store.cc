#include <fmt/format.h>

#include "core/graph/nearest.h"
#include "core/graph/scopes.h"
#include "ops/variables/initializers.h"
#include "ops/variables/variable_scope.h"

namespace towerflow {
namespace {

ErrorDetail detail_of(const std::string& name, Site site, std::string hint) {
  return {.site = site, .node = name, .op = "get_variable", .hint = std::move(hint)};
}

/// What to do about a variable that reuse did not find.
std::string missing_hint(const std::string& name, const std::string& scope,
                         const std::map<std::string, Variable>& variables) {
  std::vector<std::string> names;
  std::string same_leaf;
  const std::string leaf = name.substr(name.rfind('/') + 1);
  for (const auto& [known, variable] : variables) {
    names.push_back(known);
    if (same_leaf.empty() && known.substr(known.rfind('/') + 1) == leaf) same_leaf = known;
  }
  std::string hint =
      fmt::format("reuse looks for exactly '{}' (open variable scope: '{}')", name, scope);
  std::string nearest = nearest_hint(name, names);
  if (nearest.empty() && !same_leaf.empty())
    nearest = fmt::format("nearest existing: '{}'", same_leaf);
  if (!nearest.empty()) hint += "; " + nearest;
  return hint + "; to share variables open the same variable scope name both times";
}

Initializer default_initializer(const std::string& name, DType dtype, Site site) {
  if (is_floating(dtype)) return glorot_uniform_initializer();
  if (is_integer(dtype) || dtype == DType::bool_ || dtype == DType::string) {
    return zeros_initializer();
  }
  throw ValueError(
      fmt::format("An initializer for variable {} of {} is required", name, dtype_name(dtype)),
      detail_of(name, site, "pass {.initializer = ...}"));
}

/// Lists the regularizer's loss. TensorFlow asks once whether there is one, builds the one that it
/// lists, and builds another each time that one becomes an operand.
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

Variable VariableStore::found(const Variable& variable, const std::string& name,
                              const std::optional<Shape>& shape, const GetVariableOptions& options,
                              Site site) const {
  const std::string first = fmt::format("first created at {}", variable.site().text());
  if (shape && !shape->compatible(variable.shape())) {
    throw ValueError(fmt::format("Trying to share variable {}, but specified shape {} and found "
                                 "shape {}.",
                                 name, shape->text(), variable.shape().text()),
                     detail_of(name, site, first));
  }
  if (options.dtype && *options.dtype != variable.dtype()) {
    throw ValueError(fmt::format("Trying to share variable {}, but specified dtype {} and found "
                                 "dtype {}.",
                                 name, dtype_name(*options.dtype), dtype_name(variable.dtype())),
                     detail_of(name, site, first));
  }
  return variable;
}

Variable VariableStore::get(const std::string& name, const std::optional<Shape>& shape,
                            const GetVariableOptions& options, const std::string& scope,
                            Site site) {
  const bool from_value = options.initializer && !options.initializer->is_function();
  if (shape && from_value) {
    throw ValueError("If initializer is a constant, do not specify shape.",
                     detail_of(name, site, "leave the shape out: the value has one"));
  }
  const auto existing = variables_.find(name);
  if (existing != variables_.end()) {
    if (options.reuse.mode() == Reuse::Mode::no) {
      throw ValueError(fmt::format("Variable {} already exists, disallowed. Did you mean to set "
                                   "reuse=True or reuse=tf.AUTO_REUSE in VarScope? Originally "
                                   "defined at {}",
                                   name, existing->second.site().text()),
                       detail_of(name, site,
                                 "call reuse_variables() on the scope before building the next "
                                 "tower, or open it with {.reuse = true}"));
    }
    return found(existing->second, name, shape, options, site);
  }
  if (options.reuse.mode() == Reuse::Mode::yes) {
    throw ValueError(fmt::format("Variable {} does not exist, or was not created with "
                                 "tf.get_variable(). Did you mean to set reuse=tf.AUTO_REUSE in "
                                 "VarScope?",
                                 name),
                     detail_of(name, site, missing_hint(name, scope, variables_)));
  }
  const Shape wanted = shape.value_or(Shape::unknown());
  if (!from_value && !wanted.fully_known()) {
    throw ValueError(fmt::format("Shape of a new variable ({}) must be fully defined, but instead "
                                 "was {}.",
                                 name, wanted.text()),
                     detail_of(name, site, "give every dimension a size"));
  }
  const DType dtype = options.dtype.value_or(DType::float32);
  const Initializer initializer =
      options.initializer ? *options.initializer : default_initializer(name, dtype, site);
  const Variable made = make_variable(initializer, &wanted, dtype,
                                      {.trainable = options.trainable.value_or(true),
                                       .collections = options.collections,
                                       .validate_shape = options.validate_shape,
                                       .caching_device = options.caching_device,
                                       .name = name},
                                      site);
  variables_.emplace(name, made);
  if (options.regularizer) list_loss(made, name, options.regularizer, site);
  return made;
}

void VariableStore::close_subscopes(const std::string& scope) {
  for (auto& [name, count] : scope_counts_) {
    if (name.starts_with(scope + "/")) count = 0;
  }
}

}  // namespace towerflow

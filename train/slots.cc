#include "train/slots.h"

#include <fmt/format.h>

namespace towerflow::train {
namespace {

bool exists(Graph& graph, const std::string& slot) {
  return graph.extension<VariableStore>().variables().contains(slot + "/");
}

/// Returns the details of the error that a strict slot is missing in a scope with reuse; a user
/// does not know the optimizer's scope.
ErrorDetail missing_slot_detail(ErrorDetail detail, const VariableScope& scope) {
  detail.hint = "a slot is a variable too, and the open variable scope creates none";
  if (scope.reuse_site().known()) {
    detail.hint += fmt::format(" (reuse since {})", scope.reuse_site().text());
  }
  detail.hint +=
      "; call minimize or apply_gradients once before reuse is turned on, or outside that scope, "
      "or call set_strict_slots(false), which creates slots in any scope";
  return detail;
}

}  // namespace

Variable create_slot(const Operation& primary, const std::string& name, const Initializer& initial,
                     const Shape& shape, DType dtype, bool colocate, SlotReuse reuse, Site site) {
  const auto scope =
      variable_scope(std::nullopt, {.default_name = primary.name() + "/" + name}, site);
  if (reuse == SlotReuse::find_or_create) scope->allow_new_variables();
  scope->set_partitioner({});  // a slot is whole, or belongs to one part of its variable
  std::optional<ColocationScope> beside;
  if (colocate) beside.emplace(primary.graph(), &primary.node(), false);
  GetVariableOptions options;
  options.initializer = initial;
  options.trainable = false;
  options.validate_shape = shape.fully_known();
  std::optional<Shape> wanted;
  if (!initial.is_value()) {  // a value has its own shape and dtype; TensorFlow passes neither
    wanted = shape;
    options.dtype = dtype;
  }
  const bool must_exist = scope->reuse() == Reuse(true);
  try {
    return get_variable("", wanted, std::move(options), site);
  } catch (const ValueError& error) {
    if (!must_exist || exists(primary.graph(), scope.name())) throw;
    throw ValueError(error.message(), missing_slot_detail(error.detail(), *scope));
  }
}

}  // namespace towerflow::train

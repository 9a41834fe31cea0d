#include "train/slots.h"

namespace towerflow::train {

Variable create_slot(const Operation& primary, const std::string& name, const Initializer& initial,
                     const Shape& shape, DType dtype, bool colocate, SlotReuse reuse, Site site) {
  const auto scope =
      variable_scope(std::nullopt, {.default_name = primary.name() + "/" + name}, site);
  if (reuse == SlotReuse::find_or_make) scope->allow_new_variables();
  std::optional<ColocationScope> beside;
  if (colocate) beside.emplace(primary.graph(), &primary.node(), false);
  GetVariableOptions options;
  options.initializer = initial;
  options.trainable = false;
  options.validate_shape = shape.fully_known();
  // A value has its own shape and dtype: TensorFlow says neither then.
  if (!initial.is_function()) return get_variable("", std::nullopt, std::move(options), site);
  options.dtype = dtype;
  return get_variable("", shape, std::move(options), site);
}

}  // namespace towerflow::train

#pragma once

#include <string>

#include "ops/variables/variable.h"
#include "ops/variables/variable_scope.h"

namespace towerflow::train {

/// How slots are created in a variable scope with reuse.
///
/// By default existing slots are used, as in TensorFlow, and missing ones are created; with
/// `strict`, a missing slot is an error, as in TensorFlow.
enum class SlotReuse { find_or_create, strict };

/// Creates or finds a non-trainable variable that belongs to `primary`, a variable or other
/// operation. It is named after both in the open variable scope: `w/Momentum`. All slots of
/// optimizers and moving averages are created here. (slot_creator)
///
/// `initial` is a function of `shape` and `dtype`, or a value with its own shape and dtype. Throws
/// ValueError if `reuse` is strict, the open scope has reuse and the slot does not exist.
Variable create_slot(const Operation& primary, const std::string& name, const Initializer& initial,
                     const Shape& shape, DType dtype, bool colocate, SlotReuse reuse, Site site);

}  // namespace towerflow::train

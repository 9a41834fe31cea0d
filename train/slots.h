#pragma once

#include <string>

#include "ops/variables/variable.h"
#include "ops/variables/variable_scope.h"

namespace towerflow::train {

/// Whether slots are made in a variable scope that reuses.
///
/// By default they are found where they exist, as in TensorFlow, and made where they do not;
/// a strict one fails there, as TensorFlow's does.
enum class SlotReuse { find_or_make, strict };

/// A variable that belongs to `primary`, a variable or another operation: called after both, in the
/// open variable scope, `w/Momentum`; not trainable. Every optimizer and moving average makes its
/// variables here. (slot_creator)
///
/// `initial` is a function of `shape` and `dtype`, or a value, which has both itself.
/// Throws ValueError where `reuse` is strict and the open scope reuses what does not exist.
Variable create_slot(const Operation& primary, const std::string& name, const Initializer& initial,
                     const Shape& shape, DType dtype, bool colocate, SlotReuse reuse, Site site);

}  // namespace towerflow::train

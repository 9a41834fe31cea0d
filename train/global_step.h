#pragma once

#include <optional>

#include "core/runtime/session.h"
#include "ops/variables/variable.h"

namespace towerflow::train {

/// Throws TypeError unless `global_step` is an integer scalar, as TensorFlow requires of a graph's
/// global step. A step counter passed to an optimizer may have any numeric dtype.
/// (tf.train.assert_global_step)
void assert_global_step(const Variable& global_step, Site site = Site::current());

/// Returns the value of the global step in a session, truncated to an integer.
/// (tf.train.global_step)
std::int64_t global_step(Session& session, const Variable& global_step);

/// Returns the global step of the default graph: the only variable in collection GLOBAL_STEP or, if
/// that is empty, the variable named "global_step"; nothing if there is none. Throws TypeError if
/// it is not an integer scalar. (tf.train.get_global_step)
std::optional<Variable> get_global_step(Site site = Site::current());

/// Creates "global_step": an int64 zero, not trainable, in GLOBAL_VARIABLES and GLOBAL_STEP. Throws
/// ValueError if there is a global step already. (tf.train.create_global_step)
Variable create_global_step(Site site = Site::current());

/// Returns the global step, creating it if needed. (tf.train.get_or_create_global_step)
Variable get_or_create_global_step(Site site = Site::current());

}  // namespace towerflow::train

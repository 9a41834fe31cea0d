#pragma once

#include <optional>

#include "core/runtime/session.h"
#include "ops/variables/variable.h"

namespace towerflow::train {

/// Throws TypeError unless the variable is an integer scalar, as TensorFlow asks of the one that
/// counts a graph's steps. What is handed to an optimizer may be of any number type.
/// (tf.train.assert_global_step)
void assert_global_step(const Variable& global_step, Site site = Site::current());

/// The value of a step count in a session; of one that is not an integer, without its fraction.
/// (tf.train.global_step)
std::int64_t global_step(Session& session, const Variable& global_step);

/// The variable that counts the steps of the default graph: the one in collection GLOBAL_STEP, else
/// the one called "global_step"; absent where there is neither. (tf.train.get_global_step)
/// Throws TypeError when it is not an integer scalar.
std::optional<Variable> get_global_step(Site site = Site::current());

/// Makes "global_step": int64, zero, not trainable, in GLOBAL_VARIABLES and GLOBAL_STEP.
/// (tf.train.create_global_step) Throws ValueError when there is one.
Variable create_global_step(Site site = Site::current());

/// The one that is there, else a new one. (tf.train.get_or_create_global_step)
Variable get_or_create_global_step(Site site = Site::current());

}  // namespace towerflow::train

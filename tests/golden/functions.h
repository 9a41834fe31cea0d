#pragma once

#include "ops/variables/variable_scope.h"
#include "tests/golden/args.h"

namespace towerflow::golden {

/// Return the function that an argument names, or none if the argument is missing. The Python side
/// has the same functions in oracle/functions.py.
Regularizer regularizer_of(const Args& args);
CustomGetter custom_getter_of(const Args& args);
/// The argument is [kind, number, axis].
Partitioner partitioner_of(const Args& args);
Constraint constraint_of(const Args& args);
DeviceFunction device_function_of(const Args& args);
/// The function that a template wraps.
using TemplateFunction = std::function<Tensor(const Tensor&)>;
TemplateFunction template_function_of(const Args& args);

}  // namespace towerflow::golden

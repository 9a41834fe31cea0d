#pragma once

#include "ops/variables/variable_scope.h"
#include "tests/golden/args.h"

namespace towerflow::golden {

/// The function arguments that both sides know by name (oracle/functions.py has the same); none
/// where the argument is missing.
Regularizer regularizer_of(const Args& args);
CustomGetter custom_getter_of(const Args& args);
/// [kind, number, axis]
Partitioner partitioner_of(const Args& args);
Constraint constraint_of(const Args& args);
DeviceFunction device_function_of(const Args& args);
/// What a template wraps.
using TemplateFunction = std::function<Tensor(const Tensor&)>;
TemplateFunction template_function_of(const Args& args);

}  // namespace towerflow::golden

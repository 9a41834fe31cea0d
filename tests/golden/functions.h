#pragma once

#include "layers/activation.h"
#include "ops/nn/window_args.h"
#include "ops/variables/variable_scope.h"
#include "tests/golden/args.h"

namespace towerflow::golden {

/// Return the function that an argument names, or none if the argument is missing. The Python side
/// has the same functions in oracle/functions.py.
Regularizer regularizer_of(const Args& args, const char* key = "regularizer");
CustomGetter custom_getter_of(const Args& args);
/// The argument is [kind, number, axis].
Partitioner partitioner_of(const Args& args);
Constraint constraint_of(const Args& args, const char* key = "constraint");
/// nullopt if the argument is missing; None is no activation.
std::optional<layers::Activation> activation_of(const Args& args, const char* key);
std::optional<Initializer> initializer_argument(const Args& args, const char* key);
/// Converts None, a bool or "AUTO_REUSE".
Reuse reuse_of(const Value& value);
/// Converts one integer or a list.
nn::Extents extents_of(const Value& value);
DeviceFunction device_function_of(const Args& args);
/// The function that a template wraps.
using TemplateFunction = std::function<Tensor(const Tensor&)>;
TemplateFunction template_function_of(const Args& args);

}  // namespace towerflow::golden

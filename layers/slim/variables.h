#pragma once

#include <map>
#include <string>

#include "layers/slim/args.h"

namespace towerflow::slim {

/// Returns a custom getter that lists variables in MODEL_VARIABLES and gives those of the names in
/// `rename` other names.
CustomGetter model_variable_getter(std::map<std::string, std::string> rename);

/// Opens the variable scope of a call: `args.scope`, or else the default name, made unique.
VariableScopeGuard open_layer_scope(const Args& args, const char* default_name, CustomGetter getter,
                                    Site site);

/// Adds a variable to the collections that the call gives for that kind of variable. Does nothing
/// for an invalid variable.
void list_variable(const Variable& variable, const char* kind, const Args& args);

/// Adds a result to the collections that the call gives, and returns it.
Tensor listed_output(const Tensor& result, const Args& args);

}  // namespace towerflow::slim

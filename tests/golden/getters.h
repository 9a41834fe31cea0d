#pragma once

#include "ops/variables/variable_scope.h"
#include "tests/golden/args.h"

namespace towerflow::golden {

/// The function arguments that both sides know by name (oracle/handlers_graph.py has the same);
/// none where the argument is missing.
Regularizer regularizer_of(const Args& args);
CustomGetter custom_getter_of(const Args& args);

}  // namespace towerflow::golden

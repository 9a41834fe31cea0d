#pragma once

#include <functional>

#include "core/graph/graph.h"
#include "tests/golden/compare.h"

namespace towerflow::golden {

/// Checks that a graph built in C++ equals that of a recorded program: all compared nodes in order
/// with device, shape and inputs, then collections and lists of variables. If the program also
/// runs, compares the part before its first initializer. Reports to doctest.
void check_graph(const Graph& graph, const Json& program);

/// Repeats the recorded program's runs, with tensors found by name, and compares the values.
void check_runs(Graph& graph, const Json& program);

/// Returns the class of the first error in a recorded program, or "".
std::string first_error(const Json& program);

}  // namespace towerflow::golden

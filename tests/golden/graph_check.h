#pragma once

#include <functional>

#include "core/graph/graph.h"
#include "tests/golden/compare.h"

namespace towerflow::golden {

/// Whether a graph that C++ built is the one that a recorded program built: every node that is
/// promised, in order, with its device, shape and inputs, then collections and listings. Of a
/// program that goes on to run itself, the part before its first initializer. Reports to doctest.
void check_graph(const Graph& graph, const Json& program);

/// Runs what the recorded program runs, by the names of its tensors, and compares the values.
void check_runs(Graph& graph, const Json& program);

/// The class of the first error in a recorded program; empty when there is none.
std::string first_error(const Json& program);

}  // namespace towerflow::golden

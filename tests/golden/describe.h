#pragma once

#include "tests/golden/args.h"

namespace towerflow::golden {

/// The class of an error that a C++ compiler raises; agrees with whatever Python raises there.
inline constexpr const char* kDoesNotCompile = "does not compile";

/// The JSON forms of README.md, "Outcomes" and "Values".
Json describe(const Value& value);
Json describe_node(const Operation& operation);
/// Dtype, shape and, if wanted, all elements.
Json describe_array(const Array& array, bool with_values);
/// What a `run` gave: one array a fetch, null for an operation.
Json describe_values(const Value& result, const Args& args);
/// Collections and listings of variables.
Json describe_final(const Graph& graph);

}  // namespace towerflow::golden

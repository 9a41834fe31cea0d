#pragma once

#include "tests/golden/args.h"

namespace towerflow::golden {

/// The error class of calls that do not compile in C++; matches any error that Python raises.
inline constexpr const char* kDoesNotCompile = "does not compile";

/// Return the JSON forms of README.md, "Outcomes" and "Values".
Json describe(const Value& value);
Json describe_node(const Operation& operation);
/// Returns dtype, shape and, if wanted, all elements.
Json describe_array(const Array& array, bool with_values);
/// Returns the result of a `run`: one array per fetch, null for an operation.
Json describe_values(const Value& result, const Args& args);
/// Returns the collections and the lists of variables.
Json describe_final(const Graph& graph);

}  // namespace towerflow::golden

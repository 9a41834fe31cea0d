#pragma once

#include <span>
#include <string>

#include "towerflow/tf.h"

// Declarations for the code that options_first.py generates.
namespace towerflow::options_first {

/// A call with options directly after some of its arguments.
struct Case {
  const char* text;
  bool compiles;
  bool should_compile;
};

/// The arguments of calls, in a new graph and folder.
struct CallArguments {
  Graph graph;
  DefaultGraphGuard guard = graph.as_default();
  Tensor x = placeholder(float32, {2, 3});
  Tensor condition = placeholder(bool_, {2, 3});
  Tensor image = placeholder(float32, {1, 2, 2, 2});
  Variable weight = get_variable("weight", {2, 3});
  std::string folder;
};

/// A call that omits parameters before its options, and the same call with all parameters.
struct Run {
  const char* text;
  void (*shorter)(const CallArguments&);
  void (*whole)(const CallArguments&);
};

/// Numbers of functions: those that are tried, and those that are not, by reason.
struct Functions {
  int tried;
  int without_options;
  int own;  ///< only the library calls them, with the site of its caller
  int of_arrays;
};

extern const Functions kFunctions;
std::span<const Case> all_calls();
/// Returns calls with lists in place of options.
std::span<const Case> all_lists();
std::span<const Run> all_runs();

/// A custom getter.
Variable renaming(const VariableGetter& getter, const std::string& name,
                  const std::optional<Shape>& shape, const GetVariableOptions& options);

}  // namespace towerflow::options_first

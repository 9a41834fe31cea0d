#pragma once

#include <span>
#include <string>

#include "towerflow/tf.h"

// What options_first.py fills in.
namespace towerflow::options_first {

/// A call with options directly after some of its arguments.
struct Case {
  const char* text;
  bool compiles;
  bool means_something;
};

/// What calls are made with, in a graph and a folder of their own.
struct Given {
  Graph graph;
  DefaultGraphGuard guard = graph.as_default();
  Tensor x = placeholder(float32, {2, 3});
  Tensor condition = placeholder(bool_, {2, 3});
  Tensor image = placeholder(float32, {1, 2, 2, 2});
  Variable weight = get_variable("weight", {2, 3});
  std::string folder;
};

/// A call that leaves parameters out before its options, and one that says all.
struct Run {
  const char* text;
  void (*shorter)(const Given&);
  void (*whole)(const Given&);
};

/// How many functions are in the matrix, and how many are not, by the reason.
struct Functions {
  int tried;
  int without_options;
  int own;  ///< the library alone calls them: they take the line of its caller
  int of_arrays;
};

extern const Functions kFunctions;
std::span<const Case> all_calls();
/// Lists in the place of options.
std::span<const Case> all_lists();
std::span<const Run> all_runs();

/// A custom getter.
Variable renaming(const VariableGetter& getter, const std::string& name,
                  const std::optional<Shape>& shape, const GetVariableOptions& options);

}  // namespace towerflow::options_first

#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/golden/value.h"

namespace towerflow::golden {

/// A difference between our outcome and TensorFlow's recorded one.
struct Disagreement {
  std::string program;
  int call = -1;     ///< index in the program; -1 for the final comparison
  std::string text;  ///< the call as JSON
  std::string expected, got;

  std::string message() const;
};

/// Compares outcomes by the rules of README.md: inside gradients and optimizers only variables
/// are compared.
class Comparison {
 public:
  /// Takes the names of optimizers and variables from the recorded program.
  explicit Comparison(const Json& program);

  /// Returns the differences in the outcome of a call.
  std::vector<Disagreement> outcome(int index, const Json& call, const Json& ours) const;
  std::vector<Disagreement> final(const Json& ours) const;
  /// Returns the nodes of an outcome that are compared, with other names replaced or removed.
  Json visible_nodes(const Json& outcome) const;
  /// Returns the first pair of compared nodes that differ, as text, or "".
  std::string first_difference(const Json& theirs, const Json& ours) const;

 private:
  /// Adds the names of gradients and optimizers of a call and of those in its functions.
  void add_names(const Json& call);
  bool is_inner(const std::string& node) const;
  Json visible_name(const std::string& name) const;
  Json visible_result(const Json& result) const;
  Json visible_node(const Json& node) const;

  const Json& program_;
  std::set<std::string> variables_;   // names of the variables that TensorFlow made
  std::set<std::string> optimizers_;  // names of optimizers and of updates
  std::set<std::string> gradients_;   // names of gradient scopes
};

/// Returns the difference of two arrays as text, or "" if they agree in the given mode.
std::string compare_arrays(const Json& expected, const Json& got, const std::string& mode);

}  // namespace towerflow::golden

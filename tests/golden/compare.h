#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/golden/value.h"

namespace towerflow::golden {

/// Where our side differs from TensorFlow's record.
struct Disagreement {
  std::string program;
  int call = -1;     ///< index in the program; -1 for what is compared at its end
  std::string text;  ///< the call as JSON
  std::string expected, got;

  std::string message() const;
};

/// Compares outcomes as README.md promises: below gradients and optimizers only variables count,
/// inside a conditional nothing does.
class Comparison {
 public:
  /// Optimizers' names and variables are taken from the program's own record.
  explicit Comparison(const Json& program);

  /// What differs in the outcome of a call, nothing where they agree.
  std::vector<Disagreement> outcome(int index, const Json& call, const Json& ours) const;
  std::vector<Disagreement> final(const Json& ours) const;
  /// The nodes of an outcome that count, with the names in them that count.
  Json visible_nodes(const Json& outcome) const;
  /// The first pair of nodes that count and differ, as text; empty when there is none.
  std::string first_difference(const Json& theirs, const Json& ours) const;

 private:
  bool is_inner(const std::string& node) const;
  Json visible_name(const std::string& name) const;
  Json visible_result(const Json& result) const;
  Json visible_node(const Json& node) const;

  const Json& program_;
  std::set<std::string> variables_;     // names of variables, as far as TensorFlow made them
  std::set<std::string> optimizers_;    // names of optimizers and of updates
  std::set<std::string> gradients_;     // names of gradient scopes
  std::set<std::string> conditionals_;  // names of tf.cond's scopes, "tower_0/cond"
};

/// Empty when the arrays agree in the way asked for, else what is wrong.
std::string compare_arrays(const Json& expected, const Json& got, const std::string& mode);

}  // namespace towerflow::golden

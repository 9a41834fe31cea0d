#pragma once

#include <string>
#include <unordered_map>

#include "core/graph/node.h"

namespace towerflow {

/// The full names of a graph: which are taken, by scopes or by nodes, and the nodes that have them.
///
/// As in TensorFlow a name is taken whatever the case of its letters, while nodes are found by
/// their exact names. One table holds both, so that a new node costs one place in memory.
class NameTable {
 public:
  /// `full` itself where it is free, else with the first free suffix `_1`, `_2`, ..; `mark` takes
  /// it.
  std::string unique(const std::string& full, bool mark);
  bool taken(const std::string& full) const;

  /// Lets a node be found; its name is not taken by that.
  void add(Node* node);
  /// The node of exactly this name; nullptr when there is none.
  Node* find(const std::string& name) const;

 private:
  struct Use {
    int count = 0;  ///< how often the name was asked for; 0 for one that is free
    Node* node = nullptr;
  };
  std::unordered_map<std::string, Use> uses_;      // keys in lower case
  std::unordered_map<std::string, Node*> others_;  // whose place in `uses_` another node has
};

}  // namespace towerflow

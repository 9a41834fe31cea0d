#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/node.h"

namespace towerflow::types {

/// The full names of a graph: which are taken, by scopes or by nodes, and the nodes that have them.
///
/// As in TensorFlow a name is taken whatever the case of its letters, while nodes are found by
/// their exact names. One table holds both, and a new name costs it one look into memory: recording
/// a graph makes little else but names.
class NameTable {
 public:
  /// `full` itself where it is free, else with the first free suffix `_1`, `_2`, ..; `mark` takes
  /// it.
  std::string unique(std::string full, bool mark);
  bool is_in_use(const std::string& full) const;

  /// Lets a node be found; its name is not taken by that.
  void add(Node* node);
  /// The node of exactly this name; nullptr when there is none.
  Node* find(const std::string& name) const;

 private:
  struct Use {
    std::string key;  ///< in lower case
    int count = 0;    ///< how often the name was asked for; 0 for one that is free
    Node* node = nullptr;
  };
  /// A place of the table, found by the hash of a key, or the next that is free.
  struct Slot {
    std::uint64_t hash = 0;
    std::size_t use = 0;  ///< its number in `uses_` from 1 on; 0 for an empty place
  };

  /// The place of a key, or the empty one where it belongs; the table is never full.
  std::size_t slot_of(const std::string& key, std::uint64_t hash) const;
  /// Returns the entry of `key`, which is copied or moved only when it is new.
  template <class Key>
  Use& find_or_insert(Key&& key);
  const Use* known(const std::string& key) const;
  void grow();

  std::vector<Slot> slots_;  // a power of two of them, at most two thirds taken
  std::deque<Use> uses_;
  std::unordered_map<std::string, Node*> others_;  // whose place in the table another node has
};

}  // namespace towerflow::types

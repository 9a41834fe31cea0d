#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/node.h"

namespace towerflow::types {

/// The full names of a graph: those in use by scopes or nodes, and the nodes by name.
///
/// As in TensorFlow, names are unique regardless of case, while nodes are found by exact name. One
/// table holds both, so that a new name costs one lookup: recording a graph is mostly making names.
class NameTable {
 public:
  /// Returns `full` if it is free, else `full` with the first free suffix `_1`, `_2`, ..; marks the
  /// result as used if `mark`.
  std::string unique(std::string full, bool mark);
  bool is_in_use(const std::string& full) const;

  /// Makes a node findable; does not mark its name as used.
  void add(Node* node);
  /// Returns the node with exactly this name, or nullptr.
  Node* find(const std::string& name) const;

 private:
  struct Use {
    std::string key;  ///< in lower case
    int count = 0;    ///< next suffix to try; 0 if the name is free
    Node* node = nullptr;
  };
  /// A slot of the hash table, which uses linear probing.
  struct Slot {
    std::uint64_t hash = 0;
    std::size_t use = 0;  ///< 1 + index in `uses_`; 0 if the slot is empty
  };

  /// Returns the slot of a key, or the empty one where it belongs; the table is never full.
  std::size_t slot_of(const std::string& key, std::uint64_t hash) const;
  /// Returns the entry of `key`, which is copied or moved only when it is new.
  template <class Key>
  Use& find_or_insert(Key&& key);
  const Use* known(const std::string& key) const;
  void grow();

  std::vector<Slot> slots_;  // a power of two of them, at most two thirds used
  std::deque<Use> uses_;
  // Nodes whose names differ from another node's only in case.
  std::unordered_map<std::string, Node*> others_;
};

}  // namespace towerflow::types

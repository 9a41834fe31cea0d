#pragma once

#include <compare>
#include <set>
#include <utility>
#include <vector>

namespace towerflow {

struct PlanGraph;
struct PlanNode;

/// One output of one node of a PlanGraph.
struct ValueId {
  int node = -1;
  int output = 0;
  auto operator<=>(const ValueId&) const = default;
};

/// The readers, waiting nodes and writers in a PlanGraph. Rewrites query this at every node while
/// they change the graph, so the time of a query does not depend on the number of readers, and that
/// of an update only on the inputs of the node.
class PlanIndex {
 public:
  explicit PlanIndex(const PlanGraph& graph);

  /// Records what a node reads now; nothing if it is dead.
  void update(const PlanGraph& graph, int node);
  /// Returns whether the record of a node is up to date.
  bool is_current(const PlanGraph& graph, int node) const;

  bool is_fetched(ValueId value) const;
  /// Returns how many inputs and fetches read the value.
  int uses(ValueId value) const;
  /// Returns whether the node is a target or a control input of others.
  bool is_awaited(int node) const { return awaited_[static_cast<std::size_t>(node)] > 0; }
  /// Returns the only node that reads the value, once or more; -1 if none or several do.
  int only_reader(ValueId value) const;
  /// Calls `visit(reader)` for each input that reads an output of `node`.
  template <class Visit>
  void for_each_reader(int node, Visit visit) const {
    for (const Uses& uses : uses_[static_cast<std::size_t>(node)]) {
      for (int at = uses.first; at >= 0; at = reads_[static_cast<std::size_t>(at)].next) {
        visit(reads_[static_cast<std::size_t>(at)].reader);
      }
    }
  }
  /// Returns whether a node between `first` and `last`, both excluded, writes the variable.
  bool written_between(int variable, int first, int last) const;

 private:
  /// The uses of one value: their counts, and the head of the list of its reads.
  struct Uses {
    int count = 0;
    int fetches = 0;
    int first = -1;
  };
  /// One input of one node; linked into the list of its value.
  struct Read {
    ValueId value;
    int reader = -1;
    int before = -1, next = -1;
  };
  /// The record of one node.
  struct NodeRecord {
    int first_read = 0, reads = 0;  // its range in `reads_`
    std::vector<int> control, written;
  };

  Uses& uses_of(ValueId value);
  const Uses* known(ValueId value) const;
  void add_node(const PlanGraph& graph, int node);
  void remove_node(int node);

  std::vector<std::vector<Uses>> uses_;  // by node and output
  std::vector<Read> reads_;
  std::vector<NodeRecord> node_records_;
  std::vector<int> awaited_;               // by node: how often others wait for it
  std::set<std::pair<int, int>> writers_;  // pairs of variable and node
};

}  // namespace towerflow

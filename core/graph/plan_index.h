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

/// Who reads, awaits and writes what in a PlanGraph. Rewrites ask this at every node while they
/// change the graph, so each answer takes the same time however many readers a value has, and a
/// changed node costs what it reads.
class PlanIndex {
 public:
  explicit PlanIndex(const PlanGraph& graph);

  /// Takes note of what a node reads now; of nothing if it is dead.
  void update(const PlanGraph& graph, int node);
  /// Whether what is noted of a node is what it reads.
  bool is_current(const PlanGraph& graph, int node) const;

  bool is_fetched(ValueId value) const;
  /// How many inputs and fetches read the value.
  int uses(ValueId value) const;
  /// Whether the node is a target, or others wait for it.
  bool is_awaited(int node) const { return awaited_[static_cast<std::size_t>(node)] > 0; }
  /// The node that alone reads the value, however often; -1 where none or several do.
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
  /// Whether a node between `first` and `last`, neither included, writes the variable.
  bool written_between(int variable, int first, int last) const;

 private:
  /// Of one value: its count, and the head of the list of its reads.
  struct Uses {
    int count = 0;
    int fetches = 0;
    int first = -1;
  };
  /// One input of one node, in the list of its value.
  struct Read {
    ValueId value;
    int reader = -1;
    int before = -1, next = -1;
  };
  /// What is noted of one node.
  struct Noted {
    int first_read = 0, reads = 0;  // its place in `reads_`
    std::vector<int> control, written;
  };

  Uses& uses_of(ValueId value);
  const Uses* known(ValueId value) const;
  void add_node(const PlanGraph& graph, int node);
  void remove_node(int node);

  std::vector<std::vector<Uses>> uses_;  // of each node, by output
  std::vector<Read> reads_;
  std::vector<Noted> noted_;
  std::vector<int> awaited_;               // of each node, how often
  std::set<std::pair<int, int>> writers_;  // variable and node
};

}  // namespace towerflow

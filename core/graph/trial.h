#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"

namespace towerflow {

/// The state of a graph, to be restored: nodes, names, collections, default seeds and this thread's
/// open scopes. Restoring it invalidates handles of nodes added since; sessions never see these
/// nodes.
class GraphSnapshot {
 public:
  explicit GraphSnapshot(Graph& graph);
  GraphSnapshot(const GraphSnapshot&) = delete;
  GraphSnapshot& operator=(const GraphSnapshot&) = delete;

  void restore();

 protected:
  void allow_nodes() { graph_.finalized_ = false; }

  Graph& graph_;

 private:
  UnpublishedNodes unpublished_;  // ends last, when nothing is left to publish
  std::size_t size_;
  std::size_t contexts_;  ///< number of branches and loops
  bool finalized_;
  NameTable names_;
  Collections collections_;
  std::unordered_map<const Node*, Site> first_reuse_;
  std::optional<std::int64_t> seed_;
  std::int64_t next_op_seed_;
  ScopeState scopes_;
};

/// Undoes what is added to a graph while it lives. It answers questions such as "would this have a
/// gradient" by computing the gradient.
///
/// Scopes that are open on this thread are closed meanwhile; a finalized graph may be tried too.
class [[nodiscard]] GraphTrial : private GraphSnapshot {
 public:
  explicit GraphTrial(Graph& graph) : GraphSnapshot(graph) {
    graph_.scopes() = {};
    allow_nodes();
  }
  ~GraphTrial() { restore(); }
};

/// All or nothing: undoes what was added to a graph if it ends without a call of `keep`, as when
/// something throws. Scopes opened meanwhile must end before it does.
class [[nodiscard]] GraphChange : private GraphSnapshot {
 public:
  explicit GraphChange(Graph& graph) : GraphSnapshot(graph) {}
  ~GraphChange() {
    if (!kept_) restore();
  }
  void keep() { kept_ = true; }

 private:
  bool kept_ = false;
};

}  // namespace towerflow

#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"

namespace towerflow {

/// Takes back what is added to a graph while it lives: nodes, names, collections, default seeds.
/// It is how a question such as "would this have a gradient" is answered by asking for it.
///
/// Scopes that are open on this thread are closed meanwhile; a finalized graph may be tried too.
/// Handles of what was made in a trial are invalid after it; sessions never see any of it.
class [[nodiscard]] GraphTrial {
 public:
  explicit GraphTrial(Graph& graph);
  ~GraphTrial();
  GraphTrial(const GraphTrial&) = delete;
  GraphTrial& operator=(const GraphTrial&) = delete;

 private:
  Graph& graph_;
  UnpublishedNodes unpublished_;  // ends last, when nothing is left to publish
  std::size_t size_;
  bool finalized_;
  NameTable names_;
  Collections collections_;
  std::unordered_map<const Node*, Site> first_reuse_;
  std::optional<std::int64_t> seed_;
  std::int64_t next_op_seed_;
  ScopeState scopes_;
};

}  // namespace towerflow

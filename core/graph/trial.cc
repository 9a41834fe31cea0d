#include "core/graph/trial.h"

#include <utility>

#include "core/graph/control_flow.h"
#include "core/graph/graph_mutex.h"

namespace towerflow {

GraphSnapshot::GraphSnapshot(Graph& graph)
    : graph_(graph),
      unpublished_(graph),
      size_(graph.size()),
      contexts_(graph.contexts_.size()),
      finalized_(graph.finalized_),
      names_(graph.names_),
      collections_(graph.collections_),
      first_reuse_(graph.first_reuse_),
      seed_(graph.seed),
      next_op_seed_(graph.next_op_seed),
      scopes_(graph.scopes()) {}

void GraphSnapshot::restore() {
  {
    const std::lock_guard lock(*graph_.mutex_);
    graph_.contexts_.resize(contexts_);
    for (const auto& context : graph_.contexts_)
      context->forget_nodes_from(static_cast<int>(size_));
    while (graph_.nodes_.size() > size_) graph_.nodes_.pop_back();
    graph_.names_ = std::move(names_);
  }
  graph_.collections_ = std::move(collections_);
  graph_.first_reuse_ = std::move(first_reuse_);
  graph_.seed = seed_;
  graph_.next_op_seed = next_op_seed_;
  graph_.finalized_ = finalized_;
  graph_.scopes() = std::move(scopes_);
}

}  // namespace towerflow

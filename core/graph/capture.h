#pragma once

#include <functional>
#include <map>

#include "core/graph/graph.h"

namespace towerflow {

/// Makes ops that this thread adds to `graph` accept tensors of other graphs, as the body of a
/// function does. While the graph is the default graph, calls add to it even if their operands
/// belong to another one.
class CaptureScope {
 public:
  /// `add_input` returns the tensor of `graph` that stands for one of another graph. Constants are
  /// copied instead.
  CaptureScope(Graph& graph, std::function<Tensor(const Tensor&)> add_input);
  ~CaptureScope();
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;

  /// Returns the open scope of `graph` on this thread, nullptr if there is none.
  static CaptureScope* of(const Graph& graph);
  /// Returns the default graph if a scope of it is open, else nullptr.
  static Graph* default_graph();

  /// Returns the tensor that stands for `tensor`, the same one each time.
  Tensor capture(const Tensor& tensor);

 private:
  Graph& graph_;
  std::function<Tensor(const Tensor&)> add_input_;
  std::map<std::pair<const Node*, int>, Tensor> captured_;
  CaptureScope* outer_;
};

}  // namespace towerflow

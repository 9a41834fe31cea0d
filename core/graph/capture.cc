#include "core/graph/capture.h"

#include <utility>

#include "core/graph/constant.h"
#include "core/graph/scopes.h"

namespace towerflow {
namespace {

thread_local CaptureScope* innermost_capture = nullptr;

}  // namespace

CaptureScope::CaptureScope(Graph& graph, std::function<Tensor(const Tensor&)> add_input)
    : graph_(graph),
      add_input_(std::move(add_input)),
      outer_(std::exchange(innermost_capture, this)) {}

CaptureScope::~CaptureScope() { innermost_capture = outer_; }

CaptureScope* CaptureScope::of(const Graph& graph) {
  CaptureScope* scope = innermost_capture;
  while (scope != nullptr && &scope->graph_ != &graph) scope = scope->outer_;
  return scope;
}

Graph* CaptureScope::default_graph() {
  if (innermost_capture == nullptr) return nullptr;
  Graph& graph = get_default_graph();
  return of(graph) == nullptr ? nullptr : &graph;
}

Tensor CaptureScope::capture(const Tensor& tensor) {
  const std::pair<const Node*, int> key(&tensor.node(), tensor.index());
  const auto known = captured_.find(key);
  if (known != captured_.end()) return known->second;
  // The input is one of the function, not of the branch or loop that reads it first.
  const ControlDependencies anywhere(graph_, std::nullopt);
  const auto* constant = tensor.op().attrs().get_if<ConstAttrs>();
  const Tensor made =
      constant != nullptr
          ? make_constant(graph_, constant->value,
                          graph_.unique_name("captured/" + tensor.op().name()) + "/",
                          tensor.op().site())
          : add_input_(tensor);
  captured_.emplace(key, made);
  return made;
}

}  // namespace towerflow

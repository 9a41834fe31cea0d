#include <algorithm>
#include <string>
#include <utility>

#include "cuda/host/call.h"
#include "cuda/host/capture.h"
#include "cuda/host/graph.h"
#include "cuda/host/runtime.h"
#include "cuda/host/submit.h"

namespace towerflow::cuda::host {
namespace {

/// Puts the nodes of a graph into the stream and into a stream for each branch but the first.
void launch(State& state, Executable& graph, Stream& stream) {
  std::vector<PointPtr> earlier;
  if (graph.end != nullptr) earlier.push_back(graph.end);
  const PointPtr begin = push(state, stream, {.what = "begin of a graph"}, std::move(earlier));
  std::vector<bool> begun(graph.branches.size() + 1);
  std::vector<PointPtr> ends;  // by node
  for (const Node& node : graph.nodes) {
    Stream& branch = node.branch == 0 ? stream : *graph.branches[node.branch - 1];
    std::vector<PointPtr> points;
    if (!begun[node.branch]) points.push_back(begin);
    begun[node.branch] = true;
    for (const std::size_t needed : node.needs) points.push_back(ends[needed]);
    if (const auto* wait = std::get_if<WaitStep>(&node.step)) {
      if (wait->event->point != nullptr) points.push_back(wait->event->point);
    }
    ends.push_back(branch.push(make_task(node.step, branch.device()), std::move(points)));
    if (const auto* record = std::get_if<RecordStep>(&node.step)) {
      record->event->point = ends.back();
      record->event->capture = nullptr;
    }
  }
  graph.end = push(state, stream, {.what = "end of a graph"}, std::move(ends));
}

cudaError_t instantiate(State& state, const Graph& graph, cudaGraphExec_t* handle) {
  auto executable = std::make_shared<Executable>(Executable{.nodes = graph.nodes});
  const std::string name = "graph " + std::to_string(++state.graphs_made);
  for (std::size_t i = 1; i < graph.devices.size(); ++i) {
    executable->branches.push_back(
        std::make_shared<Stream>(state, graph.devices[i], cudaStreamNonBlocking,
                                 "branch " + std::to_string(i) + " of " + name));
  }
  *handle = state.executables.add(std::move(executable));
  return cudaSuccess;
}

/// Returns the first node in which graphs differ in more than parameters, and how.
std::pair<cudaGraphExecUpdateResult, cudaGraphNode_t> compare(const Executable& graph,
                                                              const Graph& other) {
  for (std::size_t i = 0; i < std::min(graph.nodes.size(), other.nodes.size()); ++i) {
    const Node &node = graph.nodes[i], &changed = other.nodes[i];
    if (type_of(node.step) != type_of(changed.step)) {
      return {cudaGraphExecUpdateErrorNodeTypeChanged, changed.handle};
    }
    if (node.needs != changed.needs) {
      return {cudaGraphExecUpdateErrorTopologyChanged, changed.handle};
    }
  }
  if (graph.nodes.size() != other.nodes.size() ||
      graph.branches.size() + 1 != other.devices.size()) {
    return {cudaGraphExecUpdateErrorTopologyChanged, nullptr};
  }
  for (std::size_t i = 0; i < graph.branches.size(); ++i) {
    if (graph.branches[i]->device() != other.devices[i + 1]) {
      return {cudaGraphExecUpdateErrorParametersChanged, nullptr};
    }
  }
  return {cudaGraphExecUpdateSuccess, nullptr};
}

/// Calls `use` with a graph and the stream it is put into, unless one of them does not exist or the
/// stream is being captured.
template <class Use>
cudaError_t use_in_stream(cudaGraphExec_t handle, cudaStream_t stream_handle, const Use& use) {
  return call([&](State& state, Lock&) {
    const std::shared_ptr<Executable> graph = state.executables.find(handle);
    Stream* stream = state.find_stream(stream_handle);
    if (graph == nullptr) return cudaErrorInvalidValue;
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream->capture != nullptr) return invalidate(*stream, cudaErrorStreamCaptureUnsupported);
    const cudaError_t status = check_capture(state, *stream);
    if (status == cudaSuccess) use(state, *graph, *stream);
    return status;
  });
}

}  // namespace

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, std::size_t* count) {
  return call([&](State& state, Lock&) {
    const std::shared_ptr<Graph> graph = state.graphs.find(handle);
    if (graph == nullptr) return cudaErrorInvalidResourceHandle;
    if (count == nullptr) return cudaErrorInvalidValue;
    if (nodes == nullptr) {
      *count = graph->nodes.size();
      return cudaSuccess;
    }
    for (std::size_t i = 0; i < *count; ++i) {
      nodes[i] = i < graph->nodes.size() ? graph->nodes[i].handle : nullptr;
    }
    *count = std::min(*count, graph->nodes.size());
    return cudaSuccess;
  });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t handle, cudaGraphNodeType* type) {
  return call([&](State& state, Lock&) {
    const auto node = state.nodes.find(handle);
    if (node == nullptr) return cudaErrorInvalidResourceHandle;
    if (type == nullptr) return cudaErrorInvalidValue;
    *type = type_of(node->first->nodes[node->second].step);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t handle,
                                 unsigned long long flags) {
  return call([&](State& state, Lock&) {
    const std::shared_ptr<Graph> graph = state.graphs.find(handle);
    if (graph == nullptr) return cudaErrorInvalidResourceHandle;
    if (executable == nullptr || (flags & ~cudaGraphInstantiateFlagUseNodePriority) != 0) {
      return cudaErrorInvalidValue;
    }
    if (const cudaError_t status = check_unsafe_call(state); status != cudaSuccess) return status;
    return instantiate(state, *graph, executable);
  });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  return use_in_stream(handle, stream_handle, [](State& state, Executable& graph, Stream& stream) {
    std::vector<PointPtr> earlier;
    if (graph.end != nullptr) earlier.push_back(graph.end);
    graph.end = push(state, stream, {.what = "upload of a graph"}, std::move(earlier));
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  return use_in_stream(handle, stream_handle, [](State& state, Executable& graph, Stream& stream) {
    launch(state, graph, stream);
  });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t handle, cudaGraph_t graph_handle,
                                cudaGraphExecUpdateResultInfo* result) {
  return call([&](State& state, Lock&) {
    const std::shared_ptr<Executable> executable = state.executables.find(handle);
    const std::shared_ptr<Graph> graph = state.graphs.find(graph_handle);
    if (executable == nullptr || graph == nullptr) return cudaErrorInvalidResourceHandle;
    const auto [difference, node] = compare(*executable, *graph);
    if (result != nullptr) {
      *result = {.result = difference, .errorNode = node, .errorFromNode = nullptr};
    }
    if (difference != cudaGraphExecUpdateSuccess) return cudaErrorGraphExecUpdateFailure;
    for (std::size_t i = 0; i < graph->nodes.size(); ++i) {
      executable->nodes[i].step = graph->nodes[i].step;
      executable->nodes[i].branch = graph->nodes[i].branch;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
  return call([&](State& state, Lock&) {
    const std::shared_ptr<Executable> graph = state.executables.find(handle);
    if (graph == nullptr) return cudaErrorInvalidResourceHandle;
    state.executables.remove(handle);
    for (const auto& branch : graph->branches) state.close(branch);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
  return call([&](State& state, Lock&) {
    const std::shared_ptr<Graph> graph = state.graphs.find(handle);
    if (graph == nullptr) return cudaErrorInvalidResourceHandle;
    for (const Node& node : graph->nodes) state.nodes.remove(node.handle);
    state.graphs.remove(handle);
    return cudaSuccess;
  });
}

}  // namespace towerflow::cuda::host

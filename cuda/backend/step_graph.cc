#include "cuda/backend/step_graph.h"

#include <utility>

#include "cuda/backend/check.h"
#include "cuda/backend/graph_limits.h"

namespace towerflow::cuda {
namespace {

/// Conditions and waits of other threads divide the work of a run in different ways.
constexpr std::size_t kMostVariants = 4;

}  // namespace

std::atomic<std::size_t>& least_graph_nodes() {
  static std::atomic<std::size_t> nodes{4};
  return nodes;
}

std::atomic<std::chrono::microseconds>& longest_hold() {
  static std::atomic<std::chrono::microseconds> time{std::chrono::microseconds(1000)};
  return time;
}

StepGraph::~StepGraph() { destroy(); }

void StepGraph::destroy() noexcept {
  if (graph_ == nullptr) return;
  const auto held = device_.driver().hold_groups();
  device_.table().cudaGraphExecDestroy(std::exchange(graph_, nullptr));
}

bool StepGraph::does(const StreamWork& work, std::size_t first_record) const {
  return graph_ != nullptr && (checked.empty() || first_record == first_record_) &&
         (!work_.has_copies() || host_memory_ == device_.driver().host_memory_version()) &&
         work_ == work;
}

bool StepGraph::capture(const StreamWork& work, cudaStream_t stream, std::size_t first_record,
                        const std::function<void(StepGraph&)>& put) noexcept {
  const Table& table = device_.table();
  bool begun = false;
  try {
    work_ = work;
    first_record_ = first_record;
    host_memory_ = device_.driver().host_memory_version();
    checked.clear();
    checked_before.clear();
    // Calls of other threads do not disturb it.
    TOWERFLOW_CUDA(table, cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    begun = true;
    put(*this);
    begun = false;
    cudaGraph_t graph = nullptr;
    TOWERFLOW_CUDA(table, cudaStreamEndCapture(stream, &graph));
    take(graph);
    return true;
  } catch (...) {
    // What is wrong will be told when the calls are made one by one.
    cudaGraph_t graph = nullptr;
    if (begun) table.cudaStreamEndCapture(stream, &graph);
    if (graph != nullptr) table.cudaGraphDestroy(graph);
    table.cudaGetLastError();
    destroy();
    refused_ = true;
    return false;
  }
}

/// Updates the executable graph in place if only parameters differ.
void StepGraph::take(cudaGraph_t graph) {
  const Table& table = device_.table();
  struct Captured {
    const Table& table;
    cudaGraph_t graph;
    ~Captured() { table.cudaGraphDestroy(graph); }
  } captured{table, graph};
  if (graph_ != nullptr) {
    cudaGraphExecUpdateResultInfo result{};
    if (table.cudaGraphExecUpdate(graph_, graph, &result) == cudaSuccess) return;
    table.cudaGetLastError();
    destroy();
  }
  const auto held = device_.driver().hold_groups();
  TOWERFLOW_CUDA(table, cudaGraphInstantiate(&graph_, graph, 0));
}

void StepGraph::launch(cudaStream_t stream) const {
  TOWERFLOW_CUDA(device_.table(), cudaGraphLaunch(graph_, stream));
}

StepGraph* StepGraphs::find(const StreamWork& work) {
  if (work.nodes() < least_graph_nodes()) return nullptr;
  Variants& variants = known_[work.calls().front().instruction];
  for (const auto& graph : variants.graphs) {
    if (graph->work().has_calls_of(work)) return graph->refused() ? nullptr : graph.get();
  }
  auto met = std::make_unique<StepGraph>(device_, work);
  if (variants.graphs.size() < kMostVariants) {
    variants.graphs.push_back(std::move(met));
  } else {
    variants.graphs[variants.oldest++ % kMostVariants] = std::move(met);
  }
  return nullptr;
}

}  // namespace towerflow::cuda

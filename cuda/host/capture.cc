#include "cuda/host/capture.h"

#include <algorithm>
#include <utility>

namespace towerflow::cuda::host {

void join_capture(Stream& stream, const std::shared_ptr<Capture>& capture,
                  const std::vector<std::size_t>& needs) {
  stream.capture = capture;
  stream.capture_tail = needs;
  stream.capture_branch = capture->streams.size();
  capture->streams.push_back(&stream);
  capture->graph->devices.push_back(stream.device());
}

void add_node(State& state, Stream& stream, Step step) {
  const std::shared_ptr<Graph>& graph = stream.capture->graph;
  const std::size_t number = graph->nodes.size();
  const cudaGraphNode_t handle = state.nodes.add(
      std::make_shared<std::pair<std::shared_ptr<Graph>, std::size_t>>(graph, number));
  graph->nodes.push_back({.step = std::move(step),
                          .needs = stream.capture_tail,
                          .branch = stream.capture_branch,
                          .handle = handle});
  stream.capture_tail = {number};
}

void leave_capture(State& state, const std::shared_ptr<Capture>& capture) {
  for (Stream* stream : capture->streams) {
    stream->capture = nullptr;
    stream->capture_tail.clear();
  }
  state.captures.erase(capture);
}

bool is_joined(const Capture& capture) {
  const std::vector<Node>& nodes = capture.graph->nodes;
  std::vector<bool> before_end(nodes.size());
  for (const std::size_t last : capture.streams.front()->capture_tail) before_end[last] = true;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (!before_end[i]) return false;
    for (const std::size_t needed : nodes[i].needs) before_end[needed] = true;
  }
  return true;
}

cudaError_t check_capture(State& state, const Stream& stream) {
  if (stream.capture != nullptr) {
    return stream.capture->invalidated ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
  }
  if (&stream != &state.default_stream(stream.device())) return cudaSuccess;
  cudaError_t status = cudaSuccess;
  for (const auto& capture : state.captures) {
    const bool disturbed =
        std::any_of(capture->streams.begin(), capture->streams.end(), [&](const Stream* captured) {
          return captured->is_blocking() && captured->device() == stream.device();
        });
    if (!disturbed) continue;
    capture->invalidated = true;
    status = cudaErrorStreamCaptureImplicit;
  }
  return status;
}

cudaError_t check_unsafe_call(State& state) {
  cudaError_t status = cudaSuccess;
  for (const auto& capture : state.captures) {
    const bool forbids = capture->mode == cudaStreamCaptureModeGlobal ||
                         (capture->mode == cudaStreamCaptureModeThreadLocal &&
                          capture->thread == std::this_thread::get_id());
    if (!forbids) continue;
    capture->invalidated = true;
    status = cudaErrorStreamCaptureUnsupported;
  }
  return status;
}

cudaError_t invalidate(const Stream& stream, cudaError_t status) {
  if (stream.capture != nullptr) stream.capture->invalidated = true;
  return status;
}

}  // namespace towerflow::cuda::host

#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <thread>
#include <vector>

#include "cuda/host/event.h"
#include "cuda/host/graph.h"
#include "cuda/host/state.h"

namespace towerflow::cuda::host {

/// Streams whose work is being put into a graph.
struct Capture {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread{};  ///< that began it
  bool invalidated = false;
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  std::vector<Stream*> streams{};  ///< by branch; the first is the one that began
};

/// Makes a stream a branch of a capture.
void join_capture(Stream& stream, const std::shared_ptr<Capture>& capture,
                  const std::vector<std::size_t>& needs);
/// Adds a step of a captured stream to the graph.
void add_node(State& state, Stream& stream, Step step);
/// Ends a capture: its streams work again.
void leave_capture(State& state, const std::shared_ptr<Capture>& capture);
/// Returns whether all nodes come before the end of the stream that began.
bool is_joined(const Capture& capture);

/// Returns the status of putting work into a stream: 901 after its capture was invalidated, 906 if
/// work of stream 0 disturbs a capture, which it invalidates.
cudaError_t check_capture(State& state, const Stream& stream);
/// Returns 900 for a call that a capture forbids to this thread, and invalidates the capture.
cudaError_t check_unsafe_call(State& state);
/// Invalidates the capture of a stream, if it has one, and returns `status`.
cudaError_t invalidate(const Stream& stream, cudaError_t status);

}  // namespace towerflow::cuda::host

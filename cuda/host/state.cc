#include "cuda/host/state.h"

#include <algorithm>

#include "cuda/host/capture.h"
#include "cuda/host/control.h"
#include "cuda/host/event.h"
#include "cuda/host/graph.h"
#include "cuda/host/library.h"
#include "cuda/host/thread_state.h"

namespace towerflow::cuda::host {
namespace {

/// Lives as long as the process: streams may still run when static objects are destroyed.
State*& instance() {
  static auto* state = new State(Options{});
  return state;
}

}  // namespace

State::State(const Options& asked) : options(asked), memory(asked) {}

State::~State() {
  {
    Lock lock(mutex);
    for (Stream* stream : running) stream->close();
    point_reached.wait(lock, [&] { return running.empty(); });
  }
}

Stream& State::default_stream(int device) {
  auto& stream = default_streams_[device];
  if (stream == nullptr) {
    stream = std::make_shared<Stream>(*this, device, cudaStreamDefault, "stream 0");
  }
  return *stream;
}

Stream* State::find_stream(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return &default_stream(current_device());
  return streams.find(handle).get();
}

void State::close(std::shared_ptr<Stream> stream) {
  stream->close();
  closed_.push_back(std::move(stream));
}

std::vector<std::shared_ptr<Stream>> State::take_ended() {
  const auto ended = std::stable_partition(closed_.begin(), closed_.end(),
                                           [](const auto& stream) { return !stream->has_ended(); });
  std::vector<std::shared_ptr<Stream>> taken(std::make_move_iterator(ended),
                                             std::make_move_iterator(closed_.end()));
  closed_.erase(ended, closed_.end());
  return taken;
}

void State::await(const std::vector<PointPtr>& points, Lock& lock) {
  for (const PointPtr& point : points) point->awaited = true;
  point_reached.wait(lock, [&] {
    return std::all_of(points.begin(), points.end(),
                       [](const PointPtr& point) { return point->reached; });
  });
}

cudaError_t State::wait_for(const PointPtr& point, Lock& lock) {
  if (point != nullptr) {
    await({point}, lock);
    host.join(point->clock);
  }
  return learn_fault();
}

void State::drain(Lock& lock) {
  std::vector<PointPtr> ends;
  for (const Stream* stream : running) {
    if (stream->last() != nullptr) ends.push_back(stream->last());
  }
  await(ends, lock);
}

void State::set_fault(Fault found) {
  if (!fault) fault = std::move(found);
}

cudaError_t State::learn_fault() {
  if (!fault) return cudaSuccess;
  fault_is_known = true;
  return fault->status;
}

std::size_t State::take_component() {
  const auto usable =
      std::find_if(unused_components_.begin(), unused_components_.end(),
                   [&](const auto& unused) { return host.covers(unused.first, unused.second); });
  if (usable == unused_components_.end()) return components_++;
  const std::size_t component = usable->first;
  unused_components_.erase(usable);
  return component;
}

void State::give_back_component(std::size_t component, std::uint64_t count) {
  unused_components_.emplace_back(component, count);
}

State& state() { return *instance(); }

void restart(const Options& options) {
  delete instance();
  instance() = new State(options);
  thread_state() = {};
}

std::optional<Fault> found_fault() {
  State& now = state();
  Lock lock(now.mutex);
  return now.fault;
}

}  // namespace towerflow::cuda::host

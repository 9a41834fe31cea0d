#include "core/runtime/subplan.h"

#include <utility>

#include "core/runtime/executor.h"
#include "core/runtime/run_trace.h"

namespace towerflow {

std::unique_ptr<Frame> Subplan::lease(const DeviceSet& devices, ResourceStore& resources) {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      auto frame = std::move(free_.back());
      free_.pop_back();
      return frame;
    }
  }
  auto frame = std::make_unique<Frame>(plan_, devices, resources);
  const std::lock_guard lock(mutex_);
  free_.reserve(frames_ + 1);  // so that `recycle` cannot fail
  ++frames_;
  return frame;
}

void Subplan::recycle(std::unique_ptr<Frame> frame) noexcept {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(frame));
}

LeasedFrame::LeasedFrame(Subplan& plan, const Execution& outer)
    : plan_(plan), frame_(plan.lease(outer.devices, outer.context.resources)) {}

void LeasedFrame::run(const Execution& outer, std::span<const Array> feeds,
                      std::vector<Array>& results, bool spends_feeds) {
  frame_->return_results(results);
  frame_->begin(*outer.arenas, feeds, outer.trace != nullptr, spends_feeds);
  try {
    execute({.plan = plan_.plan(),
             .frame = *frame_,
             .context = outer.context,
             .kernels = outer.kernels,
             .devices = outer.devices,
             .arenas = outer.arenas,
             .compiler = outer.compiler,
             .in_loop = true,
             .accesses = outer.accesses,
             .trace = outer.trace},
            *outer.workers);
  } catch (...) {
    frame_->end(*outer.arenas);
    throw;
  }
  frame_->take_results(results);
  frame_->end(*outer.arenas);
}

void LeasedFrame::leave_to_feeds(std::vector<Array>& results) const {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (plan_.plan().in_memory_of[i] >= 0) results[i] = Array();
  }
}

void LeasedFrame::add_to(RunTrace& trace, std::shared_ptr<const void> owner,
                         const std::string& loop) {
  trace.add_iteration(std::move(owner), plan_.plan(), *frame_, loop);
}

}  // namespace towerflow

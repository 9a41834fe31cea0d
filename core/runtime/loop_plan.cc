#include "core/runtime/loop_plan.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/runtime/executor.h"
#include "core/runtime/run_trace.h"

namespace towerflow {
namespace {

/// A frame of a subplan for the time of a run of its loop.
class LeasedFrame {
 public:
  LeasedFrame(Subplan& plan, const Execution& run)
      : plan_(plan), frame_(plan.lease(run.devices, run.context.resources)) {}
  ~LeasedFrame() { plan_.recycle(std::move(frame_)); }
  LeasedFrame(const LeasedFrame&) = delete;
  LeasedFrame& operator=(const LeasedFrame&) = delete;

  /// Runs the plan once. The results replace those of an earlier run in `results`, whose memory is
  /// used again.
  void run(const Execution& outer, std::span<const Array> feeds, std::vector<Array>& results) {
    frame_->return_results(results);
    frame_->begin(*outer.arenas, feeds, outer.trace != nullptr);
    try {
      execute({.plan = plan_.plan(),
               .frame = *frame_,
               .context = outer.context,
               .kernels = outer.kernels,
               .devices = outer.devices,
               .arenas = outer.arenas,
               .compiler = outer.compiler,
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

  /// Adds the times of the last run to a trace.
  void add_to(RunTrace& trace, std::shared_ptr<LoopPlans> owner, const std::string& loop) {
    trace.add_iteration(std::move(owner), plan_.plan(), *frame_, loop);
  }

 private:
  Subplan& plan_;
  std::unique_ptr<Frame> frame_;
};

/// One run of a loop.
class LoopRun {
 public:
  LoopRun(const Execution& run, const Instruction& instruction)
      : run_(run), instruction_(instruction), loop_(instruction.loop->loop()) {
    for (const int slot : instruction.inputs) feeds_.push_back(run.frame.value(slot));
  }

  void run() {
    while (!run_.context.cancellation.cancelled()) {
      adopt_shapes();
      condition_->run(run_, feeds_, tested_);
      trace(*condition_);
      if (!*tested_[0].data<bool>()) return write_outputs();
      // The results of the last iteration are feeds of this one; those before are free again.
      std::vector<Array>& results = results_[iteration_++ % 2];
      body_->run(run_, feeds_, results);
      trace(*body_);
      take_next(results);
    }
    throw errors::CancelledError("the run was cancelled");
  }

 private:
  void trace(LeasedFrame& frame) const {
    if (run_.trace != nullptr) frame.add_to(*run_.trace, plans_, instruction_.detail.node);
  }

  /// Finds the plans for the shapes of the feeds, which may have changed.
  void adopt_shapes() {
    const auto fits = [&](const Array& feed, const Shape& shape) { return feed.shape() == shape; };
    if (plans_ != nullptr &&
        std::equal(feeds_.begin(), feeds_.end(), plans_->feeds.begin(), fits)) {
      return;
    }
    condition_.reset();
    body_.reset();
    for (std::vector<Array>* kept : {&tested_, &results_[0], &results_[1]}) kept->clear();
    std::vector<Shape> shapes;
    for (const Array& feed : feeds_) shapes.push_back(feed.shape());
    plans_ = instruction_.loop->plans_for(shapes, *run_.compiler);
    condition_.emplace(plans_->condition, run_);
    body_.emplace(plans_->body, run_);
    tested_.resize(plans_->condition.plan().fetches.size());
    for (std::vector<Array>& results : results_) {
      results.resize(plans_->body.plan().fetches.size());
    }
  }

  void take_next(const std::vector<Array>& results) {
    passed_on_.clear();
    for (std::size_t i = 0; i < loop_.states; ++i) {
      if (loop_.next[i] < 0) {
        passed_on_.push_back(feeds_[static_cast<std::size_t>(-1 - loop_.next[i])]);
      }
    }
    std::size_t passed = 0;
    for (std::size_t i = 0; i < loop_.states; ++i) {
      const int next = loop_.next[i];
      feeds_[i] = next < 0 ? passed_on_[passed++] : results[static_cast<std::size_t>(next)];
    }
  }

  void write_outputs() const {
    for (std::size_t i = 0; i < loop_.exits.size(); ++i) {
      const std::size_t from = loop_.exits[i];
      const Array& value = from < loop_.states ? feeds_[from] : tested_[from - loop_.states];
      const int slot = instruction_.outputs[i];
      const Shape& declared = run_.frame.declared(slot).shape;
      merge_declared_shape(value.shape(), declared);
      void* to = declared.fully_known() ? run_.frame.address(slot)
                                        : run_.frame.bind_late(slot, value.dtype(), value.shape());
      if (value.dtype() == DType::string) {
        const auto* texts = value.data<std::string>();
        std::copy_n(texts, value.elements(), static_cast<std::string*>(to));
      } else if (value.bytes() > 0) {
        std::memcpy(to, value.raw(), value.bytes());
      }
    }
  }

  const Execution& run_;
  const Instruction& instruction_;
  const PlanLoop& loop_;
  std::shared_ptr<LoopPlans> plans_;
  std::optional<LeasedFrame> condition_, body_;
  std::vector<Array> feeds_, tested_, results_[2], passed_on_;
  std::size_t iteration_ = 0;
};

}  // namespace

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

std::shared_ptr<LoopPlans> LoopPlan::plans_for(const std::vector<Shape>& feeds,
                                               SubplanCompiler& compiler) const {
  {
    const std::lock_guard lock(mutex_);
    for (auto it = plans_.begin(); it != plans_.end(); ++it) {
      if ((*it)->feeds != feeds) continue;
      plans_.splice(plans_.begin(), plans_, it);
      return plans_.front();
    }
  }
  Plan condition = compiler.compile_subplan(specialized(loop_->condition, feeds));
  Plan body = compiler.compile_subplan(specialized(loop_->body, feeds));
  auto made = std::make_shared<LoopPlans>(feeds, std::move(condition), std::move(body));
  const std::lock_guard lock(mutex_);
  plans_.push_front(made);
  if (plans_.size() > kMaxPlans) plans_.pop_back();
  return made;
}

void run_loop(const Execution& run, const Instruction& instruction) {
  LoopRun(run, instruction).run();
}

}  // namespace towerflow

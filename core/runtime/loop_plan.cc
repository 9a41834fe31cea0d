#include "core/runtime/loop_plan.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/device/cpu/cpu_backend.h"
#include "core/runtime/executor.h"
#include "core/runtime/loop_pipeline.h"
#include "core/runtime/run_trace.h"

namespace towerflow {
namespace {

/// Returns the pool if the body of a loop of this run may be in two parts, of which each has a core
/// of its own; else null. It depends on the session and the plan only, so that the same plans run
/// whatever else the cores do.
ThreadPool* pool_for_parts(const Execution& run) {
  if (run.in_loop || run.plan.queues.size() != 1 || !run.compiler->splits_loops()) return nullptr;
  auto* on_cpu = dynamic_cast<CpuQueue*>(run.frame.queue(0).queue.get());
  const auto& devices = run.devices.devices();
  const bool only_host = std::all_of(devices.begin(), devices.end(),
                                     [](const Device& device) { return device.on_host(); });
  return on_cpu != nullptr && only_host && on_cpu->pool().cores() >= 2 ? &on_cpu->pool() : nullptr;
}

/// One run of a loop.
class LoopRun {
 public:
  LoopRun(const Execution& run, const Instruction& instruction)
      : run_(run),
        instruction_(instruction),
        loop_(instruction.loop->loop()),
        pool_(pool_for_parts(run)) {
    for (const int slot : instruction.inputs) feeds_.push_back(run.frame.value(slot));
  }

  void run() {
    while (!run_.context.cancellation.cancelled()) {
      adopt_shapes();
      if (plans_->second) {
        LoopPipeline(run_, *pool_, plans_, loop_, instruction_.detail.node).run(feeds_, tested_);
        return write_outputs();
      }
      condition_->run(run_, feeds_, tested_);
      trace(*condition_);
      if (!*tested_[0].data<bool>()) return write_outputs();
      run_body();
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
    plans_ = instruction_.loop->plans_for(shapes, pool_ != nullptr, *run_.compiler);
    if (plans_->second) return;
    condition_.emplace(plans_->condition, run_);
    body_.emplace(plans_->body, run_);
    tested_.resize(condition_->results());
    for (std::vector<Array>& results : results_) results.resize(body_->results());
  }

  void run_body() {
    // The results of the last iteration are feeds of this one; those before are free again.
    std::vector<Array>& results = results_[iteration_++ % 2];
    passed_on_.clear();
    for (const int next : loop_.next) {
      if (next < 0) passed_on_.push_back(feeds_[static_cast<std::size_t>(-1 - next)]);
    }
    body_->run_spending_feeds(run_, feeds_, results);
    trace(*body_);
    std::size_t passed = 0;
    for (std::size_t i = 0; i < loop_.states; ++i) {
      const int next = loop_.next[i];
      feeds_[i] = next < 0 ? passed_on_[passed++] : results[static_cast<std::size_t>(next)];
    }
    body_->leave_to_feeds(results);
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
  ThreadPool* const pool_;
  std::shared_ptr<LoopPlans> plans_;
  std::optional<LeasedFrame> condition_, body_;
  std::vector<Array> feeds_, tested_, results_[2], passed_on_;
  std::size_t iteration_ = 0;
};

}  // namespace

LoopPlans::LoopPlans(const PlanLoop& loop, std::vector<Shape> shapes, bool splits,
                     SubplanCompiler& compiler)
    : feeds(std::move(shapes)),
      condition(compiler.compile_subplan(specialized(loop.condition, feeds))),
      body(compiler.compile_subplan(body_of(loop, splits))) {
  if (stages.in_second.empty()) return;
  second.emplace(compiler.compile_subplan(std::move(stages.second)));
}

PlanGraph LoopPlans::body_of(const PlanLoop& loop, bool splits) {
  if (splits) {
    if (auto split = split_body(loop, feeds)) {
      stages = std::move(*split);
      return std::move(stages.first);
    }
  }
  return specialized(loop.body, feeds);
}

std::shared_ptr<LoopPlans> LoopPlan::plans_for(const std::vector<Shape>& feeds, bool splits,
                                               SubplanCompiler& compiler) const {
  {
    const std::lock_guard lock(mutex_);
    for (auto it = plans_.begin(); it != plans_.end(); ++it) {
      if ((*it)->feeds != feeds) continue;
      plans_.splice(plans_.begin(), plans_, it);
      return plans_.front();
    }
  }
  auto made = std::make_shared<LoopPlans>(*loop_, feeds, splits, compiler);
  const std::lock_guard lock(mutex_);
  plans_.push_front(made);
  if (plans_.size() > kMaxPlans) plans_.pop_back();
  return made;
}

void run_loop(const Execution& run, const Instruction& instruction) {
  LoopRun(run, instruction).run();
}

}  // namespace towerflow

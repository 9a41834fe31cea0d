#include "core/runtime/loop_pipeline.h"

#include <utility>

#include "core/graph/error.h"

namespace towerflow {

LoopPipeline::LoopPipeline(const Execution& run, ThreadPool& pool, std::shared_ptr<LoopPlans> plans,
                           const PlanLoop& loop, std::string name)
    : run_(run),
      pool_(pool),
      plans_(std::move(plans)),
      loop_(loop),
      name_(std::move(name)),
      condition_(plans_->condition, run),
      first_(plans_->body, run),
      second_(*plans_->second, run),
      tested_(condition_.results()) {
  const LoopStages& stages = plans_->stages;
  for (auto& results : first_results_) results.resize(first_.results());
  for (auto& results : second_results_) results.resize(second_.results());
  for (auto& values : handed_over_) values.resize(stages.passed.size() + stages.crossing.size());
}

void LoopPipeline::check_cancelled() const {
  if (run_.context.cancellation.cancelled()) throw errors::CancelledError("the run was cancelled");
}

void LoopPipeline::trace(LeasedFrame& frame) const {
  if (run_.trace != nullptr) frame.add_to(*run_.trace, plans_, name_);
}

/// Returns whether there was an iteration.
bool LoopPipeline::run_first_once(std::int64_t iteration) {
  const LoopStages& stages = plans_->stages;
  check_cancelled();
  condition_.run(run_, first_feeds_, tested_);
  trace(condition_);
  if (!*tested_[0].data<bool>()) return false;
  const auto set = static_cast<std::size_t>(iteration % kSets);
  std::vector<Array>& results = first_results_[set];
  auto to = handed_over_[set].begin();
  for (const std::size_t state : stages.passed) *to++ = first_feeds_[state];
  first_.run_spending_feeds(run_, first_feeds_, results);
  trace(first_);
  for (const std::size_t fetch : stages.crossing) *to++ = results[fetch];
  for (std::size_t i = 0; i < loop_.states; ++i) {
    if (stages.next[i] < 0 || stages.in_second[i]) continue;
    first_feeds_[i] = results[static_cast<std::size_t>(stages.next[i])];
  }
  first_.leave_to_feeds(results);
  return true;
}

void LoopPipeline::run_second_once(std::int64_t iteration) {
  const LoopStages& stages = plans_->stages;
  check_cancelled();
  auto from = handed_over_[static_cast<std::size_t>(iteration % kSets)].begin();
  for (const std::size_t state : stages.passed) second_feeds_[state] = std::move(*from++);
  const std::size_t given = loop_.feeds.size();
  for (std::size_t i = given; i < second_feeds_.size(); ++i) second_feeds_[i] = std::move(*from++);
  std::vector<Array>& results = second_results_[static_cast<std::size_t>(iteration % 2)];
  second_.run_spending_feeds(run_, second_feeds_, results);
  trace(second_);
  for (std::size_t i = 0; i < loop_.states; ++i) {
    if (stages.next[i] < 0 || !stages.in_second[i]) continue;
    second_feeds_[i] = results[static_cast<std::size_t>(stages.next[i])];
  }
  second_.leave_to_feeds(results);
  // The first part uses the memory again.
  for (const std::size_t state : stages.passed) second_feeds_[state] = Array();
  for (std::size_t i = given; i < second_feeds_.size(); ++i) second_feeds_[i] = Array();
}

template <class T>
void LoopPipeline::publish(std::atomic<T>& state, T value) {
  {
    const std::lock_guard lock(mutex_);
    state.store(value);
  }
  changed_.notify_one();
}

template <class Done>
void LoopPipeline::await(const Done& done) {
  if (done()) return;
  const ThreadPool::Blocked idle(pool_, done);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, done);
}

void LoopPipeline::run_first() noexcept {
  try {
    for (std::int64_t iteration = 0; run_first_once(iteration); ++iteration) {
      publish(made_, iteration + 1);
      await([&] { return done_ >= iteration + 1 - kAhead || failed_; });
      if (failed_) break;
    }
  } catch (...) {
    first_error_ = std::current_exception();
  }
  publish(ended_, true);
}

/// Also finishes the iterations before one in which the first part has failed: an error there comes
/// first.
void LoopPipeline::run_second() noexcept {
  try {
    for (std::int64_t iteration = 0;; ++iteration) {
      await([&] { return made_ > iteration || ended_; });
      if (made_ <= iteration) return;
      run_second_once(iteration);
      publish(done_, iteration + 1);
    }
  } catch (...) {
    second_error_ = std::current_exception();
  }
  run_.context.cancellation.abort();  // the first part may wait in an op
  publish(failed_, true);
}

/// Returns false if there is no second thread; nothing has run then.
bool LoopPipeline::run_on_two_threads() {
  ThreadPool::Announcement both(pool_, 2);
  const auto walk = [&](std::size_t part) {
    const ThreadPool::Computing computing(both);
    part == 0 ? run_first() : run_second();
  };
  try {
    run_.workers->run(2, walk, &pool_);
  } catch (const errors::ResourceExhaustedError&) {
    return false;
  }
  if (second_error_ != nullptr) std::rethrow_exception(second_error_);
  if (first_error_ != nullptr) std::rethrow_exception(first_error_);
  return true;
}

void LoopPipeline::run(std::vector<Array>& feeds, std::vector<Array>& tested) {
  first_feeds_ = feeds;
  second_feeds_ = feeds;
  second_feeds_.resize(feeds.size() + plans_->stages.crossing.size());
  const bool measured = run_.trace != nullptr || run_.accesses != nullptr;
  if (measured || pool_.free_cores() < 2 || !run_on_two_threads()) {
    for (std::int64_t iteration = 0; run_first_once(iteration); ++iteration) {
      run_second_once(iteration);
    }
  }
  for (std::size_t i = 0; i < loop_.states; ++i) {
    feeds[i] = (plans_->stages.in_second[i] ? second_feeds_ : first_feeds_)[i];
  }
  tested = std::move(tested_);
}

}  // namespace towerflow

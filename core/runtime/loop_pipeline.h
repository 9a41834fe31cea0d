#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/device/cpu/thread_pool.h"
#include "core/runtime/executor.h"
#include "core/runtime/loop_plan.h"

namespace towerflow {

/// One run of a loop whose body is in two parts: side by side on two threads, the second part a few
/// iterations behind at most, or one after the other if all cores are taken or times are measured.
/// The values are the same.
class LoopPipeline {
 public:
  /// `name` is that of the loop in traces.
  LoopPipeline(const Execution& run, ThreadPool& pool, std::shared_ptr<LoopPlans> plans,
               const PlanLoop& loop, std::string name);

  /// Runs all iterations. `feeds` are those of the first iteration and become those after the last;
  /// `tested` receives the last fetches of the condition. Throws the error that a run of one part
  /// after the other would have met first.
  void run(std::vector<Array>& feeds, std::vector<Array>& tested);

 private:
  static constexpr std::int64_t kAhead = 2;          // iterations that the first part may be ahead
  static constexpr std::int64_t kSets = kAhead + 2;  // of its results that are in use at once

  bool run_first_once(std::int64_t iteration);
  void run_second_once(std::int64_t iteration);
  bool run_on_two_threads();
  void run_first() noexcept;
  void run_second() noexcept;
  void check_cancelled() const;
  void trace(LeasedFrame& frame) const;
  template <class Done>
  void await(const Done& done);
  template <class T>
  void publish(std::atomic<T>& state, T value);

  const Execution& run_;
  ThreadPool& pool_;
  std::shared_ptr<LoopPlans> plans_;
  const PlanLoop& loop_;
  const std::string name_;
  LeasedFrame condition_, first_, second_;
  std::vector<Array> first_feeds_, second_feeds_, tested_;
  std::array<std::vector<Array>, kSets> first_results_, handed_over_;
  std::array<std::vector<Array>, 2> second_results_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<std::int64_t> made_{0};  // iterations of the first part that have ended
  std::atomic<std::int64_t> done_{0};  // of the second
  std::atomic<bool> ended_{false};     // the first part makes no more
  std::atomic<bool> failed_{false};    // the second has failed
  std::exception_ptr first_error_, second_error_;
};

}  // namespace towerflow

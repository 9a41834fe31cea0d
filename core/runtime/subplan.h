#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/runtime/frame.h"

namespace towerflow {

struct Execution;
class RunTrace;

/// Makes plans of the graphs of a loop; implemented by the session, whose plans they are parts of.
class SubplanCompiler {
 public:
  virtual ~SubplanCompiler() = default;
  virtual Plan compile_subplan(PlanGraph graph) = 0;
  virtual bool splits_loops() const = 0;  ///< PassOptions::split_loops
};

/// The plan of a graph of a loop, and frames of it that no run uses.
class Subplan {
 public:
  explicit Subplan(Plan plan) : plan_(std::move(plan)) {}
  const Plan& plan() const { return plan_; }
  std::unique_ptr<Frame> lease(const DeviceSet& devices, ResourceStore& resources);
  void recycle(std::unique_ptr<Frame> frame) noexcept;

 private:
  Plan plan_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> free_;  // with capacity for all frames
  std::size_t frames_ = 0;
};

/// A frame of a subplan for the time of a run of its loop. Used by one thread at a time.
class LeasedFrame {
 public:
  LeasedFrame(Subplan& plan, const Execution& outer);
  ~LeasedFrame() { plan_.recycle(std::move(frame_)); }
  LeasedFrame(const LeasedFrame&) = delete;
  LeasedFrame& operator=(const LeasedFrame&) = delete;

  std::size_t results() const { return plan_.plan().fetches.size(); }
  /// Runs the plan once, as a part of the run `outer`. The results replace those of an earlier run
  /// in `results`, whose memory is used again.
  void run(const Execution& outer, std::span<const Array> feeds, std::vector<Array>& results) {
    run(outer, feeds, results, false);
  }
  /// The same, but the caller does not read the feeds again: a result may be computed in the memory
  /// of a feed that nobody else holds, see Plan::in_memory_of.
  void run_spending_feeds(const Execution& outer, std::span<const Array> feeds,
                          std::vector<Array>& results) {
    run(outer, feeds, results, true);
  }
  /// Drops the results that can be computed in the memory of feeds. Called when they are the next
  /// feeds, which then hold their memory alone.
  void leave_to_feeds(std::vector<Array>& results) const;
  /// Adds the times of the last run to a trace, for the loop of this name. `owner` keeps the plan.
  void add_to(RunTrace& trace, std::shared_ptr<const void> owner, const std::string& loop);

 private:
  void run(const Execution& outer, std::span<const Array> feeds, std::vector<Array>& results,
           bool spends_feeds);

  Subplan& plan_;
  std::unique_ptr<Frame> frame_;
};

}  // namespace towerflow

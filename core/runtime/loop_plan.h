#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "core/graph/plan_loop.h"
#include "core/runtime/frame.h"

namespace towerflow {

struct Execution;

/// Makes plans of the graphs of a loop; implemented by the session, whose plans they are parts of.
class SubplanCompiler {
 public:
  virtual ~SubplanCompiler() = default;
  virtual Plan compile_subplan(PlanGraph graph) = 0;
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

/// The plans of a loop for feeds of certain shapes.
struct LoopPlans {
  LoopPlans(std::vector<Shape> shapes, Plan for_condition, Plan for_body)
      : feeds(std::move(shapes)), condition(std::move(for_condition)), body(std::move(for_body)) {}
  std::vector<Shape> feeds;
  Subplan condition, body;
};

/// A loop in a plan: one instruction, which runs the plans of the loop's condition and body. They
/// are compiled for the shapes that the loop variables have in an iteration, and kept.
class LoopPlan {
 public:
  explicit LoopPlan(std::shared_ptr<const PlanLoop> loop) : loop_(std::move(loop)) {}
  const PlanLoop& loop() const { return *loop_; }
  /// Returns the plans for feeds of these shapes, compiled on first use.
  std::shared_ptr<LoopPlans> plans_for(const std::vector<Shape>& feeds,
                                       SubplanCompiler& compiler) const;

 private:
  static constexpr std::size_t kMaxPlans = 32;  // beyond that, the least recently used are dropped

  std::shared_ptr<const PlanLoop> loop_;
  mutable std::mutex mutex_;
  mutable std::list<std::shared_ptr<LoopPlans>> plans_;
};

/// Runs a loop of a plan: reads its feeds from the slots of `instruction`, and writes its outputs.
void run_loop(const Execution& run, const Instruction& instruction);

}  // namespace towerflow

#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/runtime/loop_stages.h"
#include "core/runtime/subplan.h"

namespace towerflow {

/// The plans of a loop for feeds of certain shapes.
class LoopPlans {
 public:
  LoopPlans(const PlanLoop& loop, std::vector<Shape> shapes, bool splits,
            SubplanCompiler& compiler);

  const std::vector<Shape> feeds;
  LoopStages stages;  ///< how both parts of the body fit together; without their graphs
  Subplan condition;
  Subplan body;  ///< the whole body, or its first part
  std::optional<Subplan> second;

 private:
  PlanGraph body_of(const PlanLoop& loop, bool splits);
};

/// A loop in a plan: one instruction, which runs the plans of the loop's condition and body. They
/// are compiled for the shapes that the loop variables have in an iteration, and kept.
class LoopPlan {
 public:
  explicit LoopPlan(std::shared_ptr<const PlanLoop> loop) : loop_(std::move(loop)) {}
  const PlanLoop& loop() const { return *loop_; }
  /// Returns the plans for feeds of these shapes, compiled on first use. `splits`: with the body in
  /// two parts, if it can be split.
  std::shared_ptr<LoopPlans> plans_for(const std::vector<Shape>& feeds, bool splits,
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

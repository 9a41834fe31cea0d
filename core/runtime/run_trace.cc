#include "core/runtime/run_trace.h"

#include <utility>

namespace towerflow {
namespace {

NodeStats::Kind stats_kind(const Instruction& instruction) {
  switch (instruction.kind) {
    case Instruction::Kind::wait:
      return NodeStats::Kind::wait;
    case Instruction::Kind::copy:
    case Instruction::Kind::fill:
      return NodeStats::Kind::copy;
    case Instruction::Kind::commit:
      return NodeStats::Kind::commit;
    default:
      return NodeStats::Kind::kernel;
  }
}

void append_stats(const Plan& plan, std::size_t queue, const std::vector<Span>& spans,
                  const std::string& loop, const DeviceSet& devices, double start,
                  std::vector<NodeStats>& all) {
  const QueueProgram& program = plan.queues[queue];
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    if (instruction.kind == Instruction::Kind::record) continue;
    if (!instruction.guards.empty() && spans[i].end == 0) continue;  // it did not run
    NodeStats stats;
    stats.kind = stats_kind(instruction);
    stats.node = instruction.detail.node;
    stats.loop = loop;
    if (instruction.op != nullptr) {
      stats.op = instruction.op->name;
      stats.updates = instruction.op->effect == Effect::writes_variable;
    }
    if (instruction.entry != nullptr) stats.label = instruction.entry->label;
    stats.device = devices[program.device].name;
    stats.lane = program.lane;
    stats.begin = spans[i].begin - start;
    stats.end = spans[i].end - start;
    stats.flops = instruction.cost.flops;
    stats.bytes = instruction.cost.bytes;
    // The queues of an iteration have clocks of their own.
    if (plan.simulated && loop.empty()) {
      stats.virtual_begin = spans[i].virtual_begin;
      stats.virtual_end = spans[i].virtual_end;
    }
    all.push_back(std::move(stats));
  }
}

}  // namespace

void RunTrace::add_iteration(std::shared_ptr<const void> owner, const Plan& plan, Frame& frame,
                             const std::string& loop) {
  Iteration iteration{std::move(owner), &plan, loop, {}};
  for (std::size_t queue = 0; queue < plan.queues.size(); ++queue) {
    iteration.spans.push_back(frame.queue(queue).spans);
  }
  const std::lock_guard lock(mutex_);
  iterations_.push_back(std::move(iteration));
}

std::vector<NodeStats> RunTrace::stats(const Plan& plan, Frame& frame, const DeviceSet& devices,
                                       double start) const {
  std::vector<NodeStats> all;
  for (std::size_t queue = 0; queue < plan.queues.size(); ++queue) {
    append_stats(plan, queue, frame.queue(queue).spans, "", devices, start, all);
  }
  const std::lock_guard lock(mutex_);
  for (const Iteration& iteration : iterations_) {
    for (std::size_t queue = 0; queue < iteration.spans.size(); ++queue) {
      append_stats(*iteration.plan, queue, iteration.spans[queue], iteration.loop, devices, start,
                   all);
    }
  }
  return all;
}

}  // namespace towerflow

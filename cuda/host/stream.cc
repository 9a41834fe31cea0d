#include "cuda/host/stream.h"

#include <exception>
#include <utility>

#include "core/device/flushed_denormals.h"
#include "cuda/host/host_kernel.h"
#include "cuda/host/state.h"

namespace towerflow::cuda::host {

Stream::Stream(State& state, int device, unsigned flags, std::string name)
    : state_(state),
      device_(device),
      flags_(flags),
      name_(std::move(name)),
      component_(state.take_component()),
      random_(static_cast<std::minstd_rand::result_type>(state.options.seed * 7919 + component_)) {
  state_.running.push_back(this);
  thread_ = std::thread([this] {
    const FlushedDenormals flushed;  // kernels are compiled with --ftz=true
    work();
  });
}

Stream::~Stream() { thread_.join(); }

PointPtr Stream::push(Task task, std::vector<PointPtr> points) {
  clock_.join(state_.host);
  for (const PointPtr& point : points) clock_.join(point->clock);
  const std::uint64_t count = clock_[component_] + 1;
  clock_.set(component_, count);
  auto accessor = std::make_shared<Accessor>(
      Accessor{.what = task.what, .where = name_, .component = component_, .count = count});
  last_ = std::make_shared<Point>(Point{.clock = clock_});
  entries_.push_back({.task = std::move(task),
                      .points = std::move(points),
                      .accessor = std::move(accessor),
                      .end = last_});
  wake_.notify_one();
  return last_;
}

void Stream::close() {
  closing_ = true;
  wake_.notify_one();
}

void Stream::work() {
  Lock lock(state_.mutex);
  for (;;) {
    wake_.wait(lock, [&] { return closing_ || !entries_.empty(); });
    if (entries_.empty()) break;
    Entry entry = std::move(entries_.front());
    entries_.pop_front();
    state_.await(entry.points, lock);
    // After a fault a card does nothing more either.
    if (!state_.fault) run(entry, lock);
    entry.end->time = std::chrono::steady_clock::now();
    entry.end->reached = true;
    if (entry.end->awaited) state_.point_reached.notify_all();
  }
  std::erase(state_.running, this);
  state_.give_back_component(component_, clock_[component_]);
  ended_ = true;
  state_.point_reached.notify_all();
}

void Stream::run(Entry& entry, Lock& lock) {
  Task& task = entry.task;
  Outcome outcome;
  lock.unlock();
  if (state_.options.seed != 0 && state_.options.max_delay != 0) {
    std::this_thread::sleep_for(
        std::chrono::microseconds(random_() % (state_.options.max_delay + 1)));
  }
  if (state_.options.seed != 0) set_order(random_());
  try {
    if (task.run) outcome = task.run();
  } catch (const std::exception& error) {
    outcome = {.status = cudaErrorUnknown, .text = error.what()};
  }
  // What the task owns is freed here: it may be large.
  task.run = nullptr;
  lock.lock();
  std::vector<Operand>& operands = task.operands;
  operands.insert(operands.end(), outcome.accessed.begin(), outcome.accessed.end());
  if (auto error = state_.order.add(entry.accessor, entry.end->clock, operands)) {
    state_.set_fault({.status = cudaErrorUnknown, .text = error->text(), .order = error});
  }
  if (outcome.status != cudaSuccess) {
    state_.set_fault({.status = outcome.status,
                      .text = "\"" + task.what + "\" in " + name_ + ": " +
                              (outcome.text.empty() ? "failed" : outcome.text)});
  }
}

}  // namespace towerflow::cuda::host

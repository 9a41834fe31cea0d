#include "core/device/queue_clock.h"

#include <ctime>

#include "core/device/wall_clock.h"

namespace towerflow {
namespace {

/// Returns the CPU time of this thread in seconds, which measures the cost of a kernel on one core
/// no matter how many threads share that core.
double thread_cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

void QueueClock::begin(Span* span) {
  span_ = span;
  is_computation_ = true;
  if (span != nullptr) {
    span->begin = wall_clock_seconds();
    span->virtual_begin = now_;
  }
  cpu_time_at_begin_ = thread_cpu_seconds();
}

void QueueClock::end() {
  if (is_computation_) now_ += (thread_cpu_seconds() - cpu_time_at_begin_) * pace_.slowdown;
  if (span_ != nullptr) {
    span_->end = wall_clock_seconds();
    span_->virtual_end = now_;
  }
}

}  // namespace towerflow

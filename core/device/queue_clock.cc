#include "core/device/queue_clock.h"

#include <ctime>

#include "core/device/wall_clock.h"

namespace towerflow {
namespace {

/// What this thread has computed so far: what a kernel costs one core, whoever else wants the core.
double computed_now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

void QueueClock::begin(Span* span) {
  span_ = span;
  computes_ = true;
  if (span != nullptr) {
    span->begin = wall_now();
    span->virtual_begin = now_;
  }
  computed_ = computed_now();
}

void QueueClock::end() {
  if (computes_) now_ += (computed_now() - computed_) * pace_.slowdown;
  if (span_ != nullptr) {
    span_->end = wall_now();
    span_->virtual_end = now_;
  }
}

}  // namespace towerflow

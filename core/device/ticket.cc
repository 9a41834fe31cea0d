#include "core/device/ticket.h"

namespace towerflow {

bool TicketLine::wait_turn(std::uint64_t ticket, Cancellation& cancellation) {
  {
    std::lock_guard lock(mutex_);
    if (next_ == ticket) return true;
  }
  bool cancelled = false;
  const CancellationCallback wake(cancellation, [this, &cancelled] {
    std::lock_guard lock(mutex_);
    cancelled = true;
    changed_.notify_all();
  });
  // Unlocked before the callback is destroyed, which waits for a call in progress.
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return next_ == ticket || cancelled; });
  return next_ == ticket;
}

void TicketLine::done(std::uint64_t ticket) noexcept {
  std::lock_guard lock(mutex_);
  done_[ticket - next_] = true;
  if (ticket != next_) return;
  for (; !done_.empty() && done_.front(); ++next_) done_.pop_front();
  changed_.notify_all();
}

}  // namespace towerflow

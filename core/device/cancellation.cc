#include "core/device/cancellation.h"

#include <utility>

namespace towerflow {

void Cancellation::wake_all() {
  cancelled_.store(true, std::memory_order_release);
  for (CancellationCallback* at = first_; at != nullptr; at = at->next_) at->wake_();
}

void Cancellation::cancel() {
  std::lock_guard lock(mutex_);
  if (!cancelled() && !committed_) wake_all();
}

void Cancellation::abort() {
  std::lock_guard lock(mutex_);
  if (!cancelled()) wake_all();
}

bool Cancellation::commit() {
  std::lock_guard lock(mutex_);
  committed_ = !cancelled();
  return committed_;
}

CancellationCallback::CancellationCallback(Cancellation& cancellation, std::function<void()> wake)
    : cancellation_(cancellation), wake_(std::move(wake)) {
  std::lock_guard lock(cancellation_.mutex_);
  if (cancellation_.cancelled()) wake_();
  next_ = std::exchange(cancellation_.first_, this);
  if (next_ != nullptr) next_->previous_ = this;
}

CancellationCallback::~CancellationCallback() {
  std::lock_guard lock(cancellation_.mutex_);  // waits for a callback in progress
  (previous_ == nullptr ? cancellation_.first_ : previous_->next_) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
}

}  // namespace towerflow

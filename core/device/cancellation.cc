#include "core/device/cancellation.h"

namespace towerflow {

void Cancellation::cancel() {
  std::lock_guard lock(mutex_);
  if (cancelled_) return;
  cancelled_ = true;
  for (auto& [id, wake] : callbacks_) wake();
}

Cancellation::Id Cancellation::subscribe(std::function<void()> wake) {
  std::lock_guard lock(mutex_);
  const Id id = next_id_++;
  if (cancelled_) wake();
  callbacks_.emplace(id, std::move(wake));
  return id;
}

void Cancellation::unsubscribe(Id id) {
  std::lock_guard lock(mutex_);  // waits for a callback in progress
  callbacks_.erase(id);
}

}  // namespace towerflow

#include "cuda/backend/cuda_event.h"

#include <algorithm>
#include <thread>

#include "core/device/cancellable_wait.h"
#include "cuda/backend/check.h"
#include "cuda/backend/device.h"

namespace towerflow::cuda {

CudaEvent::~CudaEvent() {
  if (event_ == nullptr) return;
  driver_->select_any();
  driver_->table().cudaEventDestroy(event_);
}

void CudaEvent::reset() { use_.fetch_add(1, std::memory_order_acq_rel); }

void CudaEvent::set_recorded() {
  {
    const std::lock_guard lock(mutex_);
    recorded_use_.store(use(), std::memory_order_release);
  }
  changed_.notify_all();
}

/// Makes the event on first use; `mutex_` is held.
cudaEvent_t CudaEvent::made_on(const Device& device) {
  const Table& table = device.table();
  if (device_ != device.number() && event_ != nullptr) {
    table.cudaEventDestroy(event_);
    event_ = nullptr;
  }
  if (event_ == nullptr) {
    device.select();
    TOWERFLOW_CUDA(table, cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
    device_ = device.number();
  }
  return event_;
}

cudaEvent_t CudaEvent::handle_on(const Device& device) {
  const std::lock_guard lock(mutex_);
  return made_on(device);
}

void CudaEvent::note_recorded(const CheckedLaunches& own, const Checks& others) {
  {
    const std::lock_guard lock(mutex_);
    own_ = own;
    others_ = others;
  }
  set_recorded();
}

void CudaEvent::record(const Device& device, cudaStream_t stream, const CheckedLaunches& own,
                       const Checks& others, bool failed) {
  {
    const std::lock_guard lock(mutex_);
    TOWERFLOW_CUDA(device.table(), cudaEventRecord(made_on(device), stream));
    own_ = own;
    others_ = others;
  }
  if (failed) mark_failed(use());
  set_recorded();
}

void CudaEvent::give_up() {
  {
    const std::lock_guard lock(mutex_);
    own_ = {};
    others_.clear();
  }
  mark_failed(use());
  ended_use_.store(use(), std::memory_order_release);
  set_recorded();
}

void CudaEvent::mark_failed(std::uint64_t use) {
  failed_use_.store(use, std::memory_order_release);
}

bool CudaEvent::has_ended(std::uint64_t use) const {
  if (ended_use_.load(std::memory_order_acquire) == use) return true;
  const Table& table = driver_->table();
  driver_->select_any();
  cudaError_t status = cudaSuccess;
  {
    const std::lock_guard lock(mutex_);
    status = table.cudaEventQuery(event_);
  }
  if (status == cudaErrorNotReady) {
    table.cudaGetLastError();
    return false;
  }
  if (status != cudaSuccess) {
    broken_use_.store(use, std::memory_order_release);
  } else {
    const std::lock_guard lock(mutex_);
    if (recorded(use) && own_.records != nullptr) own_.records->note_ended(own_.end);
  }
  ended_use_.store(use, std::memory_order_release);
  return true;
}

/// The number of the use is read first: an event that is reused at this moment, and has not been
/// recorded again, is not taken for one whose work has ended.
bool CudaEvent::done() const {
  const std::uint64_t now = use();
  return recorded(now) && has_ended(now);
}

bool CudaEvent::failed() const {
  const std::uint64_t now = use();
  if (failed_use_.load(std::memory_order_acquire) == now) return true;
  if (broken_use_.load(std::memory_order_acquire) == now) return true;
  const std::lock_guard lock(mutex_);
  const auto any_wrong = [](const CheckedLaunches& launches) { return launches.any_wrong(); };
  return recorded(now) &&
         (own_.any_wrong() || std::any_of(others_.begin(), others_.end(), any_wrong));
}

bool add_checks(Checks& all, const CheckedLaunches& launches) {
  if (launches.records == nullptr || launches.end == launches.begin) return false;
  const auto same = std::find_if(all.begin(), all.end(), [&](const CheckedLaunches& known) {
    return known.records == launches.records && known.begin == launches.begin;
  });
  if (same == all.end()) {
    all.push_back(launches);
    return true;
  }
  if (same->end >= launches.end) return false;
  same->end = launches.end;
  return true;
}

void CudaEvent::add_checks(Checks& all) const {
  const std::lock_guard lock(mutex_);
  cuda::add_checks(all, own_);
  for (const CheckedLaunches& launches : others_) cuda::add_checks(all, launches);
}

void CudaEvent::make_wait(cudaStream_t stream) const {
  const std::lock_guard lock(mutex_);
  if (event_ != nullptr) TOWERFLOW_CUDA(driver_->table(), cudaStreamWaitEvent(stream, event_, 0));
}

cudaEvent_t CudaEvent::handle() const {
  const std::lock_guard lock(mutex_);
  return event_;
}

bool CudaEvent::await_recorded_for(std::chrono::microseconds time) {
  if (recorded()) return true;
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return recorded(); });
}

void CudaEvent::await(std::uint64_t wanted, Cancellation* cancellation) {
  const auto reached = [&] { return recorded(wanted) || use() != wanted; };
  wait_until_reached(mutex_, changed_, reached, cancellation);
}

/// Asks again and again, first without a pause: what is awaited mostly takes less time than a
/// sleep, and a wait inside of CUDA could not be cancelled.
void CudaEvent::await_done(std::uint64_t wanted, Cancellation* cancellation) {
  await(wanted, cancellation);
  constexpr int kWithoutPause = 200;
  for (int asked = 0; use() == wanted && recorded(wanted) && !has_ended(wanted); ++asked) {
    if (cancellation != nullptr && cancellation->cancelled()) return;
    if (asked < kWithoutPause)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

}  // namespace towerflow::cuda

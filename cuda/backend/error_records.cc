#include "cuda/backend/error_records.h"

#include <algorithm>
#include <utility>

#include "cuda/backend/check.h"

namespace towerflow::cuda {

ErrorRecords::ErrorRecords(std::shared_ptr<Driver> driver) : driver_(std::move(driver)) {
  void* memory = nullptr;
  TOWERFLOW_CUDA(driver_->table(),
                 cudaHostAlloc(&memory, kMost * sizeof(device::DataError), cudaHostAllocPortable));
  records_ = static_cast<device::DataError*>(memory);
  std::fill(records_, records_ + kMost, device::DataError{});
}

ErrorRecords::~ErrorRecords() { driver_->table().cudaFreeHost(records_); }

device::DataError* ErrorRecords::take() {
  return records_ + place(taken_.fetch_add(1, std::memory_order_acq_rel));
}

std::size_t ErrorRecords::first_wrong(std::size_t end) const {
  // Kernels write the memory: it must be read each time.
  const volatile device::DataError* records = records_;
  for (std::size_t at = known(); at < end; ++at) {
    if (records[place(at)].found != 0) return at;
  }
  return end;
}

bool ErrorRecords::any_wrong(std::size_t begin, std::size_t end) const {
  if (first_wrong(end) < end) return true;
  const std::size_t wrong = wrong_.load(std::memory_order_acquire);  // after the records
  return begin <= wrong && wrong < end;
}

bool CheckedLaunches::any_wrong() const {
  return records != nullptr && records->any_wrong(begin, end);
}

void ErrorRecords::note_ended(std::size_t end) {
  if (first_wrong(end) != end) return;
  std::size_t before = known();
  while (before < end && !known_.compare_exchange_weak(before, end, std::memory_order_acq_rel)) {
  }
}

void ErrorRecords::forget() {
  const std::size_t wrong = first_wrong(taken());
  if (wrong < taken()) wrong_.store(wrong, std::memory_order_release);
  for (std::size_t at = known(); at < taken(); ++at) records_[place(at)] = {};
  known_.store(taken(), std::memory_order_release);
}

}  // namespace towerflow::cuda

#include "cuda/backend/error_records.h"

#include <algorithm>

namespace towerflow::cuda {

ErrorRecords::ErrorRecords(const Driver& driver)
    : memory_(driver.allocate_pinned(kMost * sizeof(device::DataError))),
      records_(static_cast<device::DataError*>(memory_.get())) {
  std::fill(records_, records_ + kMost, device::DataError{});
}

device::DataError* ErrorRecords::take() {
  return records_ + place(taken_.fetch_add(1, std::memory_order_acq_rel));
}

void ErrorRecords::begin_run() {
  const std::lock_guard lock(mutex_);
  run_.store(taken(), std::memory_order_release);
}

std::size_t ErrorRecords::first_wrong_of(std::size_t begin, std::size_t end) const {
  // Kernels write the memory: it must be read each time.
  const volatile device::DataError* records = records_;
  for (std::size_t at = begin; at < end; ++at) {
    if (records[place(at)].found != 0) return at;
  }
  return end;
}

std::size_t ErrorRecords::first_wrong(std::size_t end) const {
  const std::lock_guard lock(mutex_);
  return first_wrong_of(known(), end);
}

bool ErrorRecords::any_wrong(std::size_t begin, std::size_t end) const {
  const std::lock_guard lock(mutex_);
  return first_wrong_of(known(), end) < end || (begin <= wrong_ && wrong_ < end);
}

bool CheckedLaunches::any_wrong() const {
  return records != nullptr && records->any_wrong(begin, end);
}

void ErrorRecords::note_ended(std::size_t end) {
  const std::lock_guard lock(mutex_);
  if (known() < end && first_wrong_of(known(), end) == end) known_ = end;
}

void ErrorRecords::forget() {
  const std::lock_guard lock(mutex_);
  const std::size_t wrong = first_wrong_of(known(), taken());
  if (wrong < taken()) wrong_ = wrong;
  for (std::size_t at = known(); at < taken(); ++at) records_[place(at)] = {};
  known_ = taken();
}

}  // namespace towerflow::cuda

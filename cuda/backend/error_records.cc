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
  return records_ + taken_.fetch_add(1, std::memory_order_acq_rel);
}

std::size_t ErrorRecords::first_wrong(std::size_t count) const {
  // Kernels write the memory: it must be read each time.
  const volatile device::DataError* records = records_;
  std::size_t at = 0;
  while (at < count && records[at].found == 0) ++at;
  return at;
}

void ErrorRecords::clear() {
  std::fill(records_, records_ + taken(), device::DataError{});
  taken_.store(0, std::memory_order_release);
}

}  // namespace towerflow::cuda

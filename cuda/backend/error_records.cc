#include "cuda/backend/error_records.h"

#include <algorithm>
#include <utility>

#include "cuda/backend/check.h"

namespace towerflow::cuda {

ErrorRecords::ErrorRecords(std::shared_ptr<Driver> driver) : driver_(std::move(driver)) {
  void* memory = nullptr;
  TOWERFLOW_CUDA(driver_->table(),
                 cudaHostAlloc(&memory, kMost * sizeof(int), cudaHostAllocPortable));
  records_ = static_cast<int*>(memory);
  std::fill(records_, records_ + kMost, 0);
}

ErrorRecords::~ErrorRecords() { driver_->table().cudaFreeHost(records_); }

int* ErrorRecords::take() { return records_ + taken_.fetch_add(1, std::memory_order_acq_rel); }

std::size_t ErrorRecords::first_wrong(std::size_t count) const {
  // Kernels write the memory: it must be read each time.
  const volatile int* records = records_;
  std::size_t at = 0;
  while (at < count && records[at] == 0) ++at;
  return at;
}

void ErrorRecords::clear() {
  std::fill(records_, records_ + taken(), 0);
  taken_.store(0, std::memory_order_release);
}

}  // namespace towerflow::cuda

#include "cuda/backend/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/graph/error.h"
#include "cuda/backend/check.h"

namespace towerflow::cuda {

Device::Device(std::shared_ptr<Driver> driver, int number, std::string name, std::size_t limit,
               std::shared_ptr<PlanTable> plans)
    : driver_(std::move(driver)),
      number_(number),
      name_(std::move(name)),
      limit_(limit),
      plan_table_(std::move(plans)) {}

/// Takes bytes off the limit; returns false, and takes none, if fewer are left.
bool Device::take_memory(std::size_t bytes) {
  std::size_t used = used_;
  do {
    if (limit_ > 0 && (bytes > limit_ || used > limit_ - bytes)) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes));
  return true;
}

std::shared_ptr<void> Device::allocate(std::size_t bytes) {
  bytes = std::max<std::size_t>(bytes, 1);
  if (!take_memory(bytes)) {
    throw errors::ResourceExhaustedError(
        fmt::format("{} is out of memory: {} bytes asked for, {} of its {} are used", name_, bytes,
                    used_.load(), limit_),
        {.hint = "use a smaller batch, fewer devices per card, or a larger limit"});
  }
  std::shared_ptr<void> taken(nullptr,
                              [own = shared_from_this(), bytes](void*) { own->used_ -= bytes; });
  select();
  void* memory = nullptr;
  const cudaError_t status = [&] {
    const auto held = driver_->hold_groups();
    return table().cudaMalloc(&memory, bytes);
  }();
  if (status == cudaErrorMemoryAllocation) {
    table().cudaGetLastError();
    std::size_t free = 0, total = 0;
    TOWERFLOW_CUDA(table(), cudaMemGetInfo(&free, &total));
    throw errors::ResourceExhaustedError(
        fmt::format("{} is out of memory: {} bytes asked for, {} of {} free", name_, bytes, free,
                    total),
        {.hint = "use a smaller batch, or fewer towers per device"});
  }
  if (status != cudaSuccess) raise_failure(describe(table(), status, "table.cudaMalloc(..)"));
  return {memory, [driver = driver_, taken](void* at) {
            const auto held = driver->hold_groups();
            driver->table().cudaFree(at);
          }};
}

/// What cannot be given back after a fault stays: the process has to end anyway.
Device::~Device() {
  const auto held = driver_->hold_groups();
  if (table().cudaSetDevice(number_) != cudaSuccess) return;
  for (const Stream& stream : idle_) {
    if (stream.dnn != nullptr) table().cudnnDestroy(stream.dnn);
    table().cudaStreamDestroy(stream.stream);
  }
  if (dnn_ != nullptr) table().cudnnDestroy(dnn_);
  if (blas_ != nullptr) table().cublasLtDestroy(blas_);
}

cublasLtHandle_t Device::blas() {
  const std::lock_guard lock(mutex_);
  if (blas_ == nullptr) {
    driver_->need(Group::cublaslt);
    select();
    const auto held = driver_->hold_groups();
    TOWERFLOW_CUDA(table(), cublasLtCreate(&blas_));
  }
  return blas_;
}

cudnnHandle_t Device::dnn() {
  if (dnn_ == nullptr) {
    driver_->need(Group::cudnn);
    select();
    const auto held = driver_->hold_groups();
    TOWERFLOW_CUDA(table(), cudnnCreate(&dnn_));
  }
  return dnn_;
}

Stream Device::take_stream() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      const Stream stream = idle_.back();
      idle_.pop_back();
      return stream;
    }
  }
  Stream made;
  select();
  TOWERFLOW_CUDA(table(), cudaStreamCreateWithFlags(&made.stream, cudaStreamNonBlocking));
  return made;
}

void Device::give_back(Stream stream) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(stream);
}

void Device::add_dnn(Stream& stream) {
  driver_->need(Group::cudnn);
  const auto held = driver_->hold_groups();
  cudnnHandle_t made = nullptr;
  TOWERFLOW_CUDA(table(), cudnnCreate(&made));
  stream.dnn = made;
  TOWERFLOW_CUDA(table(), cudnnSetStream(made, stream.stream));
}

}  // namespace towerflow::cuda

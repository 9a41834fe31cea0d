#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/graph/lane.h"
#include "cuda/backend/driver.h"

namespace towerflow::cuda {

class PlanTable;

/// A stream, with the handle of cuDNN that works in it once it is needed.
struct Stream {
  cudaStream_t stream = nullptr;
  cudnnHandle_t dnn = nullptr;
};

/// One device of a session: its streams, and handles of the libraries. Thread-safe.
class Device : public std::enable_shared_from_this<Device> {
 public:
  /// `number` is that of the card; `name` is for messages: "/device:GPU:0"; `limit` is the most
  /// bytes that it may allocate, 0 for no limit; `plans` may be null.
  Device(std::shared_ptr<Driver> driver, int number, std::string name, std::size_t limit,
         std::shared_ptr<PlanTable> plans = nullptr);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  Driver& driver() const { return *driver_; }
  const std::shared_ptr<Driver>& shared_driver() const { return driver_; }
  const Table& table() const { return driver_->table(); }
  int number() const { return number_; }
  const std::string& name() const { return name_; }
  const cudaDeviceProp& properties() const {
    return driver_->devices()[static_cast<std::size_t>(number_)];
  }
  std::size_t limit() const { return limit_; }
  /// Returns memory of the card. Throws ResourceExhaustedError if it or the limit is used up.
  std::shared_ptr<void> allocate(std::size_t bytes);
  /// Makes this the device of the calling thread.
  void select() const { driver_->select(number_); }

  cudaKernel_t kernel(const std::string& name) const { return driver_->kernel(name); }
  /// Returns a kernel that is compiled for this card; null if NVRTC is missing or refuses it.
  cudaKernel_t compiled(const KernelSource& source) const {
    select();
    return driver_->compiled_kernels().find(properties(), source);
  }
  /// Returns the handle of cuBLASLt.
  cublasLtHandle_t blas();
  /// Returns a handle of cuDNN that no stream uses, for plans; hold `planning` meanwhile.
  cudnnHandle_t dnn();
  std::mutex& planning() { return planning_; }
  /// Returns the plans of convolutions that the session's devices share; null if it has no file of
  /// them and measures none.
  const std::shared_ptr<PlanTable>& plan_table() const { return plan_table_; }

  /// Lends a stream in which no work is left, and takes it back. Making one takes long.
  Stream take_stream();
  void give_back(Stream stream);
  /// Makes a handle of cuDNN for a stream that has none.
  void add_dnn(Stream& stream);

 private:
  bool take_memory(std::size_t bytes);

  std::shared_ptr<Driver> driver_;
  const int number_;
  const std::string name_;
  const std::size_t limit_;
  const std::shared_ptr<PlanTable> plan_table_;
  std::atomic<std::size_t> used_{0};
  std::mutex mutex_;  // guards the members below but the last two
  std::vector<Stream> idle_;
  cublasLtHandle_t blas_ = nullptr;
  std::mutex planning_;
  cudnnHandle_t dnn_ = nullptr;
};

}  // namespace towerflow::cuda

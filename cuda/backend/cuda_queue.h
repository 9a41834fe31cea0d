#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/device/queue.h"
#include "cuda/backend/cuda_event.h"
#include "cuda/backend/device.h"
#include "cuda/backend/error_records.h"
#include "cuda/backend/stream_times.h"

namespace towerflow::cuda {

/// A queue of a GPU: a stream. Work of another backend is awaited on the thread that enqueues.
///
/// A call that CUDA refuses, a wait for work that has failed, and data that a kernel finds wrong
/// end the queue: it enqueues nothing more until `synchronize` has returned the error. Kernels that
/// are in the stream by then run to their end.
class CudaQueue final : public Queue {
 public:
  explicit CudaQueue(std::shared_ptr<Device> device);
  ~CudaQueue() override;

  bool asynchronous() const override { return true; }
  void start(bool timed) override;
  void begin(std::size_t index, Span* span) override;
  void end() override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void record(Event& event) override;
  void wait(Event& event, Cancellation& cancellation) override;
  void wait(const EventUse& moment, Cancellation& cancellation) override;
  bool failed() const override { return failed_.load(std::memory_order_acquire); }
  std::optional<QueueError> synchronize() noexcept override;

  /// For kernels: calls `work`, which puts them into the stream, unless the queue has failed. What
  /// it throws is the queue's error.
  template <class Work>
  void enqueue(const Work& work) {
    if (failed()) return;
    try {
      device_->select();
      work();
    } catch (...) {
      fail(std::current_exception(), instruction_);
    }
  }
  /// For kernels, in the function given to `enqueue`: sets the bytes of device memory to 0.
  void fill_with_zeros(void* memory, std::size_t bytes);
  Device& device() const { return *device_; }
  cudaStream_t stream() const { return stream_.stream; }
  /// For kernels, in that function: work of other devices that is not in a stream yet, or that
  /// fails, may keep the stream from going on; `synchronize` looks for that.
  void watch(const std::shared_ptr<Clique>& clique);
  /// Returns the handle of cuDNN that works in the stream.
  cudnnHandle_t dnn();
  /// Returns where the next kernel writes that its data are wrong; `make_error` gives what
  /// `synchronize` reports then, and lives as long as the kernel is prepared.
  using MakeError = std::function<std::exception_ptr(const device::DataError&)>;
  device::DataError* error_record(const MakeError& make_error);

 private:
  struct Checked {  ///< a launch with a record
    std::size_t instruction = 0;
    const MakeError* make_error = nullptr;
  };
  struct Recorded {
    std::shared_ptr<CudaEvent> event;
    std::uint64_t use = 0;
    std::size_t checked = 0;  ///< launches with a record before it
  };

  struct Watched {
    std::shared_ptr<Clique> clique;
    unsigned aborts = 0;  ///< of its calls by then
  };

  void fail(std::exception_ptr error, std::size_t instruction);
  void wait_in_stream(const CudaEvent& event);
  /// Waits for an event that CUDA does not know, or whose failure only the host can see.
  void wait_on_host(Event& event, std::uint64_t use, Cancellation& cancellation);
  void make_room_for_records();
  void find_stream_error();
  void find_wrong_data();
  void forget_work();

  std::shared_ptr<Device> device_;
  Stream stream_;
  StreamTimes times_;
  std::vector<Watched> watched_;           // since the last `synchronize`
  std::shared_ptr<ErrorRecords> records_;  // made when the first kernel needs it
  std::vector<Checked> checked_;           // launches with a record since they were forgotten
  std::vector<Recorded> recorded_;         // since the last `synchronize`
  std::size_t instruction_ = 0;            // that is being enqueued
  std::optional<std::size_t> first_;       // the first since the last `synchronize`
  std::atomic<bool> failed_{false};
  std::optional<QueueError> error_;
};

}  // namespace towerflow::cuda

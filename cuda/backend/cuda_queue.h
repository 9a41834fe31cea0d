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
#include "cuda/backend/launch_record.h"
#include "cuda/backend/pending_updates.h"
#include "cuda/backend/run_parameters.h"
#include "cuda/backend/step_graph.h"
#include "cuda/backend/stream_times.h"
#include "cuda/backend/stream_work.h"

namespace towerflow::cuda {

/// A queue of a GPU: a stream. Work of another backend is awaited on the thread that enqueues.
///
/// In a run that is not timed, the queue collects what it is told, waits for events of GPUs among
/// it, and then puts it into the stream: call by call when it meets this work for the first time,
/// as a graph of CUDA from the second time on. If only addresses differ from the last time, the
/// work is captured again and the graph updated in place. The work ends where the thread has to
/// wait: for other devices, for locks, for other runs, and for an event that may itself wait for
/// the work. Without graphs, each call goes into the stream at once.
///
/// A call that CUDA refuses and a wait for work that has failed end the queue: it enqueues nothing
/// more until `synchronize` has returned the error. That a kernel here, or one that the stream has
/// waited for, finds its data wrong is seen by `synchronize`; until then work goes on.
class CudaQueue final : public Queue {
 public:
  CudaQueue(std::shared_ptr<Device> device, bool graphs);
  ~CudaQueue() override;

  bool asynchronous() const override { return true; }
  void start(bool timed) override;
  void begin(std::size_t index, Span* span) override;
  void end() override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void record(Event& event) override;
  void wait(Event& event, Cancellation& cancellation) override;
  void wait(const EventUse& moment, Cancellation& cancellation) override;
  void flush() override;
  bool may_find_wrong_data() const override;
  bool failed() const override { return failed_.load(std::memory_order_acquire); }
  std::optional<QueueError> synchronize() noexcept override;

  /// Puts a kernel into the stream, or keeps it for later.
  void enqueue(const CudaKernel& kernel, const LaunchArgs& args);
  /// Calls `work`, which puts something into the stream, unless the queue has failed. What it
  /// throws is the queue's error.
  template <class Work>
  void enqueue(const Work& work) {
    flush();
    if (failed()) return;
    try {
      device_->select();
      work();
    } catch (...) {
      fail(std::current_exception(), instruction_);
    }
  }
  /// For kernels, in `CudaKernel::run`: sets the bytes of device memory to 0.
  void fill_with_zeros(void* memory, std::size_t bytes);
  /// For kernels, in that function: updates a variable. Updates that follow each other and can be
  /// made by one launch go into the stream together, before anything else does.
  void add_update(const VariableUpdate& update);
  Device& device() const { return *device_; }
  /// Returns the stream, for work that follows all that is enqueued. Throws what CUDA says of the
  /// launch of pending updates.
  cudaStream_t stream();
  /// For kernels, in that function: work of other devices that is not in a stream yet, or that
  /// fails, may keep the stream from going on; `synchronize` looks for that.
  void watch(const std::shared_ptr<Clique>& clique);
  /// Returns the handle of cuDNN that works in the stream.
  cudnnHandle_t dnn();
  /// Returns where the next kernel writes that its data are wrong; `make_error` gives what
  /// `synchronize` reports then, and lives as long as the kernel is prepared.
  using MakeError = cuda::MakeError;
  device::DataError* error_record(const MakeError& make_error);
  /// Returns the parameters of the kernel that is being put into the stream.
  const std::byte* parameters() const { return parameters_; }

 private:
  struct Recorded {
    std::shared_ptr<CudaEvent> event;
    std::uint64_t use = 0;
    std::size_t checked = 0;  ///< launches with a record before it
    std::size_t waited = 0;   ///< checks of other queues before it
  };
  struct Waited {
    CheckedLaunches launches;  ///< of another queue
    std::size_t instruction = 0;
  };

  struct Watched {
    std::shared_ptr<Clique> clique;
    unsigned aborts = 0;  ///< of its calls by then
  };
  bool holds_back() const { return graphs_ != nullptr && !times_.timed(); }
  /// Waits until the event of this run is recorded; puts what is held back into the stream first if
  /// that may be needed.
  void await_recorded(CudaEvent& event, Cancellation& cancellation);
  void record_now(CudaEvent& event);
  std::byte* parameters_for(const CudaKernel& kernel, const LaunchArgs& args);
  void run_kernel(const CudaKernel& kernel, const LaunchArgs& args, const std::byte* parameters);
  void put_work();
  void put_updates();
  void put_record(const WorkCall& call);
  void put_wait(const WorkCall& call);
  void make_call(const WorkCall& call);
  void capture_call(const WorkCall& call);
  /// Returns whether there are records of wrong data for its kernels.
  bool has_room_for(const StepGraph& graph) const;
  bool replay(StepGraph& graph);
  bool capture(StepGraph& graph);
  void launch(const StepGraph& graph, std::size_t first_record);

  void fail(std::exception_ptr error, std::size_t instruction);
  /// Lets the stream wait. If the event `affects` this queue, so do wrong data of work before it.
  void wait_in_stream(const CudaEvent& event, bool affects);
  /// Notes the launches before the event that may find their data wrong.
  void note_checks(const CudaEvent& event);
  CheckedLaunches own_checks() const;
  /// Waits for an event that CUDA does not know, or one that has failed.
  void wait_on_host(Event& event, std::uint64_t use, Cancellation& cancellation);
  void make_room_for_records();
  void find_stream_error();
  void find_wrong_data();
  std::size_t first_wrong_waited() const;
  void forget_work();

  std::shared_ptr<Device> device_;
  Stream stream_;
  StreamTimes times_;
  std::vector<Watched> watched_;           // since the last `synchronize`
  std::shared_ptr<ErrorRecords> records_;  // made when the first kernel needs it
  std::vector<CheckedLaunch> checked_;     // since they were forgotten
  std::vector<Recorded> recorded_;         // since the last `synchronize`
  std::vector<Waited> waited_;             // since the last `synchronize`, in order
  Checks checks_;                          // the same, each queue once
  RunParameters run_parameters_;
  const std::byte* parameters_ = nullptr;
  StreamWork work_;               // held back
  PendingUpdates updates_;        // not in the stream yet, empty between calls
  std::size_t first_update_ = 0;  // the instruction of the first of them
  std::vector<const WorkCall*> records_after_updates_;  // put into the stream with them
  StepGraph* capturing_ = nullptr;
  std::unique_ptr<StepGraphs> graphs_;  // null: nothing is held back
  bool putting_ = false;                // `work_` is being put into the stream
  bool in_kernel_ = false;              // a kernel puts its work into the stream
  std::size_t instruction_ = 0;         // that is being enqueued
  std::optional<std::size_t> first_;    // the first since the last `synchronize`
  std::atomic<bool> failed_{false};
  std::optional<QueueError> error_;
};

}  // namespace towerflow::cuda

#include "cuda/backend/cuda_queue.h"

#include <algorithm>
#include <utility>

#include "core/graph/error.h"
#include "cuda/backend/check.h"
#include "cuda/backend/clique.h"

namespace towerflow::cuda {

CudaQueue::CudaQueue(std::shared_ptr<Device> device)
    : device_(std::move(device)), stream_(device_->take_stream()), times_(*device_) {}

CudaQueue::~CudaQueue() {
  synchronize();
  device_->give_back(stream_);
}

void CudaQueue::start(bool timed) { times_.start(timed, stream_.stream); }

void CudaQueue::begin(std::size_t index, Span* span) {
  instruction_ = index;
  if (!first_) first_ = index;
  enqueue([&] { times_.begin(span, stream_.stream); });
}

void CudaQueue::end() {
  enqueue([&] { times_.end(stream_.stream); });
}

void CudaQueue::copy(void* to, const void* from, std::size_t bytes) {
  enqueue([&] {
    TOWERFLOW_CUDA(device_->table(),
                   cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.stream));
  });
}

void CudaQueue::record(Event& event) {
  auto& own = static_cast<CudaEvent&>(event);
  const std::size_t checked = records_ == nullptr ? 0 : records_->taken();
  recorded_.push_back({own.shared_from_this(), own.use(), checked});
  try {
    device_->select();
    own.record(*device_, stream_.stream, records_, failed());
  } catch (...) {
    own.give_up();
    fail(std::current_exception(), instruction_);
  }
}

void CudaQueue::wait(Event& event, Cancellation& cancellation) {
  event.await_recorded(cancellation);
  if (cancellation.cancelled()) return;  // the event may never be recorded
  const auto* own = dynamic_cast<const CudaEvent*>(&event);
  if (own == nullptr || own->may_fail()) {
    return wait_on_host(event, event.use(), cancellation);
  }
  wait_in_stream(*own);
}

void CudaQueue::wait(const EventUse& moment, Cancellation& cancellation) {
  if (moment.event == nullptr) return;
  const auto* own = dynamic_cast<const CudaEvent*>(moment.event.get());
  if (own == nullptr || own->may_fail()) {
    wait_on_host(*moment.event, moment.use, cancellation);
  } else {
    // The event may be recorded anew meanwhile: to wait for that, which ends too, does no harm.
    wait_in_stream(*own);
  }
  if (moment.failed()) {
    throw errors::CancelledError("an operation of another run has failed");
  }
}

/// Also after an error: an event that is recorded later is done only after all that came before.
void CudaQueue::wait_in_stream(const CudaEvent& event) {
  try {
    event.make_wait(stream_.stream);
  } catch (...) {
    fail(std::current_exception(), instruction_);
  }
}

void CudaQueue::wait_on_host(Event& event, std::uint64_t use, Cancellation& cancellation) {
  event.await_done(use, &cancellation);
  if (cancellation.cancelled()) return;
  if (event.failed_in(use)) {
    throw errors::CancelledError("an operation that this one waits for has failed");
  }
}

void CudaQueue::watch(const std::shared_ptr<Clique>& clique) {
  const bool known = std::any_of(watched_.begin(), watched_.end(),
                                 [&](const Watched& one) { return one.clique == clique; });
  if (!known) watched_.push_back({clique, clique->aborts()});
}

void CudaQueue::fill_with_zeros(void* memory, std::size_t bytes) {
  TOWERFLOW_CUDA(device_->table(), cudaMemsetAsync(memory, 0, bytes, stream_.stream));
}

cudnnHandle_t CudaQueue::dnn() {
  if (stream_.dnn == nullptr) device_->add_dnn(stream_);
  return stream_.dnn;
}

device::DataError* CudaQueue::error_record(const MakeError& make_error) {
  if (records_ != nullptr && !records_->has_room()) make_room_for_records();
  if (records_ == nullptr) records_ = std::make_shared<ErrorRecords>(device_->shared_driver());
  checked_.push_back({.instruction = instruction_, .make_error = &make_error});
  return records_->take();
}

/// Waits for the kernels that have records, which are all in use.
void CudaQueue::make_room_for_records() {
  TOWERFLOW_CUDA(device_->table(), cudaStreamSynchronize(stream_.stream));
  find_wrong_data();
  if (error_) std::rethrow_exception(error_->error);
  records_->forget();
  checked_.clear();
}

void CudaQueue::fail(std::exception_ptr error, std::size_t instruction) {
  if (!error_) error_ = {std::move(error), instruction};
  failed_.store(true, std::memory_order_release);
}

/// Of a kernel that failed CUDA says only that it was one of those that the host did not know to
/// have ended: the error is that of the first.
void CudaQueue::find_stream_error() {
  std::exception_ptr error;
  try {
    device_->select();
    for (const Watched& watched : watched_) watched.clique->await(stream_.stream, watched.aborts);
    TOWERFLOW_CUDA(device_->table(), cudaStreamSynchronize(stream_.stream));
    times_.fill_spans();
    return;
  } catch (const errors::InternalError& internal) {
    const std::string fault = device_->driver().fault();
    const auto text = internal.message() + (fault.empty() ? "" : ". The emulation found: " + fault);
    error = std::make_exception_ptr(errors::InternalError(text, internal.detail()));
  } catch (...) {
    error = std::current_exception();
  }
  device_->driver().abort_cliques();
  error_ = {std::move(error), first_.value_or(0)};
  for (const Recorded& recorded : recorded_) recorded.event->mark_failed(recorded.use);
}

void CudaQueue::find_wrong_data() {
  if (records_ == nullptr) return;
  const std::size_t wrong = records_->first_wrong(records_->taken());
  if (wrong == records_->taken()) return;
  const Checked& launch = checked_[checked_.size() - (records_->taken() - wrong)];
  if (!error_ || launch.instruction <= error_->instruction) {
    error_ = QueueError{(*launch.make_error)(records_->at(wrong)), launch.instruction};
  }
  for (const Recorded& recorded : recorded_) {
    if (recorded.checked > wrong) recorded.event->mark_failed(recorded.use);
  }
}

void CudaQueue::forget_work() {
  if (records_ != nullptr) records_->forget();
  checked_.clear();
  recorded_.clear();
  first_.reset();
  watched_.clear();
  failed_.store(false, std::memory_order_release);
}

std::optional<QueueError> CudaQueue::synchronize() noexcept {
  try {
    find_stream_error();
    find_wrong_data();
  } catch (...) {
    fail(std::current_exception(), instruction_);
  }
  forget_work();
  return std::exchange(error_, std::nullopt);
}

}  // namespace towerflow::cuda

#include "cuda/backend/cuda_queue.h"

#include <algorithm>
#include <utility>

#include "core/graph/error.h"
#include "cuda/backend/check.h"
#include "cuda/backend/clique.h"
#include "cuda/backend/graph_limits.h"

namespace towerflow::cuda {

CudaQueue::CudaQueue(std::shared_ptr<Device> device, bool graphs)
    : device_(std::move(device)),
      stream_(device_->take_stream()),
      times_(*device_),
      run_parameters_(device_->shared_driver()),
      graphs_(graphs ? std::make_unique<StepGraphs>(*device_) : nullptr) {}

CudaQueue::~CudaQueue() {
  synchronize();
  device_->give_back(stream_);
}

void CudaQueue::start(bool timed) {
  flush();
  if (records_ != nullptr) records_->begin_run();
  run_parameters_.begin_run();
  times_.start(timed, stream_.stream);
}

void CudaQueue::begin(std::size_t index, Span* span) {
  instruction_ = index;
  if (!first_) first_ = index;
  if (times_.timed()) enqueue([&] { times_.begin(span, stream_.stream); });
}

void CudaQueue::end() {
  if (times_.timed()) enqueue([&] { times_.end(stream_.stream); });
}

void CudaQueue::copy(void* to, const void* from, std::size_t bytes) {
  const auto put = [&] {
    TOWERFLOW_CUDA(device_->table(), cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream()));
  };
  if (in_kernel_ || putting_) return put();  // the caller handles its errors
  if (holds_back()) return work_.add_copy(instruction_, to, from, bytes);
  enqueue(put);
}

void CudaQueue::record(Event& event) {
  auto& own = static_cast<CudaEvent&>(event);
  if (holds_back()) {
    try {
      return work_.add_record(instruction_, own, own.handle_on(*device_));
    } catch (...) {
      flush();
      own.give_up();
      return fail(std::current_exception(), instruction_);
    }
  }
  record_now(own);
}

void CudaQueue::record_now(CudaEvent& own) {
  const CheckedLaunches checks = own_checks();
  recorded_.push_back({own.shared_from_this(), own.use(), checks.end, waited_.size()});
  try {
    own.record(*device_, stream(), checks, checks_, failed());
  } catch (...) {
    own.give_up();
    fail(std::current_exception(), instruction_);
  }
}

void CudaQueue::wait(Event& event, Cancellation& cancellation) {
  auto* own = dynamic_cast<CudaEvent*>(&event);
  if (own == nullptr) {
    flush();
    event.await_recorded(cancellation);
  } else {
    await_recorded(*own, cancellation);
  }
  if (cancellation.cancelled()) return;  // the event may never be recorded
  if (own == nullptr || own->failed()) {
    flush();
    return wait_on_host(event, event.use(), cancellation);
  }
  if (!holds_back()) return wait_in_stream(*own, true);
  try {
    Checks found;
    own->add_checks(found);
    work_.add_wait(instruction_, *own, own->handle(), !found.empty());
  } catch (...) {
    flush();
    fail(std::current_exception(), instruction_);
  }
}

void CudaQueue::await_recorded(CudaEvent& event, Cancellation& cancellation) {
  if (!work_.empty() && work_.can_await(event) && event.await_recorded_for(longest_hold())) return;
  flush();
  event.await_recorded(cancellation);
}

void CudaQueue::wait(const EventUse& moment, Cancellation& cancellation) {
  if (moment.event == nullptr) return;
  flush();
  auto* own = dynamic_cast<CudaEvent*>(moment.event.get());
  if (own != nullptr) own->await_recorded(moment.use, cancellation);
  // The stream may not have been told to wait: what follows must not be enqueued.
  if (cancellation.cancelled()) throw errors::CancelledError("the run was cancelled");
  if (own == nullptr) return wait_on_host(*moment.event, moment.use, cancellation);
  // The event may be recorded anew meanwhile: to wait for that, which ends too, does no harm.
  wait_in_stream(*own, !moment.reads && own->use() == moment.use);
  if (moment.failed()) {
    throw errors::CancelledError("an operation of another run has failed");
  }
}

/// Also after an error: an event that is recorded later is done only after all that came before.
void CudaQueue::wait_in_stream(const CudaEvent& event, bool affects) {
  try {
    event.make_wait(stream_.stream);
    if (affects) note_checks(event);
  } catch (...) {
    fail(std::current_exception(), instruction_);
  }
}

void CudaQueue::note_checks(const CudaEvent& event) {
  Checks found;
  event.add_checks(found);
  for (const CheckedLaunches& launches : found) {
    if (launches.records != records_ && add_checks(checks_, launches)) {
      waited_.push_back({launches, instruction_});
    }
  }
}

void CudaQueue::wait_on_host(Event& event, std::uint64_t use, Cancellation& cancellation) {
  event.await_done(use, &cancellation);
  if (cancellation.cancelled()) throw errors::CancelledError("the run was cancelled");
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
  TOWERFLOW_CUDA(device_->table(), cudaMemsetAsync(memory, 0, bytes, stream()));
}

cudnnHandle_t CudaQueue::dnn() {
  put_updates();
  if (stream_.dnn == nullptr) device_->add_dnn(stream_);
  return stream_.dnn;
}

device::DataError* CudaQueue::error_record(const MakeError& make_error) {
  put_updates();  // the events after them know no later record
  if (records_ != nullptr && !records_->has_room()) make_room_for_records();
  if (records_ == nullptr) records_ = std::make_shared<ErrorRecords>(device_->driver());
  checked_.push_back(
      {.instruction = instruction_, .make_error = &make_error, .waited = waited_.size()});
  return records_->take();
}

/// Waits for the kernels that have records, which are all in use.
void CudaQueue::make_room_for_records() {
  // During a capture this is refused, and the work is then put into the stream call by call.
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
  bool only_aborted = false;
  try {
    device_->select();
    std::optional<std::string> aborted;
    for (const Watched& watched : watched_) {
      if (auto reason = watched.clique->await(stream_.stream, watched.aborts)) aborted = reason;
    }
    TOWERFLOW_CUDA(device_->table(), cudaStreamSynchronize(stream_.stream));
    times_.fill_spans();
    if (!aborted) return;
    only_aborted = true;
    error = std::make_exception_ptr(
        errors::InternalError("a sum of gradients by NCCL was aborted: " + *aborted));
  } catch (const errors::InternalError& internal) {
    const std::string fault = device_->driver().fault();
    const auto text = internal.message() + (fault.empty() ? "" : ". The emulation found: " + fault);
    error = std::make_exception_ptr(errors::InternalError(text, internal.detail()));
  } catch (...) {
    error = std::current_exception();
  }
  // After an abort, other runs may have begun sums that are well.
  if (!only_aborted) device_->driver().abort_cliques();
  error_ = {std::move(error), first_.value_or(0)};
  for (const Recorded& recorded : recorded_) recorded.event->mark_failed(recorded.use);
}

/// An error of this queue counts unless it may follow from one of a queue that was waited for.
void CudaQueue::find_wrong_data() {
  const std::size_t waited = first_wrong_waited();
  const std::size_t taken = own_checks().end;
  const std::size_t wrong = records_ == nullptr ? 0 : records_->first_wrong(taken);
  if (wrong < taken) {
    const CheckedLaunch& launch = checked_[checked_.size() - (taken - wrong)];
    if (launch.waited <= waited && (!error_ || launch.instruction <= error_->instruction)) {
      error_ = QueueError{(*launch.make_error)(records_->at(wrong)), launch.instruction};
    }
  }
  if (waited < waited_.size() && (!error_ || waited_[waited].instruction < error_->instruction)) {
    error_ = QueueError{std::make_exception_ptr(errors::CancelledError(
                            "an operation that this one waits for has failed")),
                        waited_[waited].instruction};
  }
  for (const Recorded& recorded : recorded_) {
    if (recorded.checked > wrong || recorded.waited > waited) {
      recorded.event->mark_failed(recorded.use);
    }
  }
}

/// Returns the number of checks of other queues that were waited for before one that failed.
std::size_t CudaQueue::first_wrong_waited() const {
  const auto wrong = std::find_if(waited_.begin(), waited_.end(),
                                  [](const Waited& waited) { return waited.launches.any_wrong(); });
  return static_cast<std::size_t>(wrong - waited_.begin());
}

bool CudaQueue::may_find_wrong_data() const {
  return !checked_.empty() || !waited_.empty() || work_.checks_data();
}

CheckedLaunches CudaQueue::own_checks() const {
  if (records_ == nullptr) return {};
  return {.records = records_, .begin = records_->run(), .end = records_->taken()};
}

void CudaQueue::forget_work() {
  if (records_ != nullptr) records_->forget();
  checked_.clear();
  recorded_.clear();
  waited_.clear();
  checks_.clear();
  first_.reset();
  watched_.clear();
  failed_.store(false, std::memory_order_release);
}

std::optional<QueueError> CudaQueue::synchronize() noexcept {
  flush();
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

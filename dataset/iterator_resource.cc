#include "dataset/iterator_resource.h"

#include <optional>

#include "core/graph/error.h"

namespace towerflow::data {

/// The right to ask for the next element. Waiting for it ends if the call is cancelled.
class RunningDataset::Turn {
 public:
  Turn(RunningDataset& dataset, const Pull& pull) : dataset_(dataset) {
    {
      std::lock_guard lock(dataset_.mutex_);
      if (!dataset_.busy_) {
        dataset_.busy_ = true;
        return;
      }
    }
    std::optional<ThreadPool::Blocked> idle;
    if (pull.pool != nullptr) idle.emplace(*pull.pool);
    bool cancelled = false;
    const CancellationCallback wake(pull.cancellation, [&] {
      std::lock_guard lock(dataset_.mutex_);
      cancelled = true;
      dataset_.changed_.notify_all();
    });
    // Unlocked before the callback is destroyed, which waits for a callback in progress.
    std::unique_lock lock(dataset_.mutex_);
    dataset_.changed_.wait(lock, [&] { return !dataset_.busy_ || cancelled; });
    if (cancelled) throw errors::CancelledError("the iterator was cancelled");
    dataset_.busy_ = true;
  }
  ~Turn() {
    std::lock_guard lock(dataset_.mutex_);
    dataset_.busy_ = false;
    dataset_.changed_.notify_one();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  RunningDataset& dataset_;
};

void RunningDataset::next(ElementValue& element, Cancellation& run, ThreadPool& pool) {
  // Ends with the run, and with the iterator.
  Cancellation either;
  const CancellationCallback with_run(run, [&either] { either.cancel(); });
  const CancellationCallback with_iterator(context_.stop, [&either] { either.cancel(); });
  const Pull pull{either, &pool};
  const Turn turn(*this, pull);
  if (!root_->next(element, pull)) throw errors::OutOfRangeError("End of sequence");
  std::lock_guard lock(mutex_);
  ++taken_;
}

std::uint64_t RunningDataset::taken() const {
  std::lock_guard lock(mutex_);
  return taken_;
}

void RunningDataset::skip(std::uint64_t count, Cancellation& run, ThreadPool& pool) {
  Cancellation either;
  const CancellationCallback with_run(run, [&either] { either.cancel(); });
  const CancellationCallback with_iterator(context_.stop, [&either] { either.cancel(); });
  const Pull pull{either, &pool};
  const Turn turn(*this, pull);
  const std::uint64_t skipped = root_->skip(count, pull);
  std::lock_guard lock(mutex_);
  taken_ += skipped;
}

void IteratorResource::initialize(const DatasetProgram& program,
                                  const std::vector<Array>& arguments) {
  std::lock_guard one_at_a_time(initializing_);
  replace(std::make_shared<RunningDataset>(program, arguments));
}

void IteratorResource::initialize_once(const DatasetProgram& program,
                                       const std::vector<Array>& arguments) {
  std::lock_guard one_at_a_time(initializing_);
  if (!initialized()) replace(std::make_shared<RunningDataset>(program, arguments));
}

bool IteratorResource::initialized() const {
  std::lock_guard lock(mutex_);
  return running_ != nullptr;
}

void IteratorResource::replace(std::shared_ptr<RunningDataset> made) {
  {
    std::lock_guard lock(mutex_);
    if (shut_down_) throw errors::CancelledError("the session was closed");
    running_.swap(made);
  }
  if (made != nullptr) made->stop();  // its threads are joined outside of the lock
}

std::shared_ptr<RunningDataset> IteratorResource::running() const {
  std::lock_guard lock(mutex_);
  if (running_ == nullptr) {
    throw errors::FailedPreconditionError(
        "GetNext() failed because the iterator has not been initialized. Ensure that you have run "
        "the initializer operation for this iterator before getting the next element.");
  }
  return running_;
}

void IteratorResource::shut_down() {
  std::lock_guard lock(mutex_);
  shut_down_ = true;
  if (running_ != nullptr) running_->stop();
}

}  // namespace towerflow::data

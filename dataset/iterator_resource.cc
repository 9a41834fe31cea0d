#include "dataset/iterator_resource.h"

#include <optional>
#include <utility>

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
  drop_skipped(pull);
  const auto count = [this] {
    std::lock_guard lock(mutex_);
    ++taken_;
  };
  try {
    if (!root_->next(element, pull)) throw errors::OutOfRangeError("End of sequence");
  } catch (const errors::CancelledError&) {
    throw;
  } catch (const errors::OutOfRangeError&) {
    throw;
  } catch (...) {
    count();
    throw;
  }
  count();
}

/// Called with the turn.
void RunningDataset::drop_skipped(const Pull& pull) {
  std::uint64_t count = 0;
  {
    std::lock_guard lock(mutex_);
    count = std::exchange(to_skip_, 0);
  }
  if (count > 0) {
    lost_ = true;
    root_->skip(count, pull);
    lost_ = false;
  }
  if (lost_) {
    throw errors::FailedPreconditionError(
        "the position of the iterator could not be restored",
        {.hint = "initialize the iterator again to begin at the first element"});
  }
}

std::uint64_t RunningDataset::taken() const {
  std::lock_guard lock(mutex_);
  return taken_;
}

void RunningDataset::skip(std::uint64_t count) {
  std::lock_guard lock(mutex_);
  if (taken_ > 0) {
    throw errors::FailedPreconditionError(
        "the iterator has returned elements: its position can no longer be set",
        {.hint = "restore before the first element is taken, once in a session"});
  }
  taken_ = to_skip_ = count;
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
    made->skip(std::exchange(to_skip_, 0));
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

std::uint64_t IteratorResource::taken() const {
  std::lock_guard lock(mutex_);
  return running_ == nullptr ? 0 : running_->taken();
}

void IteratorResource::skip(std::uint64_t count) {
  std::lock_guard lock(mutex_);
  if (running_ != nullptr)
    running_->skip(count);
  else
    to_skip_ = count;
}

void IteratorResource::shut_down() {
  std::lock_guard lock(mutex_);
  shut_down_ = true;
  if (running_ != nullptr) running_->stop();
}

}  // namespace towerflow::data

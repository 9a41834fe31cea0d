#include "ops/data_flow/queue_resource.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "core/graph/error.h"
#include "core/graph/log.h"

namespace towerflow {
namespace {

constexpr std::size_t kMaxSpare = 1024;       // elements whose memory is kept for later ones
constexpr std::chrono::seconds kLongWait{1};  // after which a missing runner is reported

std::string bracketed(const Shape& shape) {
  std::string text;
  for (const Dim dim : shape.dims()) {
    text += (text.empty() ? "" : ",") + (dim.known() ? std::to_string(dim.size()) : "?");
  }
  return "[" + text + "]";
}

Shape without_rows(const Shape& shape) {
  return Shape(std::vector<Dim>(shape.dims().begin() + 1, shape.dims().end()));
}

void copy_row_elements(DType dtype, const void* from, std::size_t first, Array& to) {
  const auto count = static_cast<std::size_t>(to.elements());
  if (dtype == DType::string) {
    std::copy_n(static_cast<const std::string*>(from) + first, count, to.data<std::string>());
  } else if (count > 0) {
    std::memcpy(to.raw(), static_cast<const std::byte*>(from) + first * dtype_size(dtype),
                to.bytes());
  }
}

std::string describe(const std::exception_ptr& cause) {
  try {
    std::rethrow_exception(cause);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is not derived from std::exception";
  }
}

template <class T>
void reserve_more(std::vector<T>& items, std::size_t more) {
  const std::size_t wanted = items.size() + more;
  if (wanted > items.capacity()) items.reserve(std::max(wanted, 2 * items.capacity()));
}

/// Kept by a session: only the first of its queues to miss a runner logs the warning.
class RunnerWarning final : public Resource {
 public:
  bool first() { return !given_.exchange(true); }

 private:
  std::atomic<bool> given_{false};
};

}  // namespace

/// A caller's place in a line; giving it up wakes the next caller.
class QueueResource::Place {
 public:
  /// The lock must be held.
  Place(QueueResource& queue, Line& line, Waiter& waiter)
      : queue_(queue), line_(line), waiter_(waiter) {
    line_.push_back(&waiter_);
  }
  /// The lock must not be held.
  ~Place() {
    std::lock_guard lock(queue_.mutex_);
    line_.erase(std::find(line_.begin(), line_.end(), &waiter_));
    if (!line_.empty()) line_.front()->changed.notify_one();
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  bool first() const { return line_.front() == &waiter_; }

 private:
  QueueResource& queue_;
  Line& line_;
  Waiter& waiter_;
};

/// A dequeue in progress.
struct QueueResource::Dequeue {
  std::size_t count;
  bool fewer;
  std::size_t needs;  // queue size that makes another attempt worthwhile
  std::vector<QueueOrder::Drawn> taken{};
};

/// Calls `step` under the lock each time it may have become possible, until it returns true. Calls
/// `undo` if the wait is cancelled.
template <class Step, class Undo>
void QueueResource::serve(Line& line, const QueueCaller& caller, const char* what,
                          const std::size_t* needs, Step&& step, Undo&& undo) {
  std::unique_lock lock(mutex_);
  if (shut_down_) throw errors::CancelledError(fmt::format("{} operation was cancelled", what));
  if (line.empty() && step()) return;
  Waiter waiter;
  waiter.needs = needs;
  const Place place(*this, line, waiter);
  lock.unlock();
  const ThreadPool::Blocked idle(caller.pool);
  const CancellationCallback wake(caller.cancellation, [&] {
    std::lock_guard callback_lock(mutex_);
    waiter.cancelled = true;
    waiter.changed.notify_one();
  });
  // Unlocks before `wake` is destroyed, which waits for a callback in progress.
  std::unique_lock wait_lock(mutex_);
  bool may_warn = needs != nullptr && caller.launch != nullptr;
  while (true) {
    if (waiter.cancelled || shut_down_) {
      undo();
      throw errors::CancelledError(fmt::format("{} operation was cancelled", what));
    }
    if (place.first() && step()) return;
    if (!may_warn || !lacks_runner()) {
      waiter.changed.wait(wait_lock);
    } else if (waiter.changed.wait_for(wait_lock, kLongWait) == std::cv_status::timeout) {
      may_warn = false;
      if (!lacks_runner()) continue;
      wait_lock.unlock();  // a log sink may call the queue
      warn_of_runner(*caller.launch);
      wait_lock.lock();
    }
  }
}

bool QueueResource::lacks_runner() const {
  return spec_.runner.is_set() && !may_fill_ && !closed_ && enqueuers_.empty();
}

void QueueResource::warn_of_runner(const LaunchArgs& launch) const {
  auto& warning = launch.run->resources.resource<RunnerWarning>(
      "_runner_warning", [] { return std::make_unique<RunnerWarning>(); });
  if (!warning.first()) return;
  const ErrorDetail& detail = *launch.detail;
  log_message(LogLevel::warning,
              fmt::format("{} '{}' has been empty for a second and no queue runner that fills it "
                          "was started in this session: a dequeue waits until one is\n"
                          "  node: {} ({})\n"
                          "  at: {}\n"
                          "  hint: call tf::train::start_queue_runners(sess, {{.coord = &coord}}) "
                          "before the first run that takes from a queue",
                          spec_.kind, spec_.name, detail.node, detail.op, detail.site.text()));
}

void QueueResource::enqueue(const QueueValues& values, const QueueCaller& caller,
                            const RecordPlace& record) {
  check(values, false);
  QueueElement element = make_element(values, 0, false);
  element->record = record;
  serve(
      enqueuers_, caller, "Enqueue", nullptr,
      [&] {
        check_open();
        if (order_->size() >= spec_.capacity) return false;
        admit(std::move(element));
        wake_dequeuer();
        return true;
      },
      [] {});
}

void QueueResource::enqueue_many(const QueueValues& values, const QueueCaller& caller) {
  check(values, true);
  const auto rows = static_cast<std::size_t>(values.descs[0].shape.size(0));
  std::size_t row = 0;
  serve(
      enqueuers_, caller, "Enqueue", nullptr,
      [&] {
        check_open();
        while (row < rows && order_->size() < spec_.capacity) {
          admit(make_element(values, row, true));
          ++row;
        }
        wake_dequeuer();
        return row == rows;
      },
      [] {});  // rows already enqueued stay, as in TensorFlow
}

std::vector<QueueElement> QueueResource::dequeue(std::size_t count, bool fewer,
                                                 const QueueCaller& caller) {
  std::vector<QueueElement> elements;
  if (count == 0) return elements;
  Dequeue attempt{count, fewer, required_size(count)};
  serve(
      dequeuers_, caller, "Dequeue", &attempt.needs,
      [&] {
        if (!try_dequeue(attempt)) return false;
        taken_count_ -= attempt.taken.size();
        return true;
      },
      [&] { undo_dequeue(attempt); });
  elements.reserve(attempt.taken.size());
  for (QueueOrder::Drawn& drawn : attempt.taken) elements.push_back(std::move(drawn.element));
  return elements;
}

/// Returns how many elements must be in the queue for a dequeue of `count` to make progress: all of
/// them, unless the queue cannot hold that many at once.
std::size_t QueueResource::required_size(std::size_t count) const {
  const std::size_t kept = order_->min_after_dequeue();
  return count < spec_.capacity - kept ? count + kept : spec_.capacity;
}

/// Takes elements for a dequeue and returns whether it is complete. Takes none until there are
/// `needs` elements.
bool QueueResource::try_dequeue(Dequeue& attempt) {
  if (closed_ && order_->size() + attempt.taken.size() < attempt.count) {
    undo_dequeue(attempt);
    if (!attempt.fewer || order_->size() == 0) throw_ended(attempt.count);
    attempt.count = order_->size();
  }
  if (!closed_ && order_->size() < attempt.needs) return false;
  const std::size_t kept = closed_ ? 0 : order_->min_after_dequeue();
  std::size_t there = order_->size() > kept ? order_->size() - kept : 0;
  there = std::min(there, attempt.count - attempt.taken.size());
  reserve_more(attempt.taken, there);  // before anything is drawn, which a failure would lose
  for (; there > 0; --there) {
    attempt.taken.push_back(order_->draw(closed_));
    ++taken_count_;
  }
  attempt.needs = required_size(attempt.count - attempt.taken.size());
  wake_enqueuer();
  return attempt.taken.size() == attempt.count;
}

/// Restores the queue as if the dequeue had not begun.
void QueueResource::undo_dequeue(Dequeue& attempt) {
  taken_count_ -= attempt.taken.size();
  while (!attempt.taken.empty()) {
    order_->undo(std::move(attempt.taken.back()));
    attempt.taken.pop_back();
  }
}

void QueueResource::throw_ended(std::size_t count) const {
  if (cause_ != nullptr && raise_cause_) std::rethrow_exception(cause_);
  ErrorDetail detail;
  if (cause_ != nullptr) detail.hint = "its input failed: " + describe(cause_);
  throw errors::OutOfRangeError(
      fmt::format("{} '{}' is closed and has insufficient elements (requested {}, current size {})",
                  spec_.kind, spec_.name, count, order_->size()),
      detail);
}

void QueueResource::close(const QueueCaller& caller) {
  serve(
      enqueuers_, caller, "Close", nullptr,
      [&] {
        if (closed_) {
          throw errors::CancelledError(fmt::format("Queue '{}' is already closed.", spec_.name));
        }
        closed_ = true;
        drop_skipped();
        wake_all();
        return true;
      },
      [] {});
}

void QueueResource::cancel() noexcept {
  std::lock_guard lock(mutex_);
  closed_ = true;
  drop_skipped();
  for (Waiter* waiter : enqueuers_) waiter->cancelled = true;
  wake_all();
}

void QueueResource::note_runner() {
  std::lock_guard lock(mutex_);
  may_fill_ = true;
}

void QueueResource::admit(QueueElement element) {
  order_->admit(std::move(element));
  may_fill_ = true;
  drop_skipped();
}

/// Drops elements that were dequeued in an earlier session, see `skip`.
void QueueResource::drop_skipped() {
  const std::size_t kept = closed_ ? 0 : order_->min_after_dequeue();
  for (; to_skip_ > 0 && order_->size() > kept; --to_skip_) order_->draw(closed_);
}

QueueOrder::Position QueueResource::position() const {
  std::lock_guard lock(mutex_);
  if (taken_count_ > 0) {
    throw errors::FailedPreconditionError(
        fmt::format("queue '{}' has no position while a waiting dequeue holds {} of its elements",
                    spec_.name, taken_count_),
        {.hint = "save between steps, or give the queue a larger capacity"});
  }
  QueueOrder::Position position = order_->position();
  // The elements that it held may not have been enqueued again yet.
  if (resumed_ && resumed_->drawn == position.drawn) return *resumed_;
  position.drawn += to_skip_;
  return position;
}

void QueueResource::check_unused() const {
  if (order_->position().drawn == 0 && to_skip_ == 0 && !resumed_ && order_->size() == 0 &&
      !closed_ && enqueuers_.empty()) {
    return;
  }
  throw errors::FailedPreconditionError(
      fmt::format("queue '{}' is in use: its position can no longer be set", spec_.name),
      {.hint = "restore before start_queue_runners, once in a session"});
}

void QueueResource::skip(std::uint64_t count) {
  std::lock_guard lock(mutex_);
  check_unused();
  to_skip_ = count;
}

void QueueResource::resume(QueueOrder::Position position) {
  std::lock_guard lock(mutex_);
  check_unused();
  const std::size_t most = order_->min_after_dequeue();
  const bool has_hole = position.hole != QueueOrder::kNone;
  if (position.held.size() > most || (has_hole && position.hole > most)) {
    throw errors::InvalidArgumentError(fmt::format(
        "queue '{}' cannot go on with {} elements and place {} free: {} stay behind in it",
        spec_.name, position.held.size(), static_cast<std::int64_t>(position.hole), most));
  }
  order_->resume(position);
  resumed_ = std::move(position);
}

void QueueResource::set_cause(std::exception_ptr cause, bool raise) {
  std::lock_guard lock(mutex_);
  if (cause_ != nullptr) return;
  cause_ = std::move(cause);
  raise_cause_ = raise;
}

std::size_t QueueResource::size() const {
  std::lock_guard lock(mutex_);
  return order_->size();
}

bool QueueResource::is_closed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

bool QueueResource::is_shut_down() const {
  std::lock_guard lock(mutex_);
  return shut_down_;
}

void QueueResource::shut_down() {
  std::lock_guard lock(mutex_);
  shut_down_ = true;
  wake_all();
}

void QueueResource::check_open() const {
  if (closed_) {
    throw errors::CancelledError(fmt::format("{} '{}' is closed.", spec_.kind, spec_.name));
  }
}

void QueueResource::check(const QueueValues& values, bool many) const {
  if (values.descs.size() != spec_.dtypes.size()) {
    throw errors::InvalidArgumentError(
        fmt::format("Wrong number of components in tuple. Expected {}, got {}", spec_.dtypes.size(),
                    values.descs.size()));
  }
  for (std::size_t i = 0; i < values.descs.size(); ++i) {
    const TensorDesc& desc = values.descs[i];
    if (desc.dtype != spec_.dtypes[i]) {
      throw errors::InvalidArgumentError(
          fmt::format("Type mismatch in tuple component {}. Expected {}, got {}", i,
                      dtype_name(spec_.dtypes[i]), dtype_name(desc.dtype)));
    }
    if (many && desc.shape.rank() == 0) {
      throw errors::InvalidArgumentError(
          fmt::format("All components must have at least one dimension, component {} has none", i));
    }
    if (many && desc.shape.size(0) != values.descs[0].shape.size(0)) {
      throw errors::InvalidArgumentError(fmt::format(
          "All components must have the same size in the 0th dimension, component {} has {} "
          "and component 0 has {}",
          i, desc.shape.size(0), values.descs[0].shape.size(0)));
    }
    if (spec_.shapes.empty()) continue;
    const Shape expected =
        many ? Shape{desc.shape.size(0)}.concatenated(spec_.shapes[i]) : spec_.shapes[i];
    if (!desc.shape.compatible(expected)) {
      throw errors::InvalidArgumentError(
          fmt::format("Shape mismatch in tuple component {}. Expected {}, got {}", i,
                      bracketed(expected), bracketed(desc.shape)));
    }
  }
}

QueueElement QueueResource::make_element(const QueueValues& values, std::size_t row, bool many) {
  QueueElement element;
  {
    std::lock_guard lock(spare_mutex_);
    if (!spare_.empty()) {
      element = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  if (element == nullptr) element = std::make_unique<QueueItem>();
  element->components.resize(spec_.dtypes.size());
  element->record = {};
  for (std::size_t i = 0; i < element->size(); ++i) {
    const TensorDesc& desc = values.descs[i];
    Array& array = (*element)[i];
    if (!spec_.shapes.empty() && spec_.shapes[i].fully_known()) {
      if (array.empty()) array = Array(desc.dtype, spec_.shapes[i]);
    } else {
      const Shape shape = many ? without_rows(desc.shape) : desc.shape;
      if (array.empty() || array.shape() != shape) array = Array(desc.dtype, shape);
    }
    copy_row_elements(desc.dtype, values.data[i], row * static_cast<std::size_t>(array.elements()),
                      array);
  }
  return element;
}

void QueueResource::recycle(std::vector<QueueElement> elements) {
  std::lock_guard lock(spare_mutex_);
  try {
    reserve_more(spare_, std::min(elements.size(), kMaxSpare - spare_.size()));
  } catch (const std::bad_alloc&) {
    return;  // their memory is freed instead
  }
  for (QueueElement& element : elements) {
    if (spare_.size() < kMaxSpare) spare_.push_back(std::move(element));
  }
}

void QueueResource::wake_dequeuer() {
  if (!dequeuers_.empty() && (closed_ || order_->size() >= *dequeuers_.front()->needs)) {
    dequeuers_.front()->changed.notify_one();
  }
}

void QueueResource::wake_enqueuer() {
  if (!enqueuers_.empty() && order_->size() < spec_.capacity) {
    enqueuers_.front()->changed.notify_one();
  }
}

void QueueResource::wake_all() {
  for (Waiter* waiter : enqueuers_) waiter->changed.notify_one();
  for (Waiter* waiter : dequeuers_) waiter->changed.notify_one();
}

}  // namespace towerflow

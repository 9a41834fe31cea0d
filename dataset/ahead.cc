#include "dataset/ahead.h"

#include <fmt/format.h>

#include <optional>
#include <system_error>
#include <utility>

#include "core/graph/error.h"

namespace towerflow::data {

ElementsAhead::ElementsAhead(std::size_t limit, IteratorContext& context)
    : limit_(limit),
      stops_with_iterator_(context.stop, [this] { stopped_.cancel(); }),
      wakes_threads_(stopped_, [this] {
        std::lock_guard lock(mutex_);
        stopping_ = true;
        room_.notify_all();
        ready_.notify_all();
      }) {}

void ElementsAhead::start(std::size_t count, const std::function<void()>& work) {
  if (started()) return;
  threads_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    try {
      threads_.emplace_back(work);
    } catch (const std::system_error& error) {
      if (!threads_.empty()) return;  // fewer threads compute the same
      throw errors::ResourceExhaustedError(
          fmt::format("cannot start a thread of a dataset: {}", error.what()));
    }
  }
}

void ElementsAhead::stop() {
  stopped_.cancel();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

ElementsAhead::Place* ElementsAhead::reserve() {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [&] { return stopping_ || ended_ || places_.size() < limit_; });
  if (stopping_ || ended_) return nullptr;
  return &places_.emplace_back();  // stays where it is while others come and go
}

void ElementsAhead::fill(Place& place) {
  std::lock_guard lock(mutex_);
  place.ready = true;
  if (place.end) {
    ended_ = true;
    room_.notify_all();
  }
  if (&place == &places_.front()) ready_.notify_all();  // the reader waits for the oldest
}

bool ElementsAhead::take(ElementValue& element, const Pull& pull) {
  const auto is_ready = [&] { return !places_.empty() && places_.front().ready; };
  const bool waits = [&] {
    std::lock_guard lock(mutex_);
    return !is_ready();
  }();
  if (waits) {
    std::optional<ThreadPool::Blocked> idle;
    if (pull.pool != nullptr) idle.emplace(*pull.pool);
    bool cancelled = false;
    const CancellationCallback wake(pull.cancellation, [&] {
      std::lock_guard lock(mutex_);
      cancelled = true;
      ready_.notify_all();
    });
    // Unlocked before the callback is destroyed, which waits for a callback in progress.
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return is_ready() || cancelled || stopping_; });
  }
  std::unique_lock lock(mutex_);
  if (!is_ready()) throw errors::CancelledError("the iterator was cancelled");
  if (places_.front().end) return false;  // it stays
  Place place = std::move(places_.front());
  places_.pop_front();
  room_.notify_one();
  lock.unlock();
  if (place.error) std::rethrow_exception(place.error);
  element = std::move(place.element);
  return true;
}

}  // namespace towerflow::data

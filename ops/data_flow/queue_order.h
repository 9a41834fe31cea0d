#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/device/ticket.h"
#include "core/graph/array.h"
#include "ops/random/philox.h"

namespace towerflow {

/// One element of a queue.
struct QueueItem {
  std::vector<Array> components;
  RecordPlace record{};  ///< that it was made from, if a reader read one in the run of its enqueue

  std::size_t size() const { return components.size(); }
  Array& operator[](std::size_t i) { return components[i]; }
  const Array& operator[](std::size_t i) const { return components[i]; }
};
using QueueElement = std::unique_ptr<QueueItem>;

/// Decides which element of a queue comes next. Not thread-safe: the queue holds its lock.
class QueueOrder {
 public:
  virtual ~QueueOrder() = default;
  virtual std::size_t size() const = 0;
  /// Returns how many elements a draw must leave, for a shuffle, while more may be enqueued.
  virtual std::size_t min_after_dequeue() const { return 0; }
  virtual void admit(QueueElement element) = 0;

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  /// The state of an order after its draws, independent of how far ahead admission is.
  struct Position {
    std::uint64_t drawn = 0;
    std::vector<RecordPlace> held;  ///< of the elements to draw from, except the newest
    std::size_t hole = kNone;       ///< index in the window of the newest
    RecordPlace last{};             ///< the last admitted of those drawn or held
  };

  /// A drawn element, with what `undo` needs.
  struct Drawn {
    QueueElement element;
    std::size_t place = 0;
    std::size_t hole_before = kNone;
    RecordPlace last_before{};
  };
  /// Takes the next element. `ended` means that no more will be admitted. There must be more than
  /// `min_after_dequeue()` elements, or at least one if `ended`.
  virtual Drawn draw(bool ended) = 0;
  /// Undoes the latest draw that has not been undone. The draw must have been made before the end.
  virtual void undo(Drawn drawn) = 0;

  /// Returns the position after the latest draw; nothing is held before the first one.
  virtual Position position() const = 0;
  /// Continues from the position of another order of the same kind. Only before anything is
  /// admitted; the elements held there are admitted again, in order, before anything else is drawn.
  virtual void resume(const Position& position) = 0;
};

/// First in, first out.
class FifoOrder final : public QueueOrder {
 public:
  std::size_t size() const override { return elements_.size(); }
  void admit(QueueElement element) override { elements_.push_back(std::move(element)); }
  Drawn draw(bool ended) override;
  void undo(Drawn drawn) override;
  Position position() const override { return {.drawn = drawn_, .held = {}, .last = last_}; }
  void resume(const Position& position) override;

 private:
  std::deque<QueueElement> elements_;
  std::uint64_t drawn_ = 0;
  RecordPlace last_{};  // the last one drawn
};

/// Draws elements one at a time, each from the oldest `min_after_dequeue + 1` (from all that are
/// left if there are fewer and no more will come), using one number of the stream per draw. The
/// result thus depends only on the stream and the order of admission, not on how many elements had
/// been admitted when a draw was made.
class ShuffleOrder final : public QueueOrder {
 public:
  ShuffleOrder(std::size_t min_after_dequeue, const random::Philox& stream)
      : min_after_dequeue_(min_after_dequeue), stream_(stream) {}
  std::size_t size() const override {
    return window_.size() - (has_gap() ? 1 : 0) + beyond_window_.size();
  }
  std::size_t min_after_dequeue() const override { return min_after_dequeue_; }
  void admit(QueueElement element) override;
  Drawn draw(bool ended) override;
  void undo(Drawn drawn) override;
  Position position() const override;
  void resume(const Position& position) override;

 private:
  /// Returns whether a place of the window is empty.
  bool has_gap() const {
    return hole_ != kNone || (pending_hole_ != kNone && window_.size() > pending_hole_);
  }
  void open_pending_hole();
  std::uint32_t random_word(std::uint64_t index);

  std::size_t min_after_dequeue_;
  random::Philox stream_;
  std::uint64_t drawn_ = 0;  // numbers of the stream used so far
  std::uint64_t block_index_ = static_cast<std::uint64_t>(-1);
  random::Philox::Block block_{};
  // The elements to draw from. The place of a drawn element goes to the next element in order of
  // admission, whether or not it has been admitted yet, so that places do not depend on timing.
  // Until then the place is `hole_`.
  std::vector<QueueElement> window_;
  std::size_t hole_ = kNone;
  std::size_t pending_hole_ = kNone;  // of `resume`, until the elements around it are back
  std::deque<QueueElement> beyond_window_;
  // The place of the latest draw, whether or not it has been filled again.
  std::size_t vacated_ = kNone;
  RecordPlace last_{};
};

}  // namespace towerflow

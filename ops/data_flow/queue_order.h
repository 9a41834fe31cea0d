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
  RecordPlace record{};  ///< that it was made of, when a reader read one in the run of its enqueue

  std::size_t size() const { return components.size(); }
  Array& operator[](std::size_t i) { return components[i]; }
  const Array& operator[](std::size_t i) const { return components[i]; }
};
using QueueElement = std::unique_ptr<QueueItem>;

/// Which element of a queue comes next. Not safe from several threads: the queue holds its lock.
class QueueOrder {
 public:
  virtual ~QueueOrder() = default;
  virtual std::size_t size() const = 0;
  /// How many elements a draw must leave while more may be enqueued: a shuffle chooses among them.
  virtual std::size_t min_after_dequeue() const { return 0; }
  virtual void admit(QueueElement element) = 0;

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  /// Where an order stands after its draws, however far admission is ahead of them.
  struct Position {
    std::uint64_t drawn = 0;
    std::vector<RecordPlace> held;  ///< of what the next draw chooses from, but the latest to come
    std::size_t hole = kNone;       ///< the place among `held` of the latest to come
    RecordPlace last{};             ///< the one admitted last of those drawn or held
  };

  /// An element taken out, and what `undo` wants to know.
  struct Drawn {
    QueueElement element;
    std::size_t place = 0;
    std::size_t hole_before = kNone;
    RecordPlace last_before{};
  };
  /// Takes the next element; `ended` says that no more will be admitted. There must be more than
  /// `min_after_dequeue()` elements, or at least one when it has ended.
  virtual Drawn draw(bool ended) = 0;
  /// Undoes the latest draw that is not undone yet and was made before the end.
  virtual void undo(Drawn drawn) = 0;

  /// After a draw that was not undone; nothing is held before the first.
  virtual Position position() const = 0;
  /// Before anything is admitted: goes on where another order of the same kind was. What was held
  /// there is admitted again, in its order, before anything else is drawn.
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
  RecordPlace last_{};  // drawn
};

/// Draws one element at a time, each from the `min_after_dequeue + 1` that were admitted first and
/// are still there (from all that is left when fewer are and no more will come), by one number of
/// the stream each. What comes out is thus a function of the stream and of the order of admission,
/// not of how far admission had got when a draw was made.
class ShuffleOrder final : public QueueOrder {
 public:
  ShuffleOrder(std::size_t min_after_dequeue, const random::Philox& stream)
      : min_after_dequeue_(min_after_dequeue), stream_(stream) {}
  std::size_t size() const override {
    return window_.size() - (has_gap() ? 1 : 0) + behind_.size();
  }
  std::size_t min_after_dequeue() const override { return min_after_dequeue_; }
  void admit(QueueElement element) override;
  Drawn draw(bool ended) override;
  void undo(Drawn drawn) override;
  Position position() const override;
  void resume(const Position& position) override;

 private:
  /// Whether a place of the window is empty.
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
  // What a draw chooses from. A drawn element's place is taken by the next one admitted, be it
  // there already or not: that keeps places independent of time. Until then the place is `hole_`.
  std::vector<QueueElement> window_;
  std::size_t hole_ = kNone;
  std::size_t pending_hole_ = kNone;  // of `resume`, until all that was around it is back
  std::deque<QueueElement> behind_;
  // Of the latest draw, whether the place has been taken again or not.
  std::size_t vacated_ = kNone;
  RecordPlace last_{};
};

}  // namespace towerflow

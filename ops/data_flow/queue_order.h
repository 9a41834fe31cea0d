#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/graph/array.h"
#include "ops/random/philox.h"

namespace towerflow {

/// One element of a queue: an Array a component.
using QueueElement = std::unique_ptr<std::vector<Array>>;

/// Which element of a queue comes next. Not safe from several threads: the queue holds its lock.
class QueueOrder {
 public:
  virtual ~QueueOrder() = default;
  virtual std::size_t size() const = 0;
  /// Elements that stay behind while more may come: a shuffle needs them to choose from.
  virtual std::size_t held_back() const { return 0; }
  virtual void admit(QueueElement element) = 0;

  /// An element taken out, and the place it had.
  struct Drawn {
    QueueElement element;
    std::size_t place = 0;
  };
  /// Takes the next element; `ended` says that no more will be admitted. There must be more than
  /// `held_back()` elements, or at least one when it has ended.
  virtual Drawn draw(bool ended) = 0;
  /// Undoes the latest draw that is not undone yet and was made before the end.
  virtual void undo(Drawn drawn) = 0;
};

/// First in, first out.
class FifoOrder final : public QueueOrder {
 public:
  std::size_t size() const override { return elements_.size(); }
  void admit(QueueElement element) override { elements_.push_back(std::move(element)); }
  Drawn draw(bool ended) override;
  void undo(Drawn drawn) override { elements_.push_front(std::move(drawn.element)); }

 private:
  std::deque<QueueElement> elements_;
};

/// Draws one element at a time, each from the `held_back + 1` that were admitted first and are
/// still there (from all that is left when fewer are and no more will come), by one number of the
/// stream each. What comes out is thus a function of the stream and of the order of admission, not
/// of how far admission had got when a draw was made.
class ShuffleOrder final : public QueueOrder {
 public:
  ShuffleOrder(std::size_t held_back, const random::Philox& stream)
      : held_back_(held_back), stream_(stream) {}
  std::size_t size() const override {
    return window_.size() - (hole_ == kNone ? 0 : 1) + behind_.size();
  }
  std::size_t held_back() const override { return held_back_; }
  void admit(QueueElement element) override;
  Drawn draw(bool ended) override;
  void undo(Drawn drawn) override;

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::uint32_t word(std::uint64_t index);

  std::size_t held_back_;
  random::Philox stream_;
  std::uint64_t drawn_ = 0;  // numbers of the stream used so far
  std::uint64_t block_index_ = static_cast<std::uint64_t>(-1);
  random::Philox::Block block_{};
  // What a draw chooses from. A drawn element's place is taken by the next one admitted, be it
  // there already or not: that keeps places independent of time. Until then the place is `hole_`.
  std::vector<QueueElement> window_;
  std::size_t hole_ = kNone;
  std::deque<QueueElement> behind_;
};

}  // namespace towerflow

#include "ops/data_flow/queue_order.h"

#include <utility>

namespace towerflow {

QueueOrder::Drawn FifoOrder::draw(bool) {
  Drawn drawn{.element = std::move(elements_.front()), .last_before = std::move(last_)};
  elements_.pop_front();
  last_ = drawn.element->record;
  ++drawn_;
  return drawn;
}

void FifoOrder::undo(Drawn drawn) {
  --drawn_;
  last_ = std::move(drawn.last_before);
  elements_.push_front(std::move(drawn.element));
}

void FifoOrder::resume(const Position& position) {
  drawn_ = position.drawn;
  last_ = position.last;
}

QueueOrder::Position ShuffleOrder::position() const {
  if (drawn_ == 0) return {};
  Position position{.drawn = drawn_, .held = {}, .hole = vacated_, .last = last_};
  for (std::size_t place = 0; place < window_.size(); ++place) {
    if (place != vacated_) position.held.push_back(window_[place]->record);
  }
  return position;
}

void ShuffleOrder::resume(const Position& position) {
  drawn_ = position.drawn;
  // Reserve memory now, so that opening the hole later cannot fail.
  if (position.hole != kNone) window_.reserve(position.hole + 1);
  pending_hole_ = vacated_ = position.hole;
  last_ = position.last;
}

/// Opens the hole of the resumed position, once all elements around it are back.
void ShuffleOrder::open_pending_hole() {
  const std::size_t hole = std::exchange(pending_hole_, kNone);
  if (window_.size() == hole) window_.push_back(nullptr);
  if (window_.size() > hole) hole_ = hole;
}

void ShuffleOrder::admit(QueueElement element) {
  if (pending_hole_ != kNone && size() < min_after_dequeue_) {
    if (window_.size() == pending_hole_) window_.push_back(nullptr);
    window_.push_back(std::move(element));
    return;
  }
  if (pending_hole_ != kNone) open_pending_hole();
  if (hole_ != kNone)
    window_[std::exchange(hole_, kNone)] = std::move(element);
  else if (window_.size() <= min_after_dequeue_)
    window_.push_back(std::move(element));
  else
    beyond_window_.push_back(std::move(element));
}

QueueOrder::Drawn ShuffleOrder::draw(bool ended) {
  if (pending_hole_ != kNone) open_pending_hole();
  Drawn drawn{.element = {}, .hole_before = vacated_, .last_before = last_};
  // The element that has filled the vacated place belongs to the window from now on.
  if (drawn_ == 0)
    last_ = window_.back()->record;
  else if (hole_ == kNone && vacated_ < window_.size())
    last_ = window_[vacated_]->record;
  if (ended && hole_ != kNone) {  // no element will come to fill it: move the last one there
    const std::size_t hole = std::exchange(hole_, kNone);
    if (hole + 1 < window_.size()) window_[hole] = std::move(window_.back());
    window_.pop_back();
  }
  const std::size_t place = random_word(drawn_++) % window_.size();
  drawn.element = std::move(window_[place]);
  drawn.place = vacated_ = place;
  if (beyond_window_.empty()) {
    hole_ = place;
  } else {
    window_[place] = std::move(beyond_window_.front());
    beyond_window_.pop_front();
  }
  return drawn;
}

void ShuffleOrder::undo(Drawn drawn) {
  --drawn_;
  if (hole_ == drawn.place)
    hole_ = kNone;
  else
    beyond_window_.push_front(std::move(window_[drawn.place]));
  window_[drawn.place] = std::move(drawn.element);
  vacated_ = drawn.hole_before;
  last_ = std::move(drawn.last_before);
}

std::uint32_t ShuffleOrder::random_word(std::uint64_t index) {
  constexpr std::uint64_t kWords = std::tuple_size_v<random::Philox::Block>;
  if (block_index_ != index / kWords) {
    block_index_ = index / kWords;
    random::Philox at = stream_;
    at.skip(block_index_);
    block_ = at();
  }
  return block_[index % kWords];
}

}  // namespace towerflow

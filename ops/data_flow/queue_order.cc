#include "ops/data_flow/queue_order.h"

#include <utility>

namespace towerflow {

QueueOrder::Drawn FifoOrder::draw(bool) {
  Drawn drawn{std::move(elements_.front()), 0};
  elements_.pop_front();
  return drawn;
}

void ShuffleOrder::admit(QueueElement element) {
  if (hole_ != kNone)
    window_[std::exchange(hole_, kNone)] = std::move(element);
  else if (window_.size() <= held_back_)
    window_.push_back(std::move(element));
  else
    behind_.push_back(std::move(element));
}

QueueOrder::Drawn ShuffleOrder::draw(bool ended) {
  if (ended && hole_ != kNone) {  // nothing will fill it: the last one does
    const std::size_t hole = std::exchange(hole_, kNone);
    if (hole + 1 < window_.size()) window_[hole] = std::move(window_.back());
    window_.pop_back();
  }
  const std::size_t place = word(drawn_++) % window_.size();
  Drawn drawn{std::move(window_[place]), place};
  if (behind_.empty()) {
    hole_ = place;
  } else {
    window_[place] = std::move(behind_.front());
    behind_.pop_front();
  }
  return drawn;
}

void ShuffleOrder::undo(Drawn drawn) {
  --drawn_;
  if (hole_ == drawn.place)
    hole_ = kNone;
  else
    behind_.push_front(std::move(window_[drawn.place]));
  window_[drawn.place] = std::move(drawn.element);
}

std::uint32_t ShuffleOrder::word(std::uint64_t index) {
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

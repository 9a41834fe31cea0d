#include "cuda/backend/group_order.h"

#include "cuda/backend/check.h"
#include "cuda/backend/driver.h"

namespace towerflow::cuda {

void GroupOrder::add(const std::vector<int>& cards) {
  for (const int number : cards) {
    Card& card = cards_[number];
    if (card.cliques > 0 && card.ended == nullptr) card.ended = make_event(number);
  }
  for (const int number : cards) ++cards_[number].cliques;
}

/// An event belongs to the card that the thread has selected when it is made.
cudaEvent_t GroupOrder::make_event(int card) const {
  const Table& table = driver_.table();
  int selected = 0;
  TOWERFLOW_CUDA(table, cudaGetDevice(&selected));
  driver_.select(card);
  cudaEvent_t event = nullptr;
  TOWERFLOW_CUDA(table, cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  driver_.select(selected);
  return event;
}

void GroupOrder::remove(const std::vector<int>& cards, const Clique& clique) noexcept {
  for (const int number : cards) {
    const auto at = cards_.find(number);
    Card& card = at->second;
    if (card.last == &clique) card.last = nullptr;
    if (--card.cliques > 0) continue;
    if (card.ended != nullptr) driver_.table().cudaEventDestroy(card.ended);
    cards_.erase(at);
  }
}

void GroupOrder::begin(int card, const Clique& clique, cudaStream_t stream) const {
  const Card& one = cards_.at(card);
  if (one.last == nullptr || one.last == &clique || one.stream == stream) return;
  TOWERFLOW_CUDA(driver_.table(), cudaStreamWaitEvent(stream, one.ended, 0));
}

void GroupOrder::end(int card, const Clique& clique, cudaStream_t stream) {
  Card& one = cards_.at(card);
  if (one.ended == nullptr) return;
  TOWERFLOW_CUDA(driver_.table(), cudaEventRecord(one.ended, stream));
  one.last = &clique;
  one.stream = stream;
}

}  // namespace towerflow::cuda

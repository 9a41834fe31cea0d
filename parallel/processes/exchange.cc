#include "parallel/processes/exchange.h"

#include <utility>

namespace towerflow::parallel::processes {

GatherExchange::GatherExchange(std::string what, int tag, std::string bytes)
    : Exchange(std::move(what), tag), own_(std::move(bytes)), own_size_(own_.size()) {}

void GatherExchange::begin(int rank, int size, Messages& messages) {
  strings_.resize(static_cast<std::size_t>(size));
  sizes_.resize(static_cast<std::size_t>(size));
  complete_.assign(static_cast<std::size_t>(size), false);
  complete_[static_cast<std::size_t>(rank)] = true;
  missing_ = size - 1;
  unsent_ = (own_.empty() ? 1 : 2) * (size - 1);
  for_each_other(rank, size, [&](int other) {
    messages.receive(&sizes_[static_cast<std::size_t>(other)], sizeof(own_size_), {other, 0, 0});
  });
  for_each_other(rank, size, [&](int other) {
    messages.send(&own_size_, sizeof(own_size_), {other, 0, 0});
    if (!own_.empty()) messages.send(own_.data(), own_.size(), {other, 1, 0});
  });
  // The messages read `own_`, so that it is copied.
  strings_[static_cast<std::size_t>(rank)] = own_;
}

void GatherExchange::sent(const Message&, Messages&) { --unsent_; }

void GatherExchange::received(const Message& message, Messages& messages) {
  const auto at = static_cast<std::size_t>(message.peer);
  if (message.phase == 0 && sizes_[at] > 0) {
    strings_[at].resize(sizes_[at]);
    messages.receive(strings_[at].data(), strings_[at].size(), {message.peer, 1, 0});
    return;
  }
  complete_[at] = true;
  --missing_;
}

std::vector<int> GatherExchange::awaited() const {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < complete_.size(); ++rank) {
    if (!complete_[rank]) ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

}  // namespace towerflow::parallel::processes

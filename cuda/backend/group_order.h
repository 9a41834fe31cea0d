#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <vector>

namespace towerflow::cuda {

class Clique;
class Driver;

/// Orders the groups of NCCL that cliques with common cards enqueue in different streams. Two cards
/// could start two such groups in different orders, and each would wait for the other. So the
/// stream of a group waits on each card until the last group of another clique has ended there.
/// No calls are made while a card is in one clique only. Groups of that time are not waited for: to
/// make a second clique takes longer than they do.
///
/// Groups must be held (Driver::hold_groups) while any of this is called.
class GroupOrder {
 public:
  explicit GroupOrder(const Driver& driver) : driver_(driver) {}
  GroupOrder(const GroupOrder&) = delete;
  GroupOrder& operator=(const GroupOrder&) = delete;

  /// A clique of these cards is made.
  void add(const std::vector<int>& cards);
  /// It ends, and none of its groups is left in a stream.
  void remove(const std::vector<int>& cards, const Clique& clique) noexcept;

  /// Called for each card of a group before it is enqueued, and after it.
  void begin(int card, const Clique& clique, cudaStream_t stream) const;
  void end(int card, const Clique& clique, cudaStream_t stream);

 private:
  struct Card {
    int cliques = 0;
    cudaEvent_t ended = nullptr;   ///< of the last group; made for the second clique
    const Clique* last = nullptr;  ///< whose group it was; null if the event was not recorded
    cudaStream_t stream = nullptr;
  };
  cudaEvent_t make_event(int card) const;

  const Driver& driver_;
  std::map<int, Card> cards_;
};

}  // namespace towerflow::cuda

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/runtime/plan.h"

namespace towerflow {

/// Memory blocks for frames, shared by the plans of a session. A block is used by one run at a
/// time.
class ArenaPool {
 public:
  struct Block {
    std::shared_ptr<void> memory;
    std::size_t bytes = 0;
    std::pair<int, int> kind{};  ///< (Arena::device, Arena::staging)
  };

  explicit ArenaPool(const DeviceSet& devices) : devices_(devices) {}

  /// Takes a block for each arena of the plan: the smallest free one that is large enough, or a new
  /// one. Throws ResourceExhaustedError with the plan's memory map of the arena that does not fit.
  void take(const Plan& plan, std::vector<Block>& blocks);
  /// Returns blocks to the pool. Never fails, since a finished run must not.
  void release(std::vector<Block>& blocks) noexcept;
  /// Frees all blocks that no run uses; returns false if there were none.
  bool free_idle_blocks();

 private:
  Block take_block(const Arena& arena);
  Block allocate(const Arena& arena, std::vector<Block>& free);

  const DeviceSet& devices_;
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::vector<Block>> free_;
};

}  // namespace towerflow

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/runtime/plan.h"

namespace towerflow {

/// Memory of frames, shared by the plans of a session: a block goes to one run at a time.
class ArenaPool {
 public:
  struct Block {
    std::shared_ptr<void> memory;
    std::size_t bytes = 0;
    std::pair<int, int> kind{};  ///< device, and that whose staging memory it is
  };

  explicit ArenaPool(const DeviceSet& devices) : devices_(devices) {}

  /// A block for each memory of the plan: the smallest free one that is large enough, or a new one.
  /// Throws ResourceExhaustedError showing what the plan keeps in the memory that is too small.
  void take(const Plan& plan, std::vector<Block>& blocks);
  /// Cannot fail, as a run that has ended must not.
  void release(std::vector<Block>& blocks) noexcept;
  /// Lets go of what no run uses; false where there was nothing.
  bool drop_idle();

 private:
  Block take_one(const Arena& arena);
  Block allocate(const Arena& arena, std::vector<Block>& free);

  const DeviceSet& devices_;
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::vector<Block>> free_;
};

}  // namespace towerflow

#include "core/runtime/arena_pool.h"

#include <algorithm>

namespace towerflow {
namespace {

constexpr std::size_t kMaxFreeBlocks = 8;  // maximum number of free blocks per kind

bool smaller(const ArenaPool::Block& a, const ArenaPool::Block& b) { return a.bytes < b.bytes; }

}  // namespace

void ArenaPool::take(const Plan& plan, std::vector<Block>& blocks) {
  blocks.resize(plan.arenas.size());
  for (std::size_t i = 0; i < plan.arenas.size(); ++i) {
    try {
      blocks[i] = take_block(plan.arenas[i]);
    } catch (const Error& error) {
      const std::string map = plan.memory_map(i);
      release(blocks);
      ErrorDetail detail = error.detail();
      detail.device = devices_[plan.arenas[i].device].name;
      throw errors::ResourceExhaustedError(error.message() + "; " + map, std::move(detail));
    }
  }
}

ArenaPool::Block ArenaPool::take_block(const Arena& arena) {
  std::lock_guard lock(mutex_);
  auto& free = free_[{arena.device, arena.staging}];
  auto best = free.end();
  for (auto block = free.begin(); block != free.end(); ++block) {
    if (block->bytes >= arena.bytes && (best == free.end() || smaller(*block, *best))) best = block;
  }
  if (best == free.end()) return allocate(arena, free);
  Block block = std::move(*best);
  free.erase(best);
  return block;
}

ArenaPool::Block ArenaPool::allocate(const Arena& arena, std::vector<Block>& free) {
  // Every free block is too small. Device memory is scarce, so all free blocks are released first;
  // in host memory only the smallest is, if there are too many.
  if (arena.space != kHostSpace) free.clear();
  if (free.size() >= kMaxFreeBlocks)
    free.erase(std::min_element(free.begin(), free.end(), smaller));
  const std::size_t bytes = std::max<std::size_t>(arena.bytes, Array::kAlignment);
  const Device& device = devices_[arena.device];
  auto memory = arena.staging >= 0 ? devices_[arena.staging].backend->allocate_staging(bytes)
                                   : device.backend->allocate(device.index, bytes);
  return {std::move(memory), bytes, {arena.device, arena.staging}};
}

void ArenaPool::release(std::vector<Block>& blocks) noexcept {
  std::lock_guard lock(mutex_);
  for (Block& block : blocks) {
    if (block.memory == nullptr) continue;
    try {
      free_[block.kind].push_back(std::move(block));
    } catch (const std::bad_alloc&) {
      // There is no memory to list the block, so it is freed.
    }
    block.memory = nullptr;
  }
}

bool ArenaPool::free_idle_blocks() {
  std::lock_guard lock(mutex_);
  const bool any = std::any_of(free_.begin(), free_.end(),
                               [](const auto& blocks) { return !blocks.second.empty(); });
  free_.clear();
  return any;
}

}  // namespace towerflow

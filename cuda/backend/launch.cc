#include "cuda/backend/launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/error.h"

namespace towerflow::cuda {

dim3 blocks_for(const Device& device, std::int64_t units) {
  constexpr std::int64_t kBlocksPerMultiprocessor = 16;
  const std::int64_t most = kBlocksPerMultiprocessor * device.properties().multiProcessorCount;
  const std::int64_t wanted = (units + kBlockThreads - 1) / kBlockThreads;
  return dim3(static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, most)));
}

dim3 one_block_each(std::int64_t blocks) {
  check_32_bits(blocks, "a grid of blocks");
  return dim3(static_cast<unsigned>(blocks));
}

void check_32_bits(std::int64_t elements, const char* kernel) {
  if (elements <= std::numeric_limits<std::int32_t>::max()) return;
  throw errors::UnimplementedError(
      fmt::format("{} on a GPU takes fewer than 2^31 elements, got {}", kernel, elements));
}

}  // namespace towerflow::cuda

#include "ops/random/seed.h"

namespace towerflow::random {
namespace {

constexpr std::int64_t kDefaultGraphSeed = 87654321;
constexpr std::int64_t kModulus = 0x7fffffff;

std::int64_t reduced(std::int64_t seed) noexcept {
  const std::int64_t remainder = seed % kModulus;
  return remainder < 0 ? remainder + kModulus : remainder;
}

}  // namespace

Seeds get_seed(std::optional<std::int64_t> graph_seed, std::optional<std::int64_t> op_seed,
               std::int64_t& next_op_seed) noexcept {
  if (!graph_seed && !op_seed) return {};
  if (!op_seed) op_seed = next_op_seed++;
  const Seeds seeds{graph_seed ? reduced(*graph_seed) : kDefaultGraphSeed, reduced(*op_seed)};
  return seeds == Seeds{} ? Seeds{0, kModulus} : seeds;
}

}  // namespace towerflow::random

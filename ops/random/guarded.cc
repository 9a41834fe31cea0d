#include "ops/random/guarded.h"

#include <fmt/format.h>

#include <random>

#include "core/graph/error.h"

namespace towerflow::random {
namespace {

constexpr std::uint64_t kBlocksPerOutput = 256;

std::uint64_t entropy() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

Philox start(std::int64_t seed, std::int64_t seed2) {
  if (seed == 0 && seed2 == 0) {
    const std::uint64_t key = entropy();
    return {key, entropy()};
  }
  return {static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(seed2)};
}

std::uint64_t checked_count(std::int64_t count) {
  if (count < 0)
    throw errors::InvalidArgumentError(
        fmt::format("A random op cannot draw {} numbers: the count is negative", count));
  return static_cast<std::uint64_t>(count);
}

}  // namespace

GuardedPhilox::GuardedPhilox(std::int64_t seed, std::int64_t seed2)
    : start_(start(seed, seed2)), generator_(start_) {}

Philox GuardedPhilox::reserve_outputs(std::int64_t count) {
  return reserve_blocks(checked_count(count) * kBlocksPerOutput);
}

Philox GuardedPhilox::reserve_words(std::int64_t count) {
  return reserve_blocks((checked_count(count) + 3) / 4);
}

std::uint64_t GuardedPhilox::taken() {
  const std::lock_guard lock(mutex_);
  return generator_.counter_low();  // starts at 0
}

void GuardedPhilox::resume(std::uint64_t blocks) {
  const std::lock_guard lock(mutex_);
  generator_ = start_;
  generator_.skip(blocks);
}

Philox GuardedPhilox::reserve_blocks(std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  const Philox reserved = generator_;
  generator_.skip(count);
  return reserved;
}

}  // namespace towerflow::random

#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "dataset/dataset.h"
#include "ops/random/guarded.h"
#include "ops/random/philox.h"
#include "ops/random/seed.h"

namespace towerflow::data {

/// The seeds of a shuffle.
struct ShuffleSeeds {
  std::uint64_t seed = 0, seed2 = 0;

  ShuffleSeeds(std::uint64_t first, std::uint64_t second) : seed(first), seed2(second) {}
  /// Takes the values of the arguments; random ones if both are 0.
  ShuffleSeeds(const Array& first, const Array& second);
  random::Philox generator() const { return {seed, seed2}; }
};

/// Adds the nodes of the seeds of a shuffle, `seed` and `seed2`.
std::array<Tensor, 2> shuffle_seed_tensors(std::optional<std::int64_t> seed, Site site);

/// Returns a shuffled dataset whose arguments besides the seeds exist already.
Dataset shuffled_dataset(const Dataset& input, const Tensor& buffer_size, ShuffleOptions options,
                         Site site);

}  // namespace towerflow::data

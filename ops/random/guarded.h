#pragma once

#include <cstdint>
#include <mutex>

#include "ops/random/philox.h"

namespace towerflow::random {

/// The generator of one random op in one session: each run reserves its part of the stream, so
/// that successive runs continue it and concurrent runs never share a number. Safe from several
/// threads.
///
/// How much a run reserves is part of the numbers that the next run sees, and is TensorFlow's.
class GuardedPhilox {
 public:
  /// The op's attributes `seed` and `seed2`. Both 0 means "not seeded": the stream then starts at
  /// a place drawn from the system's entropy source.
  GuardedPhilox(std::int64_t seed, std::int64_t seed2);

  GuardedPhilox(const GuardedPhilox&) = delete;
  GuardedPhilox& operator=(const GuardedPhilox&) = delete;

  /// For an op that fills `count` elements from a distribution: 256 blocks each, whatever the
  /// distribution consumes. Throws InvalidArgumentError for a negative count.
  Philox reserve_outputs(std::int64_t count);

  /// For an op that consumes exactly `count` 32-bit words: rounded up to whole blocks. Throws
  /// InvalidArgumentError for a negative count.
  Philox reserve_words(std::int64_t count);

 private:
  Philox reserve_blocks(std::uint64_t count);

  std::mutex mutex_;
  Philox generator_;
};

}  // namespace towerflow::random

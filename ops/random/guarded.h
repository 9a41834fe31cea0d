#pragma once

#include <cstdint>
#include <mutex>

#include "ops/random/philox.h"

namespace towerflow::random {

/// The generator of one random op in one session. Each run reserves its part of the stream, so that
/// successive runs continue it and concurrent runs never share a number. Thread-safe.
///
/// How much a run reserves affects the numbers of the next run, so the amounts are TensorFlow's.
class GuardedPhilox {
 public:
  /// Takes the op's attributes `seed` and `seed2`. If both are 0 the op is not seeded: the stream
  /// starts at a position drawn from the system's entropy source.
  GuardedPhilox(std::int64_t seed, std::int64_t seed2);

  GuardedPhilox(const GuardedPhilox&) = delete;
  GuardedPhilox& operator=(const GuardedPhilox&) = delete;

  /// Reserves the part of an op that fills `count` elements from a distribution: 256 blocks per
  /// element, whatever the distribution consumes. Throws InvalidArgumentError for a negative count.
  Philox reserve_outputs(std::int64_t count);

  /// Reserves the part of an op that consumes exactly `count` 32-bit words, rounded up to whole
  /// blocks. Throws InvalidArgumentError for a negative count.
  Philox reserve_words(std::int64_t count);

  /// Returns how many blocks have been reserved.
  std::uint64_t taken();
  /// Continues as if `blocks` blocks had been reserved since the start.
  void resume(std::uint64_t blocks);

 private:
  Philox reserve_blocks(std::uint64_t count);

  std::mutex mutex_;
  const Philox start_;
  Philox generator_;
};

}  // namespace towerflow::random

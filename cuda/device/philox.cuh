#pragma once

// The random words of the CPU's generator (ops/random/philox.h), from a state in device memory:
// key, lower and upper half of the counter.

#include "cuda/device/number.cuh"
#include "ops/random/philox.h"

namespace towerflow::cuda::device {

using random::Philox;

/// Four words; std::array is not for device code.
struct Words {
  std::uint32_t w[4];
};

/// The generator as ops/random/philox.h has it, with the position of the state.
struct Stream {
  std::uint64_t key, low, high;

  TOWERFLOW_DEVICE Stream(const std::uint64_t* state, std::uint64_t skipped)
      : key(state[0]), low(state[1]), high(state[2]) {
    skip(skipped);
  }
  TOWERFLOW_DEVICE void skip(std::uint64_t count) {
    low += count;
    if (low < count) ++high;
  }
  TOWERFLOW_DEVICE Words next() {
    Words x = {{static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
                static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)}};
    auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < Philox::kRounds; ++round) {
      const std::uint64_t p0 = std::uint64_t{Philox::kMultiplier0} * x.w[0];
      const std::uint64_t p1 = std::uint64_t{Philox::kMultiplier1} * x.w[2];
      x = {{static_cast<std::uint32_t>(p1 >> 32) ^ x.w[1] ^ k0, static_cast<std::uint32_t>(p1),
            static_cast<std::uint32_t>(p0 >> 32) ^ x.w[3] ^ k1, static_cast<std::uint32_t>(p0)}};
      k0 += Philox::kWeyl0;
      k1 += Philox::kWeyl1;
    }
    skip(1);
    return x;
  }
};

}  // namespace towerflow::cuda::device

// Random numbers with the bits of the CPU's (ops/random): kernels OP_DTYPE(state, y, n). `state` is
// what a Philox generator consists of: key, lower and upper half of the counter. It lies in device
// memory and RandomSkip advances it, so that a graph that is replayed draws new numbers.
#include "cuda/device/number.cuh"
#include "ops/random/box_muller.h"
#include "ops/random/philox.h"

namespace towerflow::cuda::device {
namespace {

using random::Philox;

/// Blocks of the stream for each element of a distribution that rejects candidates, as on the CPU.
constexpr std::uint64_t kBlocksPerElement = 64;

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

/// What one block of the stream gives.
template <class T>
using Group = Pack<T, static_cast<int>(16 / sizeof(T))>;

/// Fills y group by group; `draw(stream)` gives the group whose stream begins `stride` blocks after
/// that of the one before.
template <class T, class F>
TOWERFLOW_DEVICE void fill(const std::uint64_t* state, T* y, int64 n, std::uint64_t stride,
                           F draw) {
  constexpr int kGroup = static_cast<int>(16 / sizeof(T));
  const bool aligned = is_aligned<kGroup>(y);
  for (int64 i = grid_thread(); i * kGroup < n; i += grid_threads()) {
    const Group<T> group = draw(Stream(state, static_cast<std::uint64_t>(i) * stride));
    const int64 at = i * kGroup;
    if (aligned && at + kGroup <= n) {
      store_pack<kGroup>(y + at, group);
    } else {
      for (int k = 0; k < kGroup && at + k < n; ++k) y[at + k] = group.v[k];
    }
  }
}

TOWERFLOW_DEVICE Group<float> normals(Stream& stream) {
  const Words words = stream.next();
  Group<float> g;
  random::box_muller<1>(&words.w[0], &words.w[1], &g.v[0], &g.v[1]);
  random::box_muller<1>(&words.w[2], &words.w[3], &g.v[2], &g.v[3]);
  return g;
}

/// Redraws what is not below 2 in magnitude.
TOWERFLOW_DEVICE Group<float> truncated_normals(Stream stream) {
  Group<float> result{};
  int kept = 0;
  while (kept < 4) {
    const Group<float> candidates = normals(stream);
    for (int k = 0; k < 4; ++k) {
      if (kept < 4 && std::fabs(candidates.v[k]) < 2) result.v[kept++] = candidates.v[k];
    }
  }
  return result;
}

template <class T>
TOWERFLOW_DEVICE void uniform_int(const std::uint64_t* state, T* y, int64 n, const T* low,
                                  const T* high) {
  using Unsigned = std::make_unsigned_t<T>;
  const auto start = static_cast<Unsigned>(*low);
  const Unsigned width = static_cast<Unsigned>(*high) - start;  // the code that launches checks it
  fill(state, y, n, 1, [=](Stream stream) {
    const Words words = stream.next();
    Group<T> group;
    for (int k = 0; k < static_cast<int>(16 / sizeof(T)); ++k) {
      Unsigned bits;
      if constexpr (sizeof(T) == 4) {
        bits = words.w[k];
      } else {
        bits = static_cast<Unsigned>(std::uint64_t{words.w[2 * k + 1]} << 32 | words.w[2 * k]);
      }
      group.v[k] = static_cast<T>(start + bits % width);
    }
    return group;
  });
}

}  // namespace

TOWERFLOW_KERNEL(RandomUniform_float32, 256, const std::uint64_t* state, float* y, int64 n) {
  fill(state, y, n, 1, [](Stream stream) {
    const Words words = stream.next();
    Group<float> group;
    for (int k = 0; k < 4; ++k) group.v[k] = random::unit_float(words.w[k]);
    return group;
  });
}
TOWERFLOW_KERNEL(RandomUniform_float64, 256, const std::uint64_t* state, double* y, int64 n) {
  fill(state, y, n, 1, [](Stream stream) {
    const Words words = stream.next();
    return Group<double>{
        {random::unit_double(words.w[0], words.w[1]), random::unit_double(words.w[2], words.w[3])}};
  });
}
TOWERFLOW_KERNEL(RandomStandardNormal_float32, 256, const std::uint64_t* state, float* y, int64 n) {
  fill(state, y, n, 1, [](Stream stream) { return normals(stream); });
}
TOWERFLOW_KERNEL(TruncatedNormal_float32, 256, const std::uint64_t* state, float* y, int64 n) {
  fill(state, y, n, 4 * kBlocksPerElement, [](Stream stream) { return truncated_normals(stream); });
}
TOWERFLOW_KERNEL(RandomUniformInt_int32, 256, const std::uint64_t* state, std::int32_t* y, int64 n,
                 const std::int32_t* low, const std::int32_t* high) {
  uniform_int(state, y, n, low, high);
}
TOWERFLOW_KERNEL(RandomUniformInt_int64, 256, const std::uint64_t* state, int64* y, int64 n,
                 const int64* low, const int64* high) {
  uniform_int(state, y, n, low, high);
}

/// One thread: advances the counter.
TOWERFLOW_KERNEL(RandomSkip, 32, std::uint64_t* state, std::uint64_t blocks) {
  Stream stream(state, blocks);
  state[1] = stream.low;
  state[2] = stream.high;
}

}  // namespace towerflow::cuda::device

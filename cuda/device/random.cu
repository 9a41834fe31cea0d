// Random numbers with the bits of the CPU's (ops/random): kernels OP_DTYPE(state, y, n). `state` is
// what a Philox generator consists of: key, lower and upper half of the counter. It lies in device
// memory and RandomSkip advances it, so that a graph that is replayed draws new numbers.
// RandomState writes a state that the host knows. RandomBounds_DTYPE checks that low < high, and
// else sets *error to them; RandomUniformInt then gives any numbers.
#include "cuda/device/arguments.h"
#include "cuda/device/philox.cuh"
#include "ops/random/box_muller.h"

namespace towerflow::cuda::device {
namespace {

/// Blocks of the stream for each element of a distribution that rejects candidates, as on the CPU.
constexpr std::uint64_t kBlocksPerElement = 64;

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

/// The normals of the next block of the stream.
TOWERFLOW_DEVICE void next_normals(Stream& stream, Group<float>& g) {
  const Words words = stream.next();
  random::box_muller<1>(&words.w[0], &words.w[1], &g.v[0], &g.v[1]);
  random::box_muller<1>(&words.w[2], &words.w[3], &g.v[2], &g.v[3]);
}
TOWERFLOW_DEVICE void next_normals(Stream& stream, Group<double>& g) {
  const Words words = stream.next();
  const double angle = random::kTwoPi * random::unit_double(words.w[2], words.w[3]);
  const double u = larger(random::unit_double(words.w[0], words.w[1]), random::kSmallestUniform);
  const double radius = std::sqrt(-2.0 * random::log_double(u));
  random::sincos_double(angle, g.v[0], g.v[1]);
  g.v[0] *= radius;
  g.v[1] *= radius;
}
template <class T>
TOWERFLOW_DEVICE Group<T> normals(Stream stream) {
  Group<T> group;
  next_normals(stream, group);
  return group;
}

/// Redraws what is not below 2 in magnitude.
template <class T>
TOWERFLOW_DEVICE Group<T> truncated_normals(Stream stream) {
  constexpr int kGroup = static_cast<int>(16 / sizeof(T));
  Group<T> result{};
  int kept = 0;
  while (kept < kGroup) {
    Group<T> candidates;
    next_normals(stream, candidates);
    for (int k = 0; k < kGroup; ++k) {
      if (kept < kGroup && std::fabs(candidates.v[k]) < 2) result.v[kept++] = candidates.v[k];
    }
  }
  return result;
}

template <class T>
TOWERFLOW_DEVICE void uniform_int(const std::uint64_t* state, T* y, int64 n, const T* low,
                                  const T* high) {
  using Unsigned = std::make_unsigned_t<T>;
  const auto start = static_cast<Unsigned>(*low);
  const Unsigned width = larger<Unsigned>(static_cast<Unsigned>(*high) - start, 1);
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

template <class T>
TOWERFLOW_DEVICE void check_bounds(const T* low, const T* high, DataError* error) {
  if (grid_thread() != 0 || *low < *high) return;
  error->notes[0] = *low;
  error->notes[1] = *high;
  error->set();
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
  fill(state, y, n, 1, [](Stream stream) { return normals<float>(stream); });
}
TOWERFLOW_KERNEL(RandomStandardNormal_float64, 256, const std::uint64_t* state, double* y,
                 int64 n) {
  fill(state, y, n, 1, [](Stream stream) { return normals<double>(stream); });
}
TOWERFLOW_KERNEL(TruncatedNormal_float32, 256, const std::uint64_t* state, float* y, int64 n) {
  fill(state, y, n, 4 * kBlocksPerElement,
       [](Stream stream) { return truncated_normals<float>(stream); });
}
TOWERFLOW_KERNEL(TruncatedNormal_float64, 256, const std::uint64_t* state, double* y, int64 n) {
  fill(state, y, n, 2 * kBlocksPerElement,
       [](Stream stream) { return truncated_normals<double>(stream); });
}
TOWERFLOW_KERNEL(RandomUniformInt_int32, 256, const std::uint64_t* state, std::int32_t* y, int64 n,
                 const std::int32_t* low, const std::int32_t* high) {
  uniform_int(state, y, n, low, high);
}
TOWERFLOW_KERNEL(RandomUniformInt_int64, 256, const std::uint64_t* state, int64* y, int64 n,
                 const int64* low, const int64* high) {
  uniform_int(state, y, n, low, high);
}

TOWERFLOW_KERNEL(RandomBounds_int32, 32, const std::int32_t* low, const std::int32_t* high,
                 DataError* error) {
  check_bounds(low, high, error);
}
TOWERFLOW_KERNEL(RandomBounds_int64, 32, const int64* low, const int64* high, DataError* error) {
  check_bounds(low, high, error);
}

TOWERFLOW_KERNEL(RandomState, 32, std::uint64_t* state, const std::uint64_t* begin) {
  if (grid_thread() != 0) return;
  for (int i = 0; i < 3; ++i) state[i] = begin[i];
}

/// One thread: advances the counter.
TOWERFLOW_KERNEL(RandomSkip, 32, std::uint64_t* state, std::uint64_t blocks) {
  Stream stream(state, blocks);
  state[1] = stream.low;
  state[2] = stream.high;
}

}  // namespace towerflow::cuda::device

// Random numbers: the bits of ops/random, for which its own functions are called.
#include <doctest/doctest.h>

#include <array>
#include <string>

#include "ops/random/box_muller.h"
#include "ops/random/philox.h"
#include "tests/cuda/close.h"
#include "tests/cuda/device_memory.h"

using namespace towerflow;
using namespace towerflow::cuda;
using cuda::testing::DeviceMemory;
using cuda::testing::launch_for;
using random::Philox;
using i64 = std::int64_t;

namespace {

constexpr std::uint64_t kKey = 0x123456789abcdef0, kStream = 77;

using State = std::vector<std::uint64_t>;

std::array<float, 4> normals(const Philox::Block& words) {
  std::array<float, 4> g;
  random::box_muller<1>(&words[0], &words[1], &g[0], &g[1]);
  random::box_muller<1>(&words[2], &words[3], &g[2], &g[3]);
  return g;
}

/// Draws n numbers with a kernel from the state that is given.
template <class T, class... A>
std::vector<T> draw(const std::string& kernel, std::size_t n, std::uint64_t skipped,
                    const A&... more) {
  DeviceMemory memory;
  std::uint64_t* state = memory.upload(State{kKey, 0, kStream});
  memory.run("RandomSkip", {dim3(1), dim3(1), 0}, state, skipped);
  T* y = memory.allocate<T>(n + 1);
  memory.run(kernel, launch_for(n / 3), static_cast<const std::uint64_t*>(state), y, i64(n),
             static_cast<const T*>(memory.upload(std::vector<T>{more}))...);
  return memory.download(y, n);
}

}  // namespace

TEST_SUITE("cuda random") {
  TEST_CASE("uniform numbers") {
    for (const std::uint64_t skipped : {std::uint64_t{0}, std::uint64_t{5}, ~std::uint64_t{2}}) {
      Philox philox(kKey, kStream);
      philox.skip(skipped);
      std::vector<float> floats;
      std::vector<double> doubles;
      std::vector<std::int32_t> ints;
      std::vector<i64> longs;
      while (floats.size() < 1003) {
        const auto w = philox();
        for (const std::uint32_t word : w) {
          floats.push_back(random::unit_float(word));
          ints.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(-3) + word % 10));
        }
        for (std::size_t k = 0; k < 4; k += 2) {
          doubles.push_back(random::unit_double(w[k], w[k + 1]));
          const std::uint64_t wide = std::uint64_t{w[k + 1]} << 32 | w[k];
          longs.push_back(static_cast<i64>(wide % 1000000000007));
        }
      }
      floats.resize(1003);
      ints.resize(1003);
      doubles.resize(501);
      longs.resize(501);
      CHECK(draw<float>("RandomUniform_float32", 1003, skipped) == floats);
      CHECK(draw<double>("RandomUniform_float64", 501, skipped) == doubles);
      CHECK(draw<std::int32_t>("RandomUniformInt_int32", 1003, skipped, -3, 7) == ints);
      CHECK(draw<i64>("RandomUniformInt_int64", 501, skipped, i64{0}, i64{1000000000007}) == longs);
    }
  }

  TEST_CASE("normal numbers, and truncated ones") {
    Philox philox(kKey, kStream);
    std::vector<float> wanted, truncated;
    while (wanted.size() < 2003) {
      for (const float value : normals(philox())) wanted.push_back(value);
    }
    wanted.resize(2003);
    CHECK(draw<float>("RandomStandardNormal_float32", 2003, 0) == wanted);
    for (std::uint64_t group = 0; truncated.size() < 2003; ++group) {
      Philox own(kKey, kStream);
      own.skip(group * 256);
      for (std::size_t kept = 0; kept < 4;) {
        for (const float value : normals(own())) {
          if (kept == 4 || std::fabs(value) >= 2) continue;
          truncated.push_back(value);
          ++kept;
        }
      }
    }
    truncated.resize(2003);
    CHECK(draw<float>("TruncatedNormal_float32", 2003, 0) == truncated);
  }
}

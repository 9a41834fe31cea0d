// Random numbers: the bits of ops/random, for which its own functions are called.
#include <doctest/doctest.h>

#include <algorithm>
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
  TEST_CASE("the counter of a stream has 128 bits") {
    DeviceMemory memory;
    auto* state = memory.upload(std::vector<std::uint64_t>{7, ~std::uint64_t{0}, 4});
    memory.run("RandomSkip", {dim3(1), dim3(1), 0}, state, std::uint64_t{3});
    CHECK(memory.download(state, 3) == std::vector<std::uint64_t>{7, 2, 5});
  }

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

  TEST_CASE("a state from the host, and bounds without numbers between them") {
    DeviceMemory memory;
    auto* state = memory.allocate<std::uint64_t>(3);
    const std::uint64_t* begin = memory.upload(std::vector<std::uint64_t>{kKey, 5, kStream});
    memory.run("RandomState", {dim3(1), dim3(1), 0}, state, begin);
    CHECK(memory.download(state, 3) == State{kKey, 5, kStream});
    for (const i64 high : {i64{7}, i64{8}}) {
      auto* error = memory.upload(std::vector<device::DataError>{{}});
      memory.run("RandomBounds_int64", {dim3(1), dim3(1), 0},
                 static_cast<const i64*>(memory.upload(std::vector<i64>{7})),
                 static_cast<const i64*>(memory.upload(std::vector<i64>{high})), error);
      const device::DataError found = memory.download(error, 1)[0];
      CHECK(found.found == (high == 7 ? 1 : 0));
      CHECK(found.notes[0] == (high == 7 ? 7 : 0));
    }
    CHECK(draw<std::int32_t>("RandomUniformInt_int32", 5, 0, 3, 3) ==
          std::vector<std::int32_t>(5, 3));
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

  TEST_CASE("normal numbers of float64, and truncated ones") {
    using Pair = std::array<double, 2>;
    const auto pair = [](const Philox::Block& words) {
      Pair g;
      random::box_muller(words, g[0], g[1]);
      return g;
    };
    Philox philox(kKey, kStream);
    std::vector<double> wanted, truncated;
    while (wanted.size() < 1501) {
      for (const double value : pair(philox())) wanted.push_back(value);
    }
    wanted.resize(1501);
    CHECK(draw<double>("RandomStandardNormal_float64", 1501, 0) == wanted);
    for (std::uint64_t group = 0; truncated.size() < 1501; ++group) {
      Philox own(kKey, kStream);
      own.skip(group * 128);
      for (std::size_t kept = 0; kept < 2;) {
        for (const double value : pair(own())) {
          if (kept == 2 || std::fabs(value) >= 2) continue;
          truncated.push_back(value);
          ++kept;
        }
      }
    }
    truncated.resize(1501);
    CHECK(draw<double>("TruncatedNormal_float64", 1501, 0) == truncated);
  }

  TEST_CASE("samples of classes") {
    const std::size_t batch = 3, classes = 300, samples = 7;
    auto logits = cuda::testing::numbers<float>(batch * classes, -3, 3);
    logits[5] = INFINITY;  // these are never drawn
    logits[6] = -INFINITY;
    logits[7] = NAN;
    DeviceMemory memory;
    const std::uint64_t* state = memory.upload(State{kKey, 4, kStream});
    double *weights = memory.allocate<double>(batch * classes),
           *sums = memory.allocate<double>(batch * classes);
    i64* y = memory.allocate<i64>(batch * samples);
    memory.run("MultinomialWeights_float32", {dim3(2), dim3(256), 0},
               static_cast<const float*>(memory.upload(logits)), weights, i64(batch), i64(classes));
    memory.run("Cumsum_columns_float64", launch_for(batch), static_cast<const double*>(weights),
               sums, i64(batch), i64(classes), i64(1), 0, 0);
    memory.run("MultinomialDraw_int64", launch_for(batch * samples), state,
               static_cast<const double*>(sums), y, i64(batch), i64(classes), i64(samples));
    // As ops/random/multinomial.cc draws them: two words for a sample.
    Philox philox(kKey, kStream);
    philox.skip(4);
    std::vector<double> uniform;
    while (uniform.size() < batch * samples) {
      const auto w = philox();
      uniform.push_back(random::unit_double(w[0], w[1]));
      uniform.push_back(random::unit_double(w[2], w[3]));
    }
    std::vector<i64> wanted;
    for (std::size_t b = 0; b < batch; ++b) {
      const float* row = logits.data() + b * classes;
      float largest = -3;
      for (std::size_t j = 0; j < classes; ++j) {
        if (std::isfinite(row[j])) largest = std::max(largest, row[j]);
      }
      std::vector<double> running;
      double total = 0;
      for (std::size_t j = 0; j < classes; ++j) {
        if (std::isfinite(row[j])) total += std::exp(double{row[j]} - double{largest});
        running.push_back(total);
      }
      for (std::size_t i = 0; i < samples; ++i) {
        wanted.push_back(
            std::upper_bound(running.begin(), running.end(), uniform[b * samples + i] * total) -
            running.begin());
      }
    }
    CHECK(memory.download(y, batch * samples) == wanted);

    // A number that equals a sum belongs to the class behind it.
    const double* exact = memory.upload(std::vector<double>{0, uniform[0], 1});
    memory.run("MultinomialDraw_int64", launch_for(1), state, exact, y, i64(1), i64(3), i64(1));
    CHECK(memory.download(y, 1)[0] == 2);
  }
}

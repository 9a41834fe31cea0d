// What needs no numbers of TensorFlow: the generator, slices, errors, and our own bits.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "core/graph/error.h"
#include "ops/random/box_muller.h"
#include "ops/random/distributions.h"
#include "ops/random/guarded.h"
#include "ops/random/shuffle.h"
#include "tests/ops/random/golden.h"

using namespace towerflow::random;
using towerflow::errors::InternalError;
using towerflow::errors::InvalidArgumentError;

namespace {

/// Calls `fill(out, range)` for the whole, then for slices of uneven size from the last to the
/// first. Checks that slices write only their own elements, with the same values.
template <class T, class F>
void check_slices(std::int64_t count, F&& fill) {
  std::vector<T> whole(static_cast<std::size_t>(count));
  const std::int64_t groups = group_count<T>(count);
  fill(std::span<T>(whole), GroupRange{0, groups});
  std::vector<T> sliced(whole.size(), T{77});
  std::int64_t end = groups;
  for (std::int64_t length = 1; end > 0; length = length * 3 + 1) {
    const std::int64_t begin = std::max<std::int64_t>(0, end - length);
    fill(std::span<T>(sliced), GroupRange{begin, end});
    const auto first = static_cast<std::size_t>(begin * kGroupSize<T>);
    for (std::size_t i = 0; i < whole.size(); ++i)
      REQUIRE(sliced[i] == (i < first ? T{77} : whole[i]));
    end = begin;
  }
  CHECK_THROWS_AS(fill(std::span<T>(sliced), GroupRange{-1, 0}), InternalError);
  CHECK_THROWS_AS(fill(std::span<T>(sliced), GroupRange{0, groups + 1}), InternalError);
  CHECK_THROWS_AS(fill(std::span<T>(sliced), GroupRange{2, 1}), InternalError);
}

/// Returns the error of `computed` against `exact` in units of the last place of `computed`.
double ulps_off(double computed, long double exact) {
  const double unit = std::abs(std::nextafter(computed, 2 * computed) - computed);
  return static_cast<double>(std::abs(computed - exact) / unit);
}

}  // namespace

TEST_CASE("Philox gives the published answers") {
  // Published test vectors of Random123, philox4x32 with 10 rounds.
  Philox zero(0, 0);
  CHECK(zero() == Philox::Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  Philox ones(0xffffffffffffffffU, 0xffffffffffffffffU);
  ones.skip(0xffffffffffffffffU);
  CHECK(ones() == Philox::Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(ones.counter_low() == 0);
  CHECK(ones.counter_high() == 0);
  Philox pi(0x299f31d0a4093822U, 0x0370734413198a2eU);
  pi.skip(0x85a308d3243f6a88U);
  CHECK(pi() == Philox::Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("lanes are skips and draws, across a carry of the counter") {
  Philox base(123, 0xfffffffffffffffeU);
  base.skip(0xffffffffffffff00U);
  std::uint32_t lanes[4][16];
  philox_lanes(base, 5, 37, lanes);
  for (std::uint64_t i = 0; i < 16; ++i) {
    Philox one = base;
    one.skip(5 + 37 * i);
    const Philox::Block block = one();
    for (std::size_t w = 0; w < 4; ++w) CHECK(lanes[w][i] == block[w]);
  }
}

TEST_CASE("slices in any order make the whole") {
  const Philox base(42, 43);
  for (const std::int64_t count : {1, 4, 5, 257, 1000, 5003}) {
    check_slices<float>(count, [&](auto out, GroupRange r) { fill_uniform(base, out, r); });
    check_slices<double>(count, [&](auto out, GroupRange r) { fill_uniform(base, out, r); });
    check_slices<float>(count, [&](auto out, GroupRange r) { fill_normal(base, out, r); });
    check_slices<double>(count, [&](auto out, GroupRange r) { fill_normal(base, out, r); });
    check_slices<float>(count,
                        [&](auto out, GroupRange r) { fill_truncated_normal(base, out, r); });
    check_slices<double>(count,
                         [&](auto out, GroupRange r) { fill_truncated_normal(base, out, r); });
    check_slices<std::int32_t>(
        count, [&](auto out, GroupRange r) { fill_uniform_int(base, -9, 60, out, r); });
    check_slices<std::int64_t>(count, [&](auto out, GroupRange r) {
      fill_uniform_int(base, std::int64_t{-9}, std::int64_t{60}, out, r);
    });
  }
}

TEST_CASE("normals have the same bits under every compiler and level of optimisation") {
  const Philox base(1, 2);
  std::vector<float> f(100003);
  std::vector<double> d(100003);
  fill_normal<float>(base, f);
  CHECK(golden::hash(f) == 0x1c8eeb3ff9342c9cU);
  fill_truncated_normal<float>(base, f);
  CHECK(golden::hash(f) == 0xdcee83fd524bab7bU);
  for (const float x : f) REQUIRE(std::abs(x) < 2.0F);
  fill_normal<double>(base, d);
  CHECK(golden::hash(d) == 0xbcc6a9302f9b643cU);
  fill_truncated_normal<double>(base, d);
  CHECK(golden::hash(d) == 0x374d451f09c6fd5eU);
  for (const double x : d) REQUIRE(std::abs(x) < 2.0);
}

TEST_CASE("normals and truncated normals have their moments") {
  const auto moments = [](const std::vector<float>& values) {
    double sum = 0, squares = 0;
    for (const double x : values) {
      sum += x;
      squares += x * x;
    }
    const auto n = static_cast<double>(values.size());
    return std::pair{sum / n, squares / n - (sum / n) * (sum / n)};
  };
  std::vector<float> values(1000000);
  fill_normal<float>(Philox(3, 4), values);
  const auto [mean, variance] = moments(values);
  CHECK(std::abs(mean) < 0.005);
  CHECK(std::abs(variance - 1.0) < 0.007);
  fill_truncated_normal<float>(Philox(3, 5), values);
  const auto [cut_mean, cut_variance] = moments(values);
  CHECK(std::abs(cut_mean) < 0.005);
  CHECK(std::abs(cut_variance - 0.77374) < 0.005);  // 1 - 2 * 2 phi(2) / (2 Phi(2) - 1)
}

TEST_CASE("log, sine and cosine are as accurate as stated") {
  Philox stream(9, 9);
  double worst_log = 0, worst_sine = 0;
  const auto check = [&](double u, double x) {
    worst_log = std::max(worst_log, ulps_off(log_double(u), std::log(static_cast<long double>(u))));
    double s = 0, c = 0;
    sincos_double(x, s, c);
    worst_sine = std::max(worst_sine, ulps_off(s, std::sin(static_cast<long double>(x))));
    worst_sine = std::max(worst_sine, ulps_off(c, std::cos(static_cast<long double>(x))));
    const auto fu = static_cast<float>(u), fx = static_cast<float>(x);
    float fs = 0, fc = 0;
    sincos_float(fx, fs, fc);
    REQUIRE(golden::ulps_apart(fs, static_cast<float>(std::sin(double{fx}))) <= 1);
    REQUIRE(golden::ulps_apart(fc, static_cast<float>(std::cos(double{fx}))) <= 1);
    REQUIRE(golden::ulps_apart(log_float(fu), static_cast<float>(std::log(double{fu}))) <= 1);
  };
  for (int i = 0; i < 200000; ++i) {
    const Philox::Block w = stream();
    check(std::max(unit_double(w[0], w[1]), kSmallestUniform), kTwoPi * unit_double(w[2], w[3]));
  }
  // Near multiples of pi / 2 and near 1, where leading bits cancel.
  for (int quarter = 1; quarter <= 4; ++quarter)
    for (int step = -2000; step <= 2000; ++step) {
      const double x = quarter * (kTwoPi / 4) * (1.0 + step * 0x1p-52);
      check(1.0 - (2001 + step) * 0x1p-53, std::min(x, kTwoPi));
    }
  MESSAGE("log " << worst_log << " ulp, sine and cosine " << worst_sine << " ulp");
  CHECK(worst_log < 0.53);
  CHECK(worst_sine < 0.55);
}

TEST_CASE("unseeded generators differ; concurrent reservations never overlap") {
  GuardedPhilox a(0, 0), b(0, 0);
  CHECK(a.reserve_outputs(1)() != b.reserve_outputs(1)());

  GuardedPhilox shared(5, 6);
  std::vector<std::uint64_t> starts[4];
  std::vector<std::thread> threads;
  for (auto& mine : starts)
    threads.emplace_back([&shared, &mine] {
      for (int i = 0; i < 1000; ++i) mine.push_back(shared.reserve_words(5).counter_low());
    });
  for (auto& thread : threads) thread.join();
  std::vector<bool> seen(8000);
  for (const auto& mine : starts)
    for (const std::uint64_t start : mine) {
      REQUIRE(start % 2 == 0);
      REQUIRE(start < seen.size());
      REQUIRE_FALSE(seen[start]);
      seen[start] = true;
    }
}

TEST_CASE("bad arguments are typed errors") {
  GuardedPhilox generator(1, 2);
  CHECK_THROWS_AS(generator.reserve_outputs(-1), InvalidArgumentError);
  CHECK_THROWS_AS(generator.reserve_words(-1), InvalidArgumentError);
  CHECK_THROWS_AS(check_rows(-1), InvalidArgumentError);
  CHECK_THROWS_AS(check_rows(std::int64_t{1} << 32), InvalidArgumentError);
  CHECK_NOTHROW(check_rows((std::int64_t{1} << 32) - 1));
  std::vector<std::int32_t> out(3), empty;
  CHECK_THROWS_AS(fill_uniform_int<std::int32_t>(Philox(1, 2), 3, 3, out), InvalidArgumentError);
  CHECK_NOTHROW(fill_uniform_int<std::int32_t>(Philox(1, 2), 3, 3, empty));
  std::string message;
  try {
    fill_uniform_int<std::int32_t>(Philox(1, 2), 4, 3, out);
  } catch (const InvalidArgumentError& error) {
    message = error.message();
  }
  CHECK(message == "Need minval < maxval, got 4 >= 3");
  CHECK(generator.reserve_words(1).counter_low() == 0);
}

// Choices: select, one-hot vectors, leaky relu and the places of extremes.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "cuda/device/arguments.h"
#include "tests/cuda/close.h"
#include "tests/cuda/device_memory.h"

using namespace towerflow::cuda;
using device::Divisor;
using device::SelectShape;
using testing::check_values;
using testing::DeviceMemory;
using testing::launch_for;
using testing::numbers;
using i64 = std::int64_t;
using U8 = std::vector<std::uint8_t>;

namespace {

/// The rule of ops/math/argmax.cc.
template <class T>
i64 place_of_extreme(const T* x, i64 n, i64 stride, bool largest) {
  i64 found = 0;
  T reached = largest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  for (i64 i = 0; i < n; ++i) {
    const T value = x[i * stride];
    if (largest ? value > reached : value < reached) {
      found = i;
      reached = value;
    }
  }
  return found;
}

template <class T, class Index>
void check_extremes(const std::string& suffix, const std::vector<T>& values, i64 outer, i64 n,
                    i64 inner) {
  CAPTURE(suffix);
  DeviceMemory memory;
  const T* x = memory.upload(values);
  const auto results = static_cast<std::size_t>(outer * inner);
  for (const bool largest : {true, false}) {
    for (const int group : {1, 32}) {
      CAPTURE(group);
      Index* y = memory.allocate<Index>(results);
      memory.run((largest ? "ArgMax_" : "ArgMin_") + suffix, {dim3(3), dim3(256), 0}, x, y, outer,
                 n, Divisor::of(static_cast<std::uint32_t>(inner)), group);
      const auto got = memory.download(y, results);
      for (i64 i = 0; i < outer * inner; ++i) {
        const T* from = values.data() + i / inner * n * inner + i % inner;
        CHECK(got[static_cast<std::size_t>(i)] == place_of_extreme(from, n, inner, largest));
      }
    }
  }
}

}  // namespace

TEST_SUITE("cuda choices") {
  TEST_CASE("select reads operands of the size of the result, single ones and by strides") {
    DeviceMemory memory;
    const std::size_t n = 5 * 7;
    U8 conditions(n);
    for (std::size_t i = 0; i < n; ++i) conditions[i] = i % 3 == 0;
    const auto as = numbers<float>(n, -1, 1, 1), bs = numbers<float>(n, -1, 1, 2);
    const auto* c = reinterpret_cast<const bool*>(memory.upload(conditions));
    const void *a = memory.upload(as), *b = memory.upload(bs);
    float* y = memory.allocate<float>(n);
    void* to = y;
    memory.run("Select_4", launch_for(n), c, a, b, to, i64(n), SelectShape());
    check_values(memory.download(y, n), [&](std::size_t i) { return i % 3 == 0 ? as[i] : bs[i]; });
    // An address at which no pack begins.
    const void* shifted = static_cast<const float*>(a) + 1;
    memory.run("Select_4", launch_for(n - 1), c, shifted, b, to, i64(n - 1), SelectShape());
    check_values(memory.download(y, n - 1),
                 [&](std::size_t i) { return i % 3 == 0 ? as[i + 1] : bs[i]; });
    SelectShape single;
    single.one[2] = 1;
    memory.run("Select_4", launch_for(n), c, a, b, to, i64(n), single);
    check_values(memory.download(y, n), [&](std::size_t i) { return i % 3 == 0 ? as[i] : bs[0]; });
    SelectShape rows;  // a condition for each row, as Select has them
    rows.strided = 1;
    rows.operands.rank = 2;
    rows.operands.sizes[0] = Divisor::of(5);
    rows.operands.sizes[1] = Divisor::of(7);
    rows.operands.strides[0][0] = 1;
    rows.operands.strides[1][0] = 7;
    rows.operands.strides[1][1] = rows.operands.strides[2][1] = 1;
    memory.run("Select_4", launch_for(n), c, a, b, to, i64(n), rows);
    check_values(memory.download(y, n),
                 [&](std::size_t i) { return i / 7 % 3 == 0 ? as[i] : bs[i % 7]; });
    U8 ps(n), qs(n);
    for (std::size_t i = 0; i < n; ++i) {
      ps[i] = static_cast<std::uint8_t>(i);
      qs[i] = static_cast<std::uint8_t>(200 - i);
    }
    const void *p = memory.upload(ps), *q = memory.upload(qs);
    std::uint8_t* bytes = memory.allocate<std::uint8_t>(n);
    to = bytes;
    memory.run("Select_1", launch_for(n), c, p, q, to, i64(n), SelectShape());
    check_values(memory.download(bytes, n),
                 [&](std::size_t i) { return i % 3 == 0 ? ps[i] : qs[i]; });
  }

  TEST_CASE("one-hot vectors along any axis; other indices give none") {
    DeviceMemory memory;
    const std::vector<i64> indices{0, 2, -1, 5, 1, 3};  // [2, 3]
    const i64* at = memory.upload(indices);
    const void *on = memory.upload(std::vector<double>{2.5}),
               *off = memory.upload(std::vector<double>{-1});
    const std::size_t depth = 4, n = 2 * depth * 3;
    double* y = memory.allocate<double>(n);
    void* to = y;
    memory.run("OneHot_8_int64", launch_for(n), at, on, off, to, i64(n),
               Divisor::of(static_cast<std::uint32_t>(depth)), Divisor::of(3));
    check_values(memory.download(y, n), [&](std::size_t i) {
      const auto d = static_cast<i64>(i / 3 % depth);
      return indices[i / (3 * depth) * 3 + i % 3] == d ? 2.5 : -1;
    });
    const auto* bytes = memory.upload(U8{3, 0, 250});
    const void *one = memory.upload(U8{1}), *zero = memory.upload(U8{0});
    std::uint8_t* z = memory.allocate<std::uint8_t>(12);
    to = z;
    memory.run("OneHot_1_uint8", launch_for(12), bytes, one, zero, to, i64(12), Divisor::of(4),
               Divisor::of(1));
    CHECK(memory.download(z, 12) == U8{0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0});
  }

  TEST_CASE("leaky relu and its gradient") {
    DeviceMemory memory;
    const std::size_t n = 1001;
    auto xs = numbers<float>(n), dys = numbers<float>(n, -1, 1, 3);
    xs[5] = 0;
    const float *x = memory.upload(xs), *dy = memory.upload(dys);
    float* y = memory.allocate<float>(n);
    memory.run("LeakyRelu_float32", launch_for(n), x, y, i64(n), 0.3);
    check_values(memory.download(y, n),
                 [&](std::size_t i) { return xs[i] > 0 ? xs[i] : 0.3 * double{xs[i]}; });
    memory.run("LeakyReluGrad_float32", launch_for(n), dy, x, y, i64(n), 0.3);
    check_values(memory.download(y, n),
                 [&](std::size_t i) { return xs[i] > 0 ? dys[i] : 0.3 * double{dys[i]}; });
    const auto* halves = memory.upload(std::vector<std::uint16_t>{0x3c00, 0xc000});  // 1, -2
    auto* h = memory.allocate<std::uint16_t>(2);
    memory.run("LeakyRelu_float16", launch_for(2), halves, h, i64(2), 0.25);
    CHECK(memory.download(h, 2) == std::vector<std::uint16_t>{0x3c00, 0xb800});
  }

  TEST_CASE("numbers are clipped by single bounds and by tensors; NaN stays") {
    DeviceMemory memory;
    const std::vector<float> values{-3, -1, 0, 2, 5, NAN};
    const float *x = memory.upload(values), *low = memory.upload(std::vector<float>{-1}),
                *high = memory.upload(std::vector<float>{0, 0, -2, 3, 3, 3});
    float* y = memory.allocate<float>(6);
    memory.run("ClipByValue_float32", launch_for(6), x, low, high, y, i64(6), 1, 0);
    const std::vector<double> wanted{-1, -1, -1, 2, 3, NAN};
    check_values(memory.download(y, 6), [&](std::size_t i) { return wanted[i]; });
    const auto *u = memory.upload(U8{0, 100, 255}), *bounds = memory.upload(U8{10, 200});
    auto* v = memory.allocate<std::uint8_t>(3);
    memory.run("ClipByValue_uint8", launch_for(3), u, bounds, bounds + 1, v, i64(3), 1, 1);
    CHECK(memory.download(v, 3) == U8{10, 100, 200});
  }

  TEST_CASE("the places of extremes, in rows and in columns") {
    check_extremes<float, i64>("float32_int64", numbers<float>(7 * 100), 7, 100, 1);
    check_extremes<float, std::int32_t>("float32_int32", numbers<float>(3 * 33 * 50), 3, 33, 50);
    check_extremes<double, i64>("float64_int64", numbers<double>(300), 300, 1, 1);
    std::vector<std::int32_t> few(5 * 70);
    for (std::size_t i = 0; i < few.size(); ++i) few[i] = static_cast<std::int32_t>(i * 7 % 5);
    check_extremes<std::int32_t, i64>("int32_int64", few, 5, 70, 1);  // many equal ones
    check_extremes<std::uint8_t, std::int32_t>("uint8_int32", U8{3, 0, 9, 9, 0, 3}, 2, 3, 1);
    check_extremes<i64, i64>("int64_int64", {std::numeric_limits<i64>::min(), 5, 5, 2}, 1, 4, 1);
  }

  TEST_CASE("NaN is never an extreme, and without any other number the place is 0") {
    const float nan = NAN, inf = INFINITY, lowest = std::numeric_limits<float>::lowest();
    const std::vector<float> values{nan,  1,    nan,  1,      nan, nan, nan, nan,   -inf, -inf,
                                    -inf, -inf, -inf, lowest, inf, inf, 0,   -0.0F, nan,  -0.0F};
    check_extremes<float, i64>("float32_int64", values, 5, 4, 1);
  }

  TEST_CASE("places in 16-bit numbers") {
    DeviceMemory memory;
    const auto* x = memory.upload(std::vector<std::uint16_t>{0x3f80, 0x4000, 0xc000, 0x4000});
    i64* y = memory.allocate<i64>(1);
    memory.run("ArgMax_bfloat16_int64", {dim3(1), dim3(256), 0}, x, y, i64(1), i64(4),
               Divisor::of(1), 32);
    CHECK(memory.download(y, 1)[0] == 1);
    memory.run("ArgMin_float16_int64", {dim3(1), dim3(256), 0}, x, y, i64(1), i64(4),
               Divisor::of(1), 1);
    CHECK(memory.download(y, 1)[0] == 2);
  }
}

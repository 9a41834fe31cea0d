// Sums of tensors, sums of squares, running sums and products.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "cuda/device/arguments.h"
#include "tests/cuda/close.h"
#include "tests/cuda/device_memory.h"

using namespace towerflow::cuda;
using device::AverageList;
using device::SumList;
using testing::check_values;
using testing::DeviceMemory;
using testing::launch_for;
using testing::numbers;
using i64 = std::int64_t;

namespace {

/// What a running sum or product should be, as the CPU computes it.
template <class T>
std::vector<T> scanned(const std::vector<T>& x, std::size_t n, std::size_t inner, bool product,
                       bool exclusive, bool reverse) {
  std::vector<T> y(x.size());
  for (std::size_t line = 0; line < x.size() / n; ++line) {
    T total = product ? T(1) : T(0);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t k = reverse ? n - 1 - i : i;
      const std::size_t at = line / inner * n * inner + k * inner + line % inner;
      const T before = total;
      total = product ? total * x[at] : total + x[at];
      y[at] = exclusive ? before : total;
    }
  }
  return y;
}

template <class T>
void check_scans(const std::string& dtype, std::size_t n) {
  CAPTURE(dtype);
  CAPTURE(n);
  for (const bool product : {false, true}) {
    const std::string op = product ? "Cumprod" : "Cumsum";
    const double low = product ? 0.95 : -1, high = product ? 1.05 : 1;
    for (int form = 0; form < 4; ++form) {
      const int exclusive = form & 1, reverse = form >> 1;
      DeviceMemory memory;
      const auto columns = numbers<T>(2 * n * 5, low, high), rows = numbers<T>(5 * n, low, high);
      const T *x = memory.upload(columns), *u = memory.upload(rows);
      T *y = memory.allocate<T>(columns.size()), *v = memory.allocate<T>(rows.size());
      memory.run(op + "_columns_" + dtype, launch_for(10), x, y, i64(2), i64(n), i64(5), exclusive,
                 reverse);
      // The same bits, since both add in the same order.
      CHECK(memory.download(y, columns.size()) ==
            scanned(columns, n, 5, product, exclusive != 0, reverse != 0));
      memory.run(op + "_rows_" + dtype, {dim3(2), dim3(256), 0}, u, v, i64(5), i64(n), exclusive,
                 reverse);
      const auto wanted = scanned(rows, n, 1, product, exclusive != 0, reverse != 0);
      check_values(
          memory.download(v, rows.size()),
          [&](std::size_t i) { return static_cast<double>(wanted[i]); }, 1e-4);
    }
  }
}

}  // namespace

TEST_SUITE("cuda sums") {
  TEST_CASE("running sums and products of rows and columns") {
    for (const std::size_t n : {1, 31, 256, 300, 1000}) check_scans<float>("float32", n);
    check_scans<double>("float64", 77);
    check_scans<std::int32_t>("int32", 40);
    check_scans<i64>("int64", 257);
  }

  TEST_CASE("a running sum of 16-bit numbers is carried in float") {
    DeviceMemory memory;
    const std::vector<std::uint16_t> ones(3000, 0x3f80);  // bfloat16 has 8 bits
    const auto* x = memory.upload(ones);
    auto* y = memory.allocate<std::uint16_t>(3000);
    memory.run("Cumsum_rows_bfloat16", {dim3(1), dim3(256), 0}, x, y, i64(1), i64(3000), 0, 0);
    const auto got = memory.download(y, 3000);
    CHECK(got[2047] == 0x4500);  // 2048
    CHECK(got[2999] == 0x453c);  // 3008 is the nearest to 3000
  }

  TEST_CASE("sums of tensors in their order, in place, and averages of towers") {
    DeviceMemory memory;
    const std::size_t n = 1003;
    const auto a = numbers<float>(n, -1, 1, 1), b = numbers<float>(n, -1, 1, 2),
               c = numbers<float>(n, -1, 1, 3);
    SumList list;
    list.count = 3;
    float* y = memory.upload(a);
    list.summands[0] = y;
    list.summands[1] = memory.upload(b);
    list.summands[2] = memory.upload(c);
    memory.run("AddN_float32", launch_for(n / 4), list, y, i64(n));
    auto got = memory.download(y, n);
    for (std::size_t i = 0; i < n; ++i) REQUIRE(got[i] == (a[i] + b[i]) + c[i]);
    list.summands[0] = memory.upload(a);
    list.weighted = 1;
    for (int i = 0; i < 3; ++i) {
      list.weights[i] = memory.upload(std::vector<float>{0.5F + static_cast<float>(i)});
    }
    list.divided_by = memory.upload(std::vector<float>{3});
    memory.run("AddN_float32", launch_for(n / 4), list, y, i64(n));
    got = memory.download(y, n);
    for (std::size_t i = 0; i < n; ++i) {
      REQUIRE(got[i] == ((a[i] * 0.5F + b[i] * 1.5F) + c[i] * 2.5F) / 3);
    }
  }

  TEST_CASE("a sum keeps -0 unless it starts from zero; unaligned tensors; integers wrap") {
    DeviceMemory memory;
    const std::vector<float> zeros(9, -0.0F);
    SumList list;
    list.count = 1;
    list.summands[0] = memory.upload(zeros) + 1;
    float* y = memory.allocate<float>(8);
    memory.run("AddN_float32", launch_for(8), list, y, i64(8));
    CHECK(std::signbit(memory.download(y, 8)[7]));
    list.from_zero = 1;
    memory.run("AddN_float32", launch_for(8), list, y, i64(8));
    CHECK_FALSE(std::signbit(memory.download(y, 8)[7]));
    SumList integers;
    integers.count = 2;
    integers.summands[0] = memory.upload(std::vector<std::int32_t>{2147483647, 5});
    integers.summands[1] = memory.upload(std::vector<std::int32_t>{1, 6});
    auto* z = memory.allocate<std::int32_t>(2);
    memory.run("AddN_int32", launch_for(2), integers, z, i64(2));
    CHECK(memory.download(z, 2) == std::vector<std::int32_t>{-2147483647 - 1, 11});
    SumList halves;  // 1 + 2^-11 + 2^-11 is rounded once
    halves.count = 3;
    halves.summands[0] = memory.upload(std::vector<std::uint16_t>{0x3c00});
    halves.summands[1] = halves.summands[2] = memory.upload(std::vector<std::uint16_t>{0x1000});
    auto* h = memory.allocate<std::uint16_t>(1);
    memory.run("AddN_float16", launch_for(1), halves, h, i64(1));
    CHECK(memory.download(h, 1)[0] == 0x3c01);
  }

  TEST_CASE("the gradients of several variables are averaged over towers in one launch") {
    DeviceMemory memory;
    AverageList list;
    list.towers = 3;
    std::vector<std::vector<float>> gradients;
    std::uint32_t blocks = 0;
    for (const std::size_t n : {5, 10001, 1, 4096}) {
      auto& v = list.variables[list.count++];
      const std::size_t shift = n == 4096 ? 1 : 0;  // one variable is not aligned
      for (int tower = 0; tower < 3; ++tower) {
        gradients.push_back(
            numbers<float>(n + shift, -1, 1, static_cast<unsigned>(gradients.size())));
        v.gradients[tower] = memory.upload(gradients.back()) + shift;
      }
      v.average = memory.allocate<float>(n);
      v.elements = static_cast<i64>(n);
      v.first_block = blocks;
      blocks += static_cast<std::uint32_t>((n + device::kAverageChunk - 1) / device::kAverageChunk);
    }
    const auto check = [&](auto wanted) {
      memory.run("Average_float32", {dim3(blocks), dim3(256), 0}, list);
      for (std::size_t j = 0; j < 4; ++j) {
        const auto& v = list.variables[j];
        const auto n = static_cast<std::size_t>(v.elements);
        const std::size_t shift = gradients[3 * j].size() - n;
        const auto got = memory.download(static_cast<const float*>(v.average), n);
        for (std::size_t i = 0; i < n; ++i) {
          REQUIRE(got[i] == wanted(gradients[3 * j][i + shift], gradients[3 * j + 1][i + shift],
                                   gradients[3 * j + 2][i + shift]));
        }
      }
    };
    list.divisor = 3;
    check([](float a, float b, float c) { return ((a + b) + c) / 3; });
    list.weighted = 1;
    for (int tower = 0; tower < 3; ++tower) {
      list.weights[tower] = memory.upload(std::vector<float>{0.25F * static_cast<float>(tower)});
    }
    list.divided_by = memory.upload(std::vector<float>{0.75F});
    check([](float a, float b, float c) { return ((a * 0 + b * 0.25F) + c * 0.5F) / 0.75F; });
  }

  TEST_CASE("half the sum of squares, in one part and in several") {
    DeviceMemory memory;
    const std::size_t n = 5003;
    const auto values = numbers<float>(n);
    double wanted = 0;
    for (const float x : values) wanted += double{x} * x / 2;
    const float* x = memory.upload(values);
    float *y = memory.allocate<float>(1), *parts = memory.allocate<float>(7);
    memory.run("L2Loss_float32", {dim3(1), dim3(256), 0}, x, y, i64(n), 2.0);
    check_values(memory.download(y, 1), [&](std::size_t) { return wanted; });
    memory.run("L2Loss_float32", {dim3(1, 7), dim3(256), 0}, x, parts, i64(n), 1.0);
    memory.run("Sum_rows_float32", {dim3(1), dim3(256), 0}, static_cast<const float*>(parts), y,
               i64(1), i64(7), 32, 2.0);
    check_values(memory.download(y, 1), [&](std::size_t) { return wanted; });
    const auto* h = memory.upload(std::vector<std::uint16_t>(11, 0x4000));  // 2
    memory.run("L2Loss_float16", {dim3(1), dim3(256), 0}, h, y, i64(11), 2.0);
    CHECK(memory.download(y, 1)[0] == 22);
  }
}

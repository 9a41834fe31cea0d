// Reductions: over rows, columns and any axes, in one launch and in two.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "cuda/device/arguments.h"
#include "tests/cuda/close.h"
#include "tests/cuda/device_memory.h"

using namespace towerflow::cuda;
using device::Strided;
using testing::check_values;
using testing::DeviceMemory;
using testing::numbers;
using testing::strided;
using i64 = std::int64_t;

namespace {

double start_of(const std::string& op) {
  if (op == "Sum") return 0;
  if (op == "Prod") return 1;
  return op == "Max" ? -INFINITY : INFINITY;
}
double join(const std::string& op, double a, double b) {
  if (op == "Sum") return a + b;
  if (op == "Prod") return a * b;
  return op == "Max" ? std::max(a, b) : std::min(a, b);
}

template <class T>
void check_rows(const std::string& op, const std::string& dtype, std::size_t rows,
                std::size_t columns, int group, unsigned parts) {
  CAPTURE(op);
  CAPTURE(columns);
  CAPTURE(parts);
  DeviceMemory memory;
  const auto values =
      op == "Prod" ? numbers<T>(rows * columns, 0.99, 1.01) : numbers<T>(rows * columns, -2, 2);
  const T* x = memory.upload(values);
  T *partial = memory.allocate<T>(rows * parts), *y = memory.allocate<T>(rows);
  const auto name = op + "_rows_" + dtype;
  memory.run(name, {dim3(3, parts), dim3(256), 0}, x, partial, i64(rows), i64(columns), group, 1.0);
  memory.run(name, {dim3(2), dim3(256), 0}, static_cast<const T*>(partial), y, i64(rows),
             i64(parts), 32, op == "Sum" ? 4.0 : 1.0);
  check_values(memory.download(y, rows), [&](std::size_t r) {
    double total = start_of(op);
    for (std::size_t c = 0; c < columns; ++c) {
      total = join(op, total, static_cast<double>(values[r * columns + c]));
    }
    return op == "Sum" && std::is_floating_point_v<T> ? total / 4 : total;
  });
}

template <class T>
void check_columns(const std::string& op, const std::string& dtype, std::size_t rows,
                   std::size_t columns, unsigned parts) {
  CAPTURE(op);
  CAPTURE(rows);
  CAPTURE(columns);
  const std::size_t outer = 2;
  const int pack = 16 / sizeof(T);
  const int packed = columns % static_cast<std::size_t>(pack) == 0;
  DeviceMemory memory;
  const auto values = op == "Prod" ? numbers<T>(outer * rows * columns, 0.99, 1.01)
                                   : numbers<T>(outer * rows * columns, -2, 2);
  const T* x = memory.upload(values);
  T *partial = memory.allocate<T>(outer * parts * columns),
    *y = memory.allocate<T>(outer * columns);
  const std::size_t units = packed != 0 ? columns / static_cast<std::size_t>(pack) : columns;
  const auto tiles = static_cast<unsigned>((units + 255) / 256);
  const auto name = op + "_columns_" + dtype;
  const auto trace = memory.run(name, {dim3(tiles, outer, parts), dim3(256), 0}, x, partial,
                                i64(rows), i64(columns), packed, 1.0);
  CHECK(trace.bytes_read == outer * rows * columns * sizeof(T));
  memory.run(name, {dim3(tiles, outer), dim3(256), 0}, static_cast<const T*>(partial), y,
             i64(parts), i64(columns), packed, 1.0);
  check_values(memory.download(y, outer * columns), [&](std::size_t i) {
    double total = start_of(op);
    for (std::size_t r = 0; r < rows; ++r) {
      total = join(op, total,
                   static_cast<double>(values[(i / columns * rows + r) * columns + i % columns]));
    }
    return total;
  });
}

}  // namespace

TEST_SUITE("cuda reduce") {
  TEST_CASE("rows, by warps and by blocks, whole and in parts") {
    for (const char* op : {"Sum", "Prod", "Max", "Min"}) {
      for (const std::size_t columns : {1, 7, 32, 100, 1025}) {
        check_rows<float>(op, "float32", 35, columns, columns > 256 ? 256 : 32, 1);
        check_rows<float>(op, "float32", 3, columns, 256, 5);
        check_rows<double>(op, "float64", 5, columns, 256, 3);
      }
    }
    check_rows<std::int32_t>("Sum", "int32", 35, 99, 32, 1);
    check_rows<i64>("Max", "int64", 35, 99, 256, 2);
  }

  TEST_CASE("columns, few and many, whole and in parts") {
    for (const char* op : {"Sum", "Prod", "Max", "Min"}) {
      for (const std::size_t columns : {1, 3, 16, 100, 257, 1100}) {
        check_columns<float>(op, "float32", 67, columns, 1);
        check_columns<float>(op, "float32", 67, columns, 4);
        check_columns<double>(op, "float64", 9, columns, 2);
      }
    }
    check_columns<std::int32_t>("Sum", "int32", 35, 99, 3);
    check_columns<i64>("Min", "int64", 5, 30, 2);
  }

  TEST_CASE("any axes") {
    DeviceMemory memory;
    // [3, 5, 7, 2] over the axes 0 and 2
    const auto values = numbers<float>(210);
    const float* x = memory.upload(values);
    float* y = memory.allocate<float>(10);
    memory.run("Sum_general_float32", {dim3(1), dim3(256), 0}, x, y, i64(10),
               strided({5, 2}, {14, 1}), i64(21), strided({3, 7}, {70, 2}), 21.0);
    check_values(memory.download(y, 10), [&](std::size_t i) {
      double total = 0;
      for (std::size_t a = 0; a < 3; ++a) {
        for (std::size_t c = 0; c < 7; ++c) total += values[a * 70 + i / 2 * 14 + c * 2 + i % 2];
      }
      return total / 21;
    });
  }

  TEST_CASE("nothing gives the start value, NaN is passed on, truth values are joined") {
    DeviceMemory memory;
    float* y = memory.allocate<float>(2);
    const float* none = memory.allocate<float>(1);
    memory.run("Max_rows_float32", {dim3(1), dim3(256), 0}, none, y, i64(2), i64(0), 32, 1.0);
    CHECK(memory.download(y, 2)[1] == -INFINITY);
    const float* x = memory.upload(std::vector<float>{1, NAN, 3, 4, 5, 6});
    memory.run("Max_rows_float32", {dim3(1), dim3(256), 0}, x, y, i64(2), i64(3), 32, 1.0);
    CHECK(std::isnan(memory.download(y, 2)[0]));
    CHECK(memory.download(y, 2)[1] == 6);
    const std::vector<unsigned char> tests{1, 1, 1, 0, 1, 1};
    const auto* b = reinterpret_cast<const bool*>(memory.upload(tests));
    auto* r = memory.allocate<bool>(2);
    const auto* bytes = reinterpret_cast<const unsigned char*>(r);
    memory.run("All_rows_bool", {dim3(1), dim3(256), 0}, b, r, i64(2), i64(3), 32, 1.0);
    CHECK(memory.download(bytes, 2) == std::vector<unsigned char>{1, 0});
    memory.run("Any_rows_bool", {dim3(1), dim3(256), 0}, b, r, i64(2), i64(3), 256, 1.0);
    CHECK(memory.download(bytes, 2) == std::vector<unsigned char>{1, 1});
  }

  TEST_CASE("16-bit numbers are reduced as float, to float") {
    DeviceMemory memory;
    const std::size_t rows = 67, columns = 12;
    std::vector<std::uint16_t> ones(rows * columns, 0x3f80);     // bfloat16
    for (std::size_t c = 0; c < columns; ++c) ones[c] = 0x4380;  // 256, after which 1 would vanish
    const auto* x = memory.upload(ones);
    float* y = memory.allocate<float>(columns);
    for (const int packed : {0, 1}) {
      memory.run("Sum_columns_bfloat16", {dim3(1), dim3(256), 0}, x, y, i64(rows), i64(columns),
                 packed, 1.0);
      CHECK(memory.download(y, columns) == std::vector<float>(columns, 322));
    }
    memory.run("Sum_rows_bfloat16", {dim3(1), dim3(256), 0}, x, y, i64(1), i64(rows * columns), 256,
               2.0);
    CHECK(memory.download(y, 1)[0] == 322 * 6);
    const auto* h = memory.upload(std::vector<std::uint16_t>{0x3c00, 0xc400, 0x7bff, 0x0001});
    memory.run("Max_rows_float16", {dim3(1), dim3(256), 0}, h, y, i64(2), i64(2), 32, 1.0);
    CHECK(memory.download(y, 2) == std::vector<float>{1, 65504});
    memory.run("Min_general_float16", {dim3(1), dim3(256), 0}, h, y, i64(2), strided({2}, {1}),
               i64(2), strided({2}, {2}), 1.0);
    CHECK(memory.download(y, 2) == std::vector<float>{1, -4});
  }

  TEST_CASE("the bits do not depend on the order of blocks, warps and lanes") {
    DeviceMemory memory;
    const float* x = memory.upload(numbers<float>(5000));
    std::vector<std::vector<float>> sums;
    for (const std::uint64_t seed : {0, 1, 2}) {
      host::set_order(seed);
      float* y = memory.allocate<float>(9);
      memory.run("Sum_rows_float32", {dim3(1, 9), dim3(256), 0}, x, y, i64(1), i64(5000), 256, 1.0);
      sums.push_back(memory.download(y, 9));
    }
    host::set_order(0);
    CHECK(sums[0] == sums[1]);
    CHECK(sums[0] == sums[2]);
  }
}

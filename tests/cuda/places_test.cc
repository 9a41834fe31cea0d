// Indices and places: slices by their indices, scatters, the largest of rows, elements that are not
// zero.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "cuda/device/arguments.h"
#include "tests/cuda/close.h"
#include "tests/cuda/device_memory.h"
#include "tests/cuda/sorted.h"

using namespace towerflow::cuda;
using testing::DeviceMemory;
using testing::launch_for;
using testing::numbers;
using testing::Sorted;
using i64 = std::int64_t;
using U32 = std::vector<std::uint32_t>;

namespace {

/// The places of the k largest elements of a row: descending, NaN last, equal ones in their order.
template <class T>
std::vector<std::int32_t> largest_places(const T* row, std::size_t n, std::size_t k) {
  std::vector<std::int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const T x = row[a], y = row[b];
    if (x != x || y != y) return x == x && y != y;
    return x > y;
  });
  order.resize(k);
  return order;
}

/// Checks the kernel that selects, and the sort by words and rows.
template <class T>
void check_top_k(const std::string& dtype, const std::vector<T>& values, std::size_t n,
                 std::size_t k) {
  CAPTURE(dtype);
  CAPTURE(n);
  CAPTURE(k);
  DeviceMemory memory;
  const std::size_t rows = values.size() / n, size = values.size();
  const T* x = memory.upload(values);
  T* found = memory.allocate<T>(rows * k);
  std::int32_t* places = memory.allocate<std::int32_t>(rows * k);
  const auto check = [&] {
    const auto got = memory.download(places, rows * k);
    const auto got_values = memory.download(found, rows * k);
    for (std::size_t r = 0; r < rows; ++r) {
      const auto wanted = largest_places(values.data() + r * n, n, k);
      for (std::size_t j = 0; j < k; ++j) {
        REQUIRE(got[r * k + j] == wanted[j]);
        const T value = values[r * n + static_cast<std::size_t>(wanted[j])];
        REQUIRE((got_values[r * k + j] == value || value != value));
      }
    }
  };
  for (const int group : {32, 256}) {
    memory.run("TopK_" + dtype, {dim3(2), dim3(256), 0}, x, found, places, i64(rows), i64(n),
               i64(k), group);
    check();
  }
  std::uint32_t *keys = memory.allocate<std::uint32_t>(size),
                *order = memory.allocate<std::uint32_t>(size);
  const int words = sizeof(T) == 8 ? 2 : 1;
  for (int word = 0; word < words; ++word) {
    memory.run("OrderKeys_" + dtype, launch_for(size), x, order, keys, i64(size), word,
               word == 0 ? 1 : 0);
    testing::sort_by_keys(memory, keys, order, size, 32);
  }
  memory.run("OrderRows", launch_for(size), static_cast<const std::uint32_t*>(order), keys,
             i64(size), i64(n));
  testing::sort_by_keys(memory, keys, order, size, 8);
  memory.run("TopKTake_" + dtype, launch_for(rows * k), x, static_cast<const std::uint32_t*>(order),
             found, places, i64(rows), i64(n), i64(k));
  check();
}

template <class T>
void check_where(const std::string& dtype, const std::vector<T>& values, std::uint32_t columns) {
  CAPTURE(dtype);
  const std::size_t n = values.size();
  const auto tiles = static_cast<unsigned>((n + device::kWhereTile - 1) / device::kWhereTile);
  DeviceMemory memory;
  const T* x = memory.upload(values);
  auto* counts = memory.allocate<std::uint32_t>(tiles + 1);
  memory.run("WhereCount_" + dtype, {dim3(tiles), dim3(256), 0}, x, counts, i64(n));
  memory.run("SortScan", {dim3(1), dim3(256), 0}, counts, i64(tiles + 1));
  std::vector<i64> wanted;
  for (std::size_t i = 0; i < n; ++i) {
    if (values[i] != T(0)) {
      wanted.insert(wanted.end(), {static_cast<i64>(i / columns), static_cast<i64>(i % columns)});
    }
  }
  const std::size_t number = memory.download(counts, tiles + 1)[tiles];
  REQUIRE(2 * number == wanted.size());
  if (number == 0) return;
  i64* y = memory.allocate<i64>(2 * number);
  const auto rows = static_cast<std::uint32_t>(n / columns);
  memory.run("WherePlaces_" + dtype, {dim3(tiles), dim3(256), 0}, x,
             static_cast<const std::uint32_t*>(counts), y, i64(n),
             testing::strided({rows, columns}, {0, 0}));
  CHECK(memory.download(y, 2 * number) == wanted);
}

}  // namespace

TEST_SUITE("cuda places") {
  TEST_CASE("indices of slices become rows, and those outside are errors") {
    DeviceMemory memory;
    device::SliceShape shape;
    shape.depth = 2;
    shape.sizes[0] = 3;
    shape.sizes[1] = 4;
    auto* error = memory.upload(std::vector<device::DataError>{{}});
    i64* rows = memory.allocate<i64>(3);
    const std::int32_t* good = memory.upload(std::vector<std::int32_t>{0, 0, 2, 3, 1, 2});
    memory.run("SliceIndex_int32", launch_for(3), good, rows, error, i64(3), shape);
    CHECK(memory.download(rows, 3) == std::vector<i64>{0, 11, 6});
    CHECK(memory.download(error, 1)[0].found == 0);
    const i64* bad = memory.upload(std::vector<i64>{0, 4, 2, 3, -1, 2});
    memory.run("SliceIndex_int64", launch_for(3), bad, rows, error, i64(3), shape);
    CHECK(memory.download(rows, 3) == std::vector<i64>{-1, 11, -1});
    const device::DataError found = memory.download(error, 1)[0];
    CHECK(found.found == 1);
    CHECK(found.value() == 4);
    CHECK(found.position() == 0);
    // Two batches of two indices into tensors of five rows each.
    device::SliceShape batches;
    batches.depth = 1;
    batches.sizes[0] = 5;
    batches.per_batch = 2;
    rows = memory.allocate<i64>(4);
    memory.run("SliceIndex_int32", launch_for(4), good, rows, error, i64(4), batches);
    CHECK(memory.download(rows, 4) == std::vector<i64>{0, 0, 7, 8});
  }

  TEST_CASE("scatters replace, subtract and divide in the order of the updates") {
    DeviceMemory memory;
    const std::size_t n = 100, width = 3, segments = 12;
    std::vector<std::int32_t> ids(n);
    for (std::size_t i = 0; i < n; ++i) ids[i] = static_cast<std::int32_t>(i * 7 % 11);
    const auto values = numbers<float>(n * width, 0.9, 1.1),
               before = numbers<float>(segments * width);
    const Sorted sorted(memory, ids, segments, "SortKeys_int32");
    const std::uint32_t *keys = sorted.keys, *rows = sorted.rows;
    const float* x = memory.upload(values);
    auto replaced = before, reduced = before, divided = before;
    for (std::size_t i = 0; i < n * width; ++i) {
      const std::size_t at = static_cast<std::size_t>(ids[i / width]) * width + i % width;
      replaced[at] = values[i];
      reduced[at] -= values[i];
      divided[at] /= values[i];
    }
    float* y = memory.upload(before);
    memory.run("SegmentReplace_4", launch_for(n), static_cast<const void*>(x), keys, rows,
               static_cast<void*>(y), i64(n), i64(width), i64(segments));
    CHECK(memory.download(y, segments * width) == replaced);
    y = memory.upload(before);
    memory.run("SegmentSub_float32", launch_for(n), x, keys, rows, y, i64(n), i64(width),
               i64(segments), 1);
    CHECK(memory.download(y, segments * width) == reduced);
    y = memory.upload(before);
    memory.run("SegmentDiv_float32", launch_for(n), x, keys, rows, y, i64(n), i64(width),
               i64(segments), 1);
    CHECK(memory.download(y, segments * width) == divided);
  }

  TEST_CASE("the bounds of segments; 16-bit numbers are combined as float") {
    DeviceMemory memory;
    const std::uint32_t* keys = memory.upload(U32{0, 0, 2, 2, 2, 5});
    i64* bounds = memory.allocate<i64>(6);
    memory.run("SegmentBounds", launch_for(6), keys, bounds, i64(6), i64(5));
    CHECK(memory.download(bounds, 6) == std::vector<i64>{0, 2, 2, 5, 5, 5});
    // 1 and twice 2^-11: a sum that is rounded after each step stays 1
    const auto* halves =
        memory.upload(std::vector<std::uint16_t>{0x3c00, 0x3c00, 0x3c00, 0x1000, 0x1000, 0});
    auto* y = memory.upload(std::vector<std::uint16_t>(5, 0));
    memory.run("SegmentSum_float16", launch_for(6), halves, keys,
               static_cast<const std::uint32_t*>(nullptr), y, i64(6), i64(1), i64(5), 0);
    CHECK(memory.download(y, 5) == std::vector<std::uint16_t>{0x4000, 0, 0x3c01, 0, 0});
  }

  TEST_CASE("ids of sorted segments must ascend") {
    DeviceMemory memory;
    const auto error_of = [&](const std::vector<i64>& ids) {
      int* error = memory.upload(std::vector<int>{0});
      memory.run("CheckAscending_int64", launch_for(ids.size()),
                 static_cast<const i64*>(memory.upload(ids)), error, i64(ids.size()));
      return memory.download(error, 1)[0];
    };
    CHECK(error_of({0, 0, 3, 3, 9}) == 0);
    CHECK(error_of({0, 3, 2}) == 1);
    CHECK(error_of({-1, 3}) == 1);
  }

  TEST_CASE("values fall into the bins of a histogram, those outside into the first and last") {
    DeviceMemory memory;
    int* error = memory.upload(std::vector<int>{0});
    const float* x = memory.upload(std::vector<float>{-1, 0, 1, 1.5F, 2, 4.9F, 5, 15, INFINITY});
    const float* range = memory.upload(std::vector<float>{0, 5});
    auto* ids = memory.allocate<std::int32_t>(9);
    memory.run("HistogramBins_float32", launch_for(9), x, range, ids, error, i64(9), 5);
    CHECK(memory.download(ids, 9) == std::vector<std::int32_t>{0, 0, 1, 1, 2, 4, 4, 4, 4});
    CHECK(memory.download(error, 1)[0] == 0);
    const double *y = memory.upload(std::vector<double>{0.5, NAN}),
                 *unit = memory.upload(std::vector<double>{0, 1});
    memory.run("HistogramBins_float64", launch_for(2), y, unit, ids, error, i64(2), 4);
    CHECK(memory.download(ids, 2) == std::vector<std::int32_t>{2, -1});
    CHECK(memory.download(error, 1)[0] == 1);
  }

  TEST_CASE("the largest elements of rows, selected and sorted") {
    check_top_k("float32", numbers<float>(5 * 100), 100, 7);
    check_top_k("float32", numbers<float>(3 * 700), 700, 40);
    check_top_k("float64", numbers<double>(4 * 33), 33, 33);
    std::vector<std::int32_t> few(6 * 50);
    for (std::size_t i = 0; i < few.size(); ++i) few[i] = static_cast<std::int32_t>(i * 13 % 7) - 3;
    check_top_k("int32", few, 50, 50);
    check_top_k("uint8", std::vector<std::uint8_t>{3, 255, 0, 3, 9, 9}, 3, 2);
    check_top_k<i64>("int64", {std::numeric_limits<i64>::min(), -1, 0, i64{1} << 40, 5, 5}, 6, 4);
  }

  TEST_CASE("NaN comes last, and 0 and -0 keep their order") {
    const float nan = NAN, inf = INFINITY;
    check_top_k<float>("float32", {nan, -inf, -0.0F, 0, inf, nan, 1, -0.0F}, 8, 8);
    check_top_k<double>("float64", {-inf, nan, 0, -0.0, nan, -1, inf, 2}, 8, 8);
  }

  TEST_CASE("whether a class is among the largest") {
    DeviceMemory memory;
    const float inf = INFINITY;
    const float* x = memory.upload(std::vector<float>{1, 2, 3, 4,    //
                                                      1, 2, 3, 4,    //
                                                      5, 5, 1, 0,    // equal ones are all in
                                                      5, 5, 1, 0,    //
                                                      1, 2, 3, inf,  // never
                                                      1, 2, 3, 4});
    const std::int32_t* targets = memory.upload(std::vector<std::int32_t>{3, 1, 1, 2, 2, 4});
    auto* y = memory.allocate<bool>(6);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(y);
    using Bytes = std::vector<std::uint8_t>;
    const std::int32_t* k = memory.upload(std::vector<std::int32_t>{1, 3, 0});
    memory.run("InTopK_int32", {dim3(1), dim3(256), 0}, x, targets, k, y, i64(6), i64(4));
    CHECK(memory.download(bytes, 6) == Bytes{1, 0, 1, 0, 0, 0});
    memory.run("InTopK_int32", {dim3(1), dim3(256), 0}, x, targets, k + 1, y, i64(6), i64(4));
    CHECK(memory.download(bytes, 6) == Bytes{1, 1, 1, 1, 0, 0});
    memory.run("InTopK_int32", {dim3(1), dim3(256), 0}, x, targets, k + 2, y, i64(6), i64(4));
    CHECK(memory.download(bytes, 6) == Bytes(6, 0));
  }

  TEST_CASE("the places of elements that are not zero") {
    std::vector<float> values = numbers<float>(5005);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i % 3 != 0) values[i] = i % 2 == 0 ? 0 : -0.0F;
    }
    values[2] = NAN;
    check_where("float32", values, 77);
    check_where("float32", std::vector<float>(1024, 1.0F), 32);
    check_where("int64", std::vector<i64>{0, 1, i64{1} << 40, 0}, 2);
    check_where("uint8", std::vector<std::uint8_t>(10, 0), 5);
  }
}

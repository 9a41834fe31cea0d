// Copies: strided, transposed, padded, many at once; gather; segments by sorted ids.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "cuda/device/arguments.h"
#include "tests/cuda/close.h"
#include "tests/cuda/device_memory.h"
#include "tests/cuda/sorted.h"

using namespace towerflow::cuda;
using device::CopyList;
using device::DataError;
using device::Divisor;
using device::PadShape;
using device::PadValue;
using device::Strided;
using testing::check_values;
using testing::DeviceMemory;
using testing::launch_for;
using testing::numbers;
using testing::ramp;
using testing::Sorted;
using testing::strided;
using i64 = std::int64_t;
using Ints = std::vector<std::int32_t>;

namespace {

template <class T>
PadValue value_of(T value) {
  PadValue made;
  std::memcpy(made.bytes, &value, sizeof value);
  return made;
}

}  // namespace

TEST_SUITE("cuda copy") {
  TEST_CASE("slices with steps, repeats and reversals") {
    DeviceMemory memory;
    const auto values = ramp(4 * 5 * 6);
    const std::int32_t* x = memory.upload(values);
    auto* y = memory.allocate<std::int32_t>(2 * 5 * 3);
    // x[3:0:-2, ::-1, 1::2]
    memory.run("StridedCopy_4", launch_for(7), static_cast<const void*>(x + 3 * 30 + 4 * 6 + 1),
               static_cast<void*>(y), i64(30), strided({2, 5, 3}, {-60, -6, 2}));
    check_values(memory.download(y, 30), [&](std::size_t i) {
      const std::size_t a = 3 - 2 * (i / 15), b = 4 - i / 3 % 5, c = 1 + 2 * (i % 3);
      return values[a * 30 + b * 6 + c];
    });
    auto* z = memory.upload(Ints(120));
    memory.run("StridedStore_4", launch_for(30), static_cast<const void*>(y),
               static_cast<void*>(z + 3 * 30 + 4 * 6 + 1), i64(30),
               strided({2, 5, 3}, {-60, -6, 2}));
    check_values(memory.download(z, 120), [&](std::size_t i) {
      const bool taken = (i / 30) % 2 == 1 && i % 2 == 1;
      return taken ? values[i] : 0;
    });
  }

  TEST_CASE("matrices are transposed, for each size of element") {
    DeviceMemory memory;
    const std::size_t rows = 35, columns = 67, batch = 2;
    for (const std::size_t bytes : {1, 2, 4, 8, 16}) {
      std::vector<unsigned char> values(batch * rows * columns * bytes);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<unsigned char>(i * 7 + i / 251);
      }
      const auto* x = memory.upload(values);
      auto* y = memory.allocate<unsigned char>(values.size());
      memory.run("Transpose_" + std::to_string(bytes), {dim3(3, 2, batch), dim3(32, 8), 0},
                 static_cast<const void*>(x), static_cast<void*>(y), i64(rows), i64(columns));
      check_values(memory.download(y, values.size()), [&](std::size_t i) {
        const std::size_t e = i / bytes, image = e / (rows * columns), in = e % (rows * columns);
        const std::size_t from = image * rows * columns + in % rows * columns + in / rows;
        return values[from * bytes + i % bytes];
      });
    }
  }

  TEST_CASE("padding with a value and by mirroring") {
    DeviceMemory memory;
    const Ints values{1, 2, 3, 4, 5, 6};
    const std::int32_t* x = memory.upload(values);
    auto* y = memory.allocate<std::int32_t>(4 * 6);
    PadShape shape;
    shape.rank = 2;
    shape.sizes[0] = Divisor::of(4);
    shape.sizes[1] = Divisor::of(6);
    shape.before[0] = 1;
    shape.before[1] = 2;
    shape.inner[0] = 2;
    shape.inner[1] = 3;
    shape.strides[0] = 3;
    shape.strides[1] = 1;
    const auto padded = [&](PadShape::Mode mode) {
      shape.mode = mode;
      memory.run("Pad_4", launch_for(24), static_cast<const void*>(x), static_cast<void*>(y),
                 i64(24), shape, value_of(std::int32_t{9}));
      return memory.download(y, 24);
    };
    CHECK(padded(PadShape::constant) == Ints{9, 9, 9, 9, 9, 9, 9, 9, 1, 2, 3, 9,  //
                                             9, 9, 4, 5, 6, 9, 9, 9, 9, 9, 9, 9});
    CHECK(padded(PadShape::reflect) == Ints{6, 5, 4, 5, 6, 5, 3, 2, 1, 2, 3, 2,  //
                                            6, 5, 4, 5, 6, 5, 3, 2, 1, 2, 3, 2});
    CHECK(padded(PadShape::symmetric) == Ints{2, 1, 1, 2, 3, 3, 2, 1, 1, 2, 3, 3,  //
                                              5, 4, 4, 5, 6, 6, 5, 4, 4, 5, 6, 6});
  }

  TEST_CASE("concatenation copies many tensors in one launch") {
    DeviceMemory memory;
    // [3000, 2], [3000, 1] and [3000, 4] along the last axis
    const std::size_t rows = 3000, widths[] = {2, 1, 4}, total = 7;
    std::vector<Ints> inputs;
    CopyList list;
    auto* y = memory.allocate<std::int32_t>(rows * total);
    std::size_t at = 0;
    std::uint32_t blocks = 0;
    for (const std::size_t width : widths) {
      inputs.push_back(ramp(rows * width));
      auto& copy = list.copies[list.count++];
      copy = {memory.upload(inputs.back()),
              y + at,
              static_cast<i64>(width),
              i64(total),
              static_cast<i64>(width),
              i64(rows),
              blocks};
      blocks +=
          static_cast<std::uint32_t>((rows * width + device::kCopyChunk - 1) / device::kCopyChunk);
      at += width;
    }
    memory.run("CopyMany_4", {dim3(blocks), dim3(256), 0}, list);
    check_values(memory.download(y, rows * total), [&](std::size_t i) {
      const std::size_t row = i / total, k = i % total;
      if (k < 2) return inputs[0][row * 2 + k];
      return k < 3 ? inputs[1][row] : inputs[2][row * 4 + k - 3];
    });
    memory.run("Fill_4", launch_for(10), static_cast<void*>(y), i64(10),
               value_of(std::int32_t{-7}));
    CHECK(memory.download(y, 11)[9] == -7);
    CHECK(memory.download(y, 11)[10] != -7);
  }

  TEST_CASE("rows are gathered; an index outside is an error and gives zeros") {
    DeviceMemory memory;
    const auto values = ramp(2 * 5 * 3);
    const std::int32_t* x = memory.upload(values);
    const std::vector<i64> indices{4, 0, 4, 2};
    auto* y = memory.allocate<std::int32_t>(24);
    DataError* error = memory.upload(std::vector<DataError>{{}});
    memory.run("Gather_4_int64", launch_for(9), static_cast<const void*>(x),
               static_cast<const i64*>(memory.upload(indices)), static_cast<void*>(y), error,
               i64(2), i64(5), i64(4), i64(3));
    CHECK(memory.download(error, 1)[0].found == 0);
    check_values(memory.download(y, 24), [&](std::size_t i) {
      return values[i / 12 * 15 + static_cast<std::size_t>(indices[i / 3 % 4]) * 3 + i % 3];
    });
    const Ints wrong{1, 5, -1, 0};
    memory.run("Gather_4_int32", launch_for(9), static_cast<const void*>(x),
               static_cast<const std::int32_t*>(memory.upload(wrong)), static_cast<void*>(y), error,
               i64(1), i64(5), i64(4), i64(3));
    const DataError found = memory.download(error, 1)[0];
    CHECK(found.found == 1);
    CHECK(found.value() == 5);
    CHECK(found.position() == 1);
    CHECK(memory.download(y, 12) == Ints{103, 104, 105, 0, 0, 0, 0, 0, 0, 100, 101, 102});
  }

  TEST_CASE("ids are sorted, equal ones in their order") {
    for (const std::size_t n : {1, 37, 1024, 3000}) {
      for (const i64 segments : {1, 16, 1000}) {
        DeviceMemory memory;
        std::mt19937 random(5);
        Ints ids(n);
        for (auto& id : ids)
          id = static_cast<std::int32_t>(random() % static_cast<unsigned>(segments));
        if (n > 30) ids[30] = -1;
        const Sorted sorted(memory, ids, segments, "SortKeys_int32");
        CHECK(sorted.error == 0);
        std::vector<std::uint32_t> order(n);
        std::iota(order.begin(), order.end(), 0);
        const auto key = [&](std::uint32_t i) {
          return ids[i] < 0 ? static_cast<std::uint32_t>(segments)
                            : static_cast<std::uint32_t>(ids[i]);
        };
        std::stable_sort(order.begin(), order.end(),
                         [&](auto a, auto b) { return key(a) < key(b); });
        CHECK(memory.download(sorted.rows, n) == order);
        CHECK(key(memory.download(sorted.rows, n)[n - 1]) ==
              memory.download(sorted.keys, n)[n - 1]);
      }
    }
    DeviceMemory memory;
    CHECK(Sorted(memory, std::vector<i64>{3, 7}, 7, "SortKeys_int64").error == 1);
  }

  TEST_CASE("rows of equal ids are combined in their order") {
    DeviceMemory memory;
    const std::size_t n = 500, width = 3, segments = 20;
    std::mt19937 random(6);
    Ints ids(n);
    for (auto& id : ids) id = static_cast<std::int32_t>(random() % (segments - 1)) - 1;
    const auto values = numbers<float>(n * width),
               before = numbers<float>(segments * width, -1, 1, 9);
    const Sorted sorted(memory, ids, segments, "SortKeys_int32");
    const float* x = memory.upload(values);
    const auto combined = [&](const char* op, int start) {
      float* y = memory.upload(before);
      memory.run(op, launch_for(n), x, static_cast<const std::uint32_t*>(sorted.keys),
                 static_cast<const std::uint32_t*>(sorted.rows), y, i64(n), i64(width),
                 i64(segments), start);
      return memory.download(y, segments * width);
    };
    const auto each = [&](std::size_t i, auto join) {  // in the order of the rows
      for (std::size_t r = 0; r < n; ++r) {
        if (ids[r] == static_cast<int>(i / width)) join(values[r * width + i % width]);
      }
    };
    const auto added = combined("SegmentSum_float32", 1);
    std::vector<float> wanted(before);
    for (std::size_t i = 0; i < wanted.size(); ++i) each(i, [&](float v) { wanted[i] += v; });
    CHECK(added == wanted);  // the bits of a loop
    check_values(combined("SegmentMean_float32", 0), [&](std::size_t i) {
      double total = 0, count = 0;
      each(i, [&](float v) { total += double{v}, ++count; });
      return count == 0 ? double{before[i]} : total / count;
    });
    check_values(combined("SegmentMax_float32", 0), [&](std::size_t i) {
      float best = -10;
      each(i, [&](float v) { best = std::max(best, v); });
      return best == -10 ? before[i] : best;
    });
  }
}

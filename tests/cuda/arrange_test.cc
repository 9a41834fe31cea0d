// Elements in other places: diagonals of matrices, sequences backwards, rolls, and the gradient of
// padding by mirroring.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "cuda/device/arguments.h"
#include "tests/cuda/close.h"
#include "tests/cuda/device_memory.h"

using namespace towerflow::cuda;
using device::DiagonalShape;
using device::Divisor;
using device::MirrorShape;
using device::PadShape;
using device::SequenceShape;
using testing::check_values;
using testing::DeviceMemory;
using testing::launch_for;
using testing::numbers;
using testing::ramp;
using i64 = std::int64_t;
using Ints = std::vector<std::int32_t>;

namespace {

/// Takes the diagonals of two matrices one by one, then puts them back.
void check_diagonals(const DiagonalShape& s) {
  CAPTURE(s.lower);
  CAPTURE(s.upper);
  const i64 count = s.upper - s.lower + 1, longest = s.longest();
  const auto size = static_cast<std::size_t>(2 * s.rows * s.columns),
             parts = static_cast<std::size_t>(2 * count * longest);
  const Ints matrices = ramp(size);
  Ints wanted(parts, -1);
  for (i64 m = 0; m < 2; ++m) {
    for (i64 k = s.lower; k <= s.upper; ++k) {
      Ints diagonal;
      for (i64 r = 0; r < s.rows; ++r) {
        if (r + k < 0 || r + k >= s.columns) continue;
        diagonal.push_back(
            matrices[static_cast<std::size_t>((m * s.rows + r) * s.columns + r + k)]);
      }
      const bool left = k == 0 ? (s.upper_left != 0 || s.lower_left != 0)
                               : (k > 0 ? s.upper_left : s.lower_left) != 0;
      const i64 row = (m * count + s.upper - k) * longest;
      const i64 begin = left ? 0 : longest - static_cast<i64>(diagonal.size());
      std::copy(diagonal.begin(), diagonal.end(), wanted.begin() + row + begin);
    }
  }
  DeviceMemory memory;
  const void *x = memory.upload(matrices), *padding = memory.upload(Ints{-1});
  std::int32_t* found = memory.allocate<std::int32_t>(parts);
  memory.run("MatrixDiagPart_4", launch_for(parts), x, padding, static_cast<void*>(found),
             i64(parts), s);
  CHECK(memory.download(found, parts) == wanted);

  const void* diagonals = memory.upload(wanted);
  std::int32_t* y = memory.allocate<std::int32_t>(size);
  memory.run("MatrixDiag_4", launch_for(size), diagonals, static_cast<const void*>(nullptr),
             padding, static_cast<void*>(y), i64(size), s);
  const auto outside = [&](std::size_t i) {
    const i64 column = static_cast<i64>(i) % s.columns,
              row = static_cast<i64>(i) / s.columns % s.rows;
    return column - row < s.lower || column - row > s.upper;
  };
  check_values(memory.download(y, size),
               [&](std::size_t i) { return outside(i) ? -1 : matrices[i]; });
  const void* zeros = memory.upload(Ints(size, 7));
  memory.run("MatrixDiag_4", launch_for(size), diagonals, zeros, static_cast<const void*>(nullptr),
             static_cast<void*>(y), i64(size), s);
  check_values(memory.download(y, size),
               [&](std::size_t i) { return outside(i) ? 7 : matrices[i]; });
  memory.run("MatrixBandPart_4", launch_for(size), x, static_cast<void*>(y), i64(size), s);
  check_values(memory.download(y, size),
               [&](std::size_t i) { return outside(i) ? 0 : matrices[i]; });
}

/// Pads [4, 3] by mirroring and adds up the gradient of each element.
void check_mirror(PadShape::Mode mode, int before0, int after0, int before1, int after1) {
  CAPTURE(before0);
  CAPTURE(after1);
  const int height = 4 + before0 + after0, width = 3 + before1 + after1;
  const auto slopes = numbers<double>(static_cast<std::size_t>(height * width));
  const int twice = mode == PadShape::symmetric ? 1 : 0;
  const auto source = [&](int at, int before, int size) {
    const int i = at - before;
    return i < 0 ? -i - twice : i >= size ? 2 * (size - 1) - i + twice : i;
  };
  std::vector<double> wanted(12, 0);
  for (int h = 0; h < height; ++h) {
    for (int w = 0; w < width; ++w) {
      wanted[static_cast<std::size_t>(source(h, before0, 4) * 3 + source(w, before1, 3))] +=
          slopes[static_cast<std::size_t>(h * width + w)];
    }
  }
  MirrorShape s;
  s.rank = 2;
  s.mode = mode;
  s.inner[0] = Divisor::of(4);
  s.inner[1] = Divisor::of(3);
  s.before[0] = before0;
  s.before[1] = before1;
  s.padded[0] = height;
  s.padded[1] = width;
  s.strides[0] = width;
  s.strides[1] = 1;
  DeviceMemory memory;
  double* dx = memory.allocate<double>(12);
  memory.run("MirrorPadGrad_float64", launch_for(12),
             static_cast<const double*>(memory.upload(slopes)), dx, i64(12), s);
  check_values(memory.download(dx, 12), [&](std::size_t i) { return wanted[i]; });
}

}  // namespace

TEST_SUITE("cuda arrangement") {
  TEST_CASE("diagonals: one, bands, matrices that are not square, both sides") {
    for (const auto& [rows, columns] : {std::pair<i64, i64>{4, 4}, {3, 6}, {7, 2}}) {
      for (const auto& [lower, upper] : {std::pair<i64, i64>{0, 0}, {-1, 1}, {-2, -1}, {1, 1}}) {
        for (int sides = 0; sides < 4; ++sides) {
          check_diagonals({lower, upper, rows, columns, sides & 1, sides >> 1});
        }
      }
    }
  }

  TEST_CASE("sequences are reversed up to their lengths, along either of two dimensions") {
    const Ints lengths{0, 3, 5};
    const Ints values = ramp(2 * 3 * 2 * 5 * 2);
    DeviceMemory memory;
    const void* x = memory.upload(values);
    auto* error = memory.upload(std::vector<device::DataError>{{}});
    std::int32_t* y = memory.allocate<std::int32_t>(120);
    const auto reversed = [&](i64 length, i64 place) {
      return place < length ? length - 1 - place : place;
    };
    // [2, batch 3, 2, sequence 5, 2]
    SequenceShape s{Divisor::of(3), Divisor::of(2), Divisor::of(5), Divisor::of(2), 1};
    memory.run("ReverseSequence_4_int32", launch_for(120), x,
               static_cast<const std::int32_t*>(memory.upload(lengths)), static_cast<void*>(y),
               error, i64(120), s);
    check_values(memory.download(y, 120), [&](std::size_t i) {
      const i64 place = static_cast<i64>(i / 2 % 5);
      const i64 from = reversed(lengths[i / 20 % 3], place);
      return values[i - static_cast<std::size_t>(place) * 2 + static_cast<std::size_t>(from) * 2];
    });
    // [2, sequence 5, 2, batch 3, 2]
    s = {Divisor::of(5), Divisor::of(2), Divisor::of(3), Divisor::of(2), 0};
    memory.run("ReverseSequence_4_int64", launch_for(120), x,
               static_cast<const i64*>(memory.upload(std::vector<i64>{0, 3, 5})),
               static_cast<void*>(y), error, i64(120), s);
    check_values(memory.download(y, 120), [&](std::size_t i) {
      const i64 place = static_cast<i64>(i / 12 % 5);
      const i64 from = reversed(lengths[i / 2 % 3], place);
      return values[i - static_cast<std::size_t>(place) * 12 + static_cast<std::size_t>(from) * 12];
    });
    CHECK(memory.download(error, 1)[0].found == 0);
    memory.run("ReverseSequence_4_int32", launch_for(120), x,
               static_cast<const std::int32_t*>(memory.upload(Ints{0, 6, 1})),
               static_cast<void*>(y), error, i64(120), s);
    const device::DataError found = memory.download(error, 1)[0];
    CHECK(found.found == 1);
    CHECK(found.value() == 6);
    CHECK(found.position() == 1);
  }

  TEST_CASE("padding that wraps around is a roll") {
    const Ints values = ramp(4 * 5);
    DeviceMemory memory;
    const void* x = memory.upload(values);
    std::int32_t* y = memory.allocate<std::int32_t>(20);
    PadShape s;
    s.rank = 2;
    s.mode = PadShape::wrap;
    s.sizes[0] = Divisor::of(4);
    s.sizes[1] = Divisor::of(5);
    s.inner[0] = 4;
    s.inner[1] = 5;
    s.strides[0] = 5;
    s.strides[1] = 1;
    s.before[0] = 3;
    s.before[1] = 2;
    memory.run("Pad_4", launch_for(20), x, static_cast<void*>(y), i64(20), s, device::PadValue());
    check_values(memory.download(y, 20),
                 [&](std::size_t i) { return values[(i / 5 + 1) % 4 * 5 + (i % 5 + 3) % 5]; });
  }

  TEST_CASE("the gradient of mirroring adds up all images of an element") {
    check_mirror(PadShape::reflect, 3, 1, 0, 2);
    check_mirror(PadShape::reflect, 0, 3, 2, 2);
    check_mirror(PadShape::symmetric, 4, 2, 1, 3);
    check_mirror(PadShape::symmetric, 0, 0, 3, 0);
  }
}

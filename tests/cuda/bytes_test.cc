// Kernels that move elements of some bytes do the same for every width.
#include <doctest/doctest.h>

#include <string>

#include "cuda/device/arguments.h"
#include "tests/cuda/close.h"
#include "tests/cuda/device_memory.h"

using namespace towerflow::cuda;
using testing::DeviceMemory;
using testing::launch_for;
using i64 = std::int64_t;
using Numbers = std::vector<int>;

namespace {

/// The memory of kernels whose elements are of type E.
template <class E>
struct Elements : DeviceMemory {
  const E* numbers(std::size_t n, int first = 1) {
    std::vector<E> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<E>(first + static_cast<int>(i));
    return upload(values);
  }
  E* results(std::size_t n) { return allocate<E>(n); }
  Numbers read(const E* from, std::size_t n) const {
    Numbers all;
    for (const E value : download(from, n)) all.push_back(static_cast<int>(value));
    return all;
  }
  static std::string name(const std::string& op) { return op + "_" + std::to_string(sizeof(E)); }
};

/// Runs `run` for elements of one, two, four and eight bytes, which must give the same numbers.
template <class Run>
void check_widths(const std::string& kernel, const Numbers& wanted, Run run) {
  CAPTURE(kernel);
  const auto check = [&]<class E>(Elements<E> memory) {
    const std::size_t bytes = sizeof(E);
    CAPTURE(bytes);
    CHECK(run(memory) == wanted);
  };
  check(Elements<std::uint8_t>());
  check(Elements<std::uint16_t>());
  check(Elements<std::uint32_t>());
  check(Elements<std::uint64_t>());
}

template <class Index>
auto one_hot(const char* index) {
  return [=]<class E>(Elements<E>& memory) {
    E* y = memory.results(12);
    memory.run(memory.name("OneHot") + "_" + index, launch_for(12),
               static_cast<const Index*>(memory.upload(std::vector<Index>{2, 0, 9, 1})),
               static_cast<const void*>(memory.numbers(1, 7)),
               static_cast<const void*>(memory.numbers(1, 3)), static_cast<void*>(y), i64(12),
               device::Divisor::of(3), device::Divisor::of(1));
    return memory.read(y, 12);
  };
}

template <class Length>
auto reverse(const char* length) {
  return [=]<class E>(Elements<E>& memory) {
    // Two sequences of three.
    device::SequenceShape shape;
    shape.first = device::Divisor::of(2);
    shape.second = device::Divisor::of(3);
    E* y = memory.results(6);
    auto* error = memory.upload(std::vector<device::DataError>{{}});
    memory.run(memory.name("ReverseSequence") + "_" + length, launch_for(6),
               static_cast<const void*>(memory.numbers(6)),
               static_cast<const Length*>(memory.upload(std::vector<Length>{2, 3})),
               static_cast<void*>(y), error, i64(6), shape);
    return memory.read(y, 6);
  };
}

template <class Index>
auto gather(const char* index) {
  return [=]<class E>(Elements<E>& memory) {
    E* y = memory.results(6);
    auto* error = memory.upload(std::vector<device::DataError>{{}});
    memory.run(memory.name("Gather") + "_" + index, launch_for(6),
               static_cast<const void*>(memory.numbers(8)),
               static_cast<const Index*>(memory.upload(std::vector<Index>{3, 0, 2})),
               static_cast<void*>(y), error, i64(1), i64(4), i64(3), i64(2));
    return memory.read(y, 6);
  };
}

/// Diagonals -1 and 0 of matrices of 2 x 3.
constexpr device::DiagonalShape kDiagonals{.lower = -1, .upper = 0, .rows = 2, .columns = 3};

}  // namespace

TEST_SUITE("cuda kernels of bytes") {
  TEST_CASE("choices and places") {
    check_widths("Select", {1, 12, 13, 4}, []<class E>(Elements<E>& memory) {
      const auto* condition = memory.upload(std::vector<std::uint8_t>{1, 0, 0, 1});
      E* y = memory.results(4);
      memory.run(memory.name("Select"), launch_for(4), condition,
                 static_cast<const void*>(memory.numbers(4)),
                 static_cast<const void*>(memory.numbers(4, 11)), static_cast<void*>(y), i64(4),
                 device::SelectShape());
      return memory.read(y, 4);
    });
    const Numbers hot{3, 3, 7, 7, 3, 3, 3, 3, 3, 3, 7, 3};
    check_widths("OneHot", hot, one_hot<std::uint8_t>("uint8"));
    check_widths("OneHot", hot, one_hot<std::int32_t>("int32"));
    check_widths("OneHot", hot, one_hot<i64>("int64"));
    const Numbers rows{7, 8, 1, 2, 5, 6};
    check_widths("Gather", rows, gather<std::int32_t>("int32"));
    check_widths("Gather", rows, gather<i64>("int64"));
    check_widths("SegmentReplace", {5, 6, 91, 92, 1, 2}, []<class E>(Elements<E>& memory) {
      const auto* keys = memory.upload(std::vector<std::uint32_t>{0, 0, 2, 3});
      const auto* order = memory.upload(std::vector<std::uint32_t>{1, 2, 0, 3});
      E* y = memory.upload(std::vector<E>{89, 90, 91, 92, 93, 94});
      memory.run(memory.name("SegmentReplace"), launch_for(8),
                 static_cast<const void*>(memory.numbers(8)),
                 static_cast<const std::uint32_t*>(keys), static_cast<const std::uint32_t*>(order),
                 static_cast<void*>(y), i64(4), i64(2), i64(3));
      return memory.read(y, 6);
    });
  }

  TEST_CASE("reversed sequences, borders and strides") {
    const Numbers reversed{2, 1, 3, 6, 5, 4};
    check_widths("ReverseSequence", reversed, reverse<std::int32_t>("int32"));
    check_widths("ReverseSequence", reversed, reverse<i64>("int64"));
    check_widths("Pad", {9, 9, 9, 9, 1, 2, 9, 3, 4}, []<class E>(Elements<E>& memory) {
      device::PadShape shape;
      shape.rank = 2;
      shape.sizes[0] = shape.sizes[1] = device::Divisor::of(3);
      shape.before[0] = shape.before[1] = 1;
      shape.inner[0] = shape.inner[1] = 2;
      shape.strides[0] = 2;
      shape.strides[1] = 1;
      device::PadValue value;
      value.bytes[0] = 9;
      E* y = memory.results(9);
      memory.run(memory.name("Pad"), launch_for(9), static_cast<const void*>(memory.numbers(4)),
                 static_cast<void*>(y), i64(9), shape, value);
      return memory.read(y, 9);
    });
    check_widths("StridedStore", {1, 12, 2, 14, 3, 16}, []<class E>(Elements<E>& memory) {
      E* y = const_cast<E*>(memory.numbers(6, 11));
      memory.run(memory.name("StridedStore"), launch_for(3),
                 static_cast<const void*>(memory.numbers(3)), static_cast<void*>(y), i64(3),
                 testing::strided({3}, {2}));
      return memory.read(y, 6);
    });
  }

  TEST_CASE("diagonals") {
    check_widths("MatrixDiag", {1, 9, 9, 3, 2, 9}, []<class E>(Elements<E>& memory) {
      E* y = memory.results(6);
      const void* const nothing = nullptr;
      memory.run(memory.name("MatrixDiag"), launch_for(6),
                 static_cast<const void*>(memory.numbers(4)), nothing,
                 static_cast<const void*>(memory.numbers(1, 9)), static_cast<void*>(y), i64(6),
                 kDiagonals);
      return memory.read(y, 6);
    });
    check_widths("MatrixDiagPart", {1, 5, 4, 9}, []<class E>(Elements<E>& memory) {
      E* y = memory.results(4);
      memory.run(memory.name("MatrixDiagPart"), launch_for(4),
                 static_cast<const void*>(memory.numbers(6)),
                 static_cast<const void*>(memory.numbers(1, 9)), static_cast<void*>(y), i64(4),
                 kDiagonals);
      return memory.read(y, 4);
    });
    check_widths("MatrixBandPart", {1, 0, 0, 4, 5, 0}, []<class E>(Elements<E>& memory) {
      E* y = memory.results(6);
      memory.run(memory.name("MatrixBandPart"), launch_for(6),
                 static_cast<const void*>(memory.numbers(6)), static_cast<void*>(y), i64(6),
                 kDiagonals);
      return memory.read(y, 6);
    });
  }
}

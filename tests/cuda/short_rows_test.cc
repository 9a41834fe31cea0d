// Kernels of 16-bit numbers that go through rows give what those of float32 give of the same
// numbers: reductions, scans, softmax, segments, choices of the largest.
#include <doctest/doctest.h>

#include "tests/cuda/short_numbers.h"
#include "tests/cuda/sorted.h"

using namespace towerflow::cuda;
using testing::check_like;
using testing::check_short;
using testing::Computed;
using testing::kLastPlace;
using testing::kOfFloats;
using testing::launch_for;
using testing::Operands;
using testing::type_name;
using i64 = std::int64_t;
using Values = std::vector<double>;

namespace {

const host::Launch kOneBlock{dim3(1), dim3(256), 0};

void append(Values& all, const Values& more) { all.insert(all.end(), more.begin(), more.end()); }

/// Rows of 3 x 130, columns of 40 x 16 (packed) and x 13, and [4, 6, 5] over its middle.
auto reduction(const std::string& op, double scale, double added) {
  return [=]<class T>(Operands<T>& memory) {
    Values all;
    auto* y = memory.template allocate<Computed<T>>(64);
    const auto name = [&](const char* form) { return memory.name(op + "_" + form); };
    memory.run(name("rows"), kOneBlock, memory.numbers(3 * 130, 1, scale, added), y, i64(3),
               i64(130), 32, 1.0);
    append(all, memory.values(y, 3));
    memory.run(name("columns"), kOneBlock, memory.numbers(40 * 16, 2, scale, added), y, i64(40),
               i64(16), 1, 1.0);
    append(all, memory.values(y, 16));
    memory.run(name("columns"), kOneBlock, memory.numbers(40 * 13, 3, scale, added), y, i64(40),
               i64(13), 0, 1.0);
    append(all, memory.values(y, 13));
    memory.run(name("general"), kOneBlock, memory.numbers(4 * 6 * 5, 4, scale, added), y, i64(6),
               testing::strided({6}, {5}), i64(20), testing::strided({4, 5}, {30, 1}), 1.0);
    append(all, memory.values(y, 6));
    return all;
  };
}

auto scan(const std::string& op, double scale, double added) {
  return [=]<class T>(Operands<T>& memory) {
    const T* x = memory.numbers(2 * 9 * 5, 1, scale, added);
    T* y = memory.results(2 * 9 * 5);
    memory.run(memory.name(op + "_columns"), kOneBlock, x, y, i64(2), i64(9), i64(5), 0, 1);
    Values all = memory.values(y, 90);
    memory.run(memory.name(op + "_rows"), kOneBlock, x, y, i64(10), i64(9), 1, 0);
    append(all, memory.values(y, 90));
    return all;
  };
}

auto extreme(const std::string& op, const std::string& index) {
  return [=]<class T>(Operands<T>& memory) {
    const T* x = memory.numbers(3 * 50 * 2, 1, 32);
    const std::string kernel = memory.name(op) + "_" + index;
    const auto places = [&]<class Index>(Index* y) {
      memory.run(kernel, kOneBlock, x, y, i64(3), i64(50), device::Divisor::of(2), 32);
      return memory.values(y, 6);
    };
    return index == "int32" ? places(memory.template allocate<std::int32_t>(6))
                            : places(memory.template allocate<i64>(6));
  };
}

constexpr std::size_t kRows = 5, kClasses = 37;

/// y of `op`(x), rows by rows.
auto softmax(const std::string& op) {
  return [=]<class T>(Operands<T>& memory) {
    T* y = memory.results(kRows * kClasses);
    memory.run(memory.name(op), kOneBlock, memory.numbers(kRows * kClasses, 1), y, i64(kRows),
               i64(kClasses), 32);
    return memory.values(y, kRows * kClasses);
  };
}
auto softmax_grad(const std::string& op) {
  return [=]<class T>(Operands<T>& memory) {
    T* dx = memory.results(kRows * kClasses);
    memory.run(memory.name(op), kOneBlock, memory.numbers(kRows * kClasses, 1),
               memory.numbers(kRows * kClasses, 2), dx, i64(kRows), i64(kClasses), 32);
    return memory.values(dx, kRows * kClasses);
  };
}

template <class T>
Values losses_and_gradients(const Operands<T>& memory, const T* loss, const T* dx) {
  Values all = memory.values(loss, kRows);
  append(all, memory.values(dx, kRows * kClasses));
  return all;
}

template <class Label>
auto sparse_cross_entropy() {
  return []<class T>(Operands<T>& memory) {
    T *loss = memory.results(kRows), *dx = memory.results(kRows * kClasses);
    const Label* labels = memory.upload(std::vector<Label>{0, 36, 5, 5, 20});
    auto* error = memory.upload(std::vector<device::DataError>{{}});
    memory.run(memory.name("SparseSoftmaxCrossEntropyWithLogits") + "_" + type_name<Label>(),
               kOneBlock, memory.numbers(kRows * kClasses, 1), labels, loss, dx, error, i64(kRows),
               i64(kClasses), 32);
    CHECK(memory.download(error, 1)[0].found == 0);
    return losses_and_gradients(memory, static_cast<const T*>(loss), static_cast<const T*>(dx));
  };
}

/// Segments 0, 1, 3 and 4 of five: from the first row and a key that is none, then from y alone.
auto segments(const std::string& op, double scale, double added) {
  return [=]<class T>(Operands<T>& memory) {
    constexpr std::size_t kWidth = 6;
    const std::uint32_t* rows = memory.upload(std::vector<std::uint32_t>{7, 2, 1, 0, 3, 6, 5, 4});
    const T* x = memory.numbers(8 * kWidth, 1, scale, added);
    Values all;
    for (const int from_y : {0, 1}) {
      std::vector<std::uint32_t> ids{0, 0, 1, 3, 3, 3, 4};
      if (from_y == 0) ids.push_back(5);
      const std::uint32_t* keys = memory.upload(ids);
      T* y = const_cast<T*>(memory.numbers(5 * kWidth, 2, scale, added));
      memory.run(memory.name("Segment" + op), launch_for(8 * kWidth), x, keys, rows, y,
                 i64(ids.size()), i64(kWidth), i64(5), from_y);
      append(all, memory.values(static_cast<const T*>(y), 5 * kWidth));
    }
    return all;
  };
}

/// The three largest of each row by search, then by sorting its keys.
auto top_k() {
  return []<class T>(Operands<T>& memory) {
    constexpr std::size_t kN = 30, kMost = 3;
    const T* x = memory.numbers(2 * kN, 1, 32);
    T* values = memory.results(2 * kMost);
    auto* places = memory.template allocate<std::int32_t>(2 * kMost);
    memory.run(memory.name("TopK"), kOneBlock, x, values, places, i64(2), i64(kN), i64(kMost), 32);
    Values all = memory.values(values, 2 * kMost);
    append(all, memory.values(places, 2 * kMost));
    auto *keys = memory.template allocate<std::uint32_t>(2 * kN),
         *rows = memory.template allocate<std::uint32_t>(2 * kN);
    const auto n = static_cast<i64>(2 * kN);
    for (int word = 0; word < (sizeof(T) == 8 ? 2 : 1); ++word) {
      memory.run(memory.name("OrderKeys"), launch_for(2 * kN), x, rows, keys, n, word,
                 word == 0 ? 1 : 0);
      testing::sort_by_keys(memory, keys, rows, 2 * kN, 32);
    }
    using Constant = const std::uint32_t*;
    memory.run("OrderRows", launch_for(2 * kN), Constant(rows), keys, n, i64(kN));
    testing::sort_by_keys(memory, keys, rows, 2 * kN, 4);
    memory.run(memory.name("TopKTake"), launch_for(2 * kMost), x, Constant(rows), values, places,
               i64(2), i64(kN), i64(kMost));
    append(all, memory.values(values, 2 * kMost));
    append(all, memory.values(places, 2 * kMost));
    const Values searched(all.begin(), all.begin() + 4 * kMost);
    CHECK(searched == Values(all.begin() + 4 * kMost, all.end()));
    return all;
  };
}

/// The places of what is not 0 in 1,500 elements.
auto where() {
  return []<class T>(Operands<T>& memory) {
    constexpr std::size_t kN = 1500, kTiles = 2;
    std::vector<T> x(kN);
    for (std::size_t i = 0; i < kN; ++i) x[i] = testing::from_double<T>(i % 7 == 3 ? 1 : 0);
    const T* from = memory.upload(x);
    auto* counts = memory.template allocate<std::uint32_t>(kTiles + 1);
    const host::Launch tiles{dim3(kTiles), dim3(256), 0};
    memory.run(memory.name("WhereCount"), tiles, from, counts, i64(kN));
    memory.run("SortScan", kOneBlock, counts, i64(kTiles + 1));
    const auto starts = memory.download(counts, kTiles + 1);
    REQUIRE(starts[kTiles] == 214);
    auto* y = memory.template allocate<i64>(2 * starts[kTiles]);
    memory.run(memory.name("WherePlaces"), tiles, from, static_cast<const std::uint32_t*>(counts),
               y, i64(kN), testing::strided({15, 100}, {0, 0}));
    return memory.values(y, 2 * starts[kTiles]);
  };
}

}  // namespace

TEST_SUITE("cuda kernels of short numbers") {
  TEST_CASE("reductions") {
    check_short("Sum", reduction("Sum", 1, 0), kOfFloats, false);
    // Factors near 1, so that no product overflows.
    check_short("Prod", reduction("Prod", 0.25, 1), kOfFloats, false);
    check_short("Max", reduction("Max", 1, 0), {}, false);
    check_short("Min", reduction("Min", 1, 0), {}, false);
  }

  TEST_CASE("truth values are reduced along columns and over the middle of three dimensions") {
    const std::vector<std::uint8_t> x{1, 0, 1, 1, 1, 0};  // [3, 2], and [1, 3, 2]
    Operands<std::uint8_t> memory;
    const std::uint8_t* from = memory.upload(x);
    auto* y = memory.results(2);
    for (const bool all : {true, false}) {
      const std::string op = all ? "All" : "Any";
      const Values wanted = all ? Values{1, 0} : Values{1, 1};
      CAPTURE(op);
      memory.run(op + "_columns_bool", kOneBlock, from, y, i64(3), i64(2), 0, 1.0);
      CHECK(memory.values(y, 2) == wanted);
      memory.run(op + "_general_bool", kOneBlock, from, y, i64(2), testing::strided({2}, {1}),
                 i64(3), testing::strided({3}, {2}), 1.0);
      CHECK(memory.values(y, 2) == wanted);
    }
  }

  TEST_CASE("running sums and products, half the sum of squares") {
    check_short("Cumsum", scan("Cumsum", 1, 0));
    check_short("Cumprod", scan("Cumprod", 0.5, 1));
    const auto l2_loss = []<class T>(Operands<T>& memory) {
      auto* y = memory.template allocate<Computed<T>>(1);
      memory.run(memory.name("L2Loss"), kOneBlock, memory.numbers(1000, 1), y, i64(1000), 2.0);
      return memory.values(y, 1);
    };
    check_short("L2Loss", l2_loss, kOfFloats, false);
    check_like<float, double>("L2Loss", l2_loss, kOfFloats);
  }

  TEST_CASE("places of the largest and the smallest") {
    for (const char* index : {"int32", "int64"}) {
      for (const char* op : {"ArgMax", "ArgMin"}) {
        const auto run = extreme(op, index);
        check_short(op, run, {}, false);
        check_like<float, double, std::int32_t, i64>(op, run, {}, false);
      }
    }
  }

  TEST_CASE("softmax and cross entropies") {
    for (const char* op : {"Softmax", "LogSoftmax"}) check_short(op, softmax(op));
    for (const char* op : {"SoftmaxGrad", "LogSoftmaxGrad"}) check_short(op, softmax_grad(op));
    check_short("SoftmaxCrossEntropyWithLogits", []<class T>(Operands<T>& memory) {
      T *loss = memory.results(kRows), *dx = memory.results(kRows * kClasses);
      memory.run(memory.name("SoftmaxCrossEntropyWithLogits"), kOneBlock,
                 memory.numbers(kRows * kClasses, 1), memory.numbers(kRows * kClasses, 2), loss, dx,
                 i64(kRows), i64(kClasses), 32);
      return losses_and_gradients(memory, static_cast<const T*>(loss), static_cast<const T*>(dx));
    });
    check_short("SparseSoftmaxCrossEntropyWithLogits", sparse_cross_entropy<std::int32_t>());
    check_short("SparseSoftmaxCrossEntropyWithLogits", sparse_cross_entropy<i64>());
  }

  TEST_CASE("the weights of random classes") {
    check_short(
        "MultinomialWeights",
        []<class T>(Operands<T>& memory) {
          auto* y = memory.template allocate<double>(2 * 300);
          memory.run(memory.name("MultinomialWeights"), kOneBlock, memory.numbers(2 * 300, 1), y,
                     i64(2), i64(300));
          return memory.values(y, 2 * 300);
        },
        {}, false);
  }

  TEST_CASE("segments") {
    for (const char* op : {"Sum", "Sub", "Max", "Min", "Mean"}) {
      check_short(op, segments(op, 1, 0));
      check_like<float, double>(op, segments(op, 1, 0), kOfFloats);
    }
    for (const char* op : {"Prod", "Div"}) {
      check_short(op, segments(op, 0.5, 2));
      check_like<float, double>(op, segments(op, 0.5, 2), kOfFloats);
    }
  }

  TEST_CASE("a negative id parts no segment, whatever its lower bits") {
    Operands<float> memory;
    const testing::Sorted sorted(memory, std::vector<std::int32_t>{56, -200, 56}, 100,
                                 "SortKeys_int32");
    float* y = memory.upload(std::vector<float>(100, 0));
    memory.run("SegmentSum_float32", launch_for(3),
               static_cast<const float*>(memory.upload(std::vector<float>{1, 10, 100})),
               static_cast<const std::uint32_t*>(sorted.keys),
               static_cast<const std::uint32_t*>(sorted.rows), y, i64(3), i64(1), i64(100), 0);
    CHECK(memory.values(y + 56, 1) == Values{101});
  }

  TEST_CASE("the largest elements of rows, and the places of what is not 0") {
    check_short("TopK", top_k());
    check_like<float, std::int32_t, i64>("TopK", top_k());
    check_short("Where", where(), {}, false);
    check_like<float, double, std::int32_t, i64, std::uint8_t>("Where", where(), {}, false);
    Operands<std::uint8_t> memory;
    const std::uint8_t* x = memory.upload(std::vector<std::uint8_t>{0, 1, 1, 0, 1});
    auto* counts = memory.allocate<std::uint32_t>(2);
    memory.run("WhereCount_bool", kOneBlock, x, counts, i64(5));
    CHECK(memory.values(counts, 2) == Values{3, 0});
    const std::uint32_t* starts = memory.upload(std::vector<std::uint32_t>{0, 3});
    auto* y = memory.allocate<i64>(3);
    memory.run("WherePlaces_bool", kOneBlock, x, starts, y, i64(5), testing::strided({5}, {0}));
    CHECK(memory.values(y, 3) == Values{1, 2, 4});
  }

  TEST_CASE("indices of 64 bits and of 32") {
    Operands<float> memory;
    const float* predictions = memory.upload(std::vector<float>{3, 1, 2, 1, 1, 5});
    auto* y = memory.allocate<std::uint8_t>(2);
    memory.run("InTopK_int64", kOneBlock, predictions,
               static_cast<const i64*>(memory.upload(std::vector<i64>{2, 0})),
               static_cast<const i64*>(memory.upload(std::vector<i64>{2})), y, i64(2), i64(3));
    CHECK(memory.values(y, 2) == Values{1, 1});
    const auto ascending = [&](std::vector<std::int32_t> ids) {
      int* error = memory.upload(std::vector<int>{0});
      memory.run("CheckAscending_int32", launch_for(ids.size()),
                 static_cast<const std::int32_t*>(memory.upload(ids)), error, i64(ids.size()));
      return memory.download(error, 1)[0] == 0;
    };
    CHECK(ascending({0, 1, 1, 4}));
    CHECK_FALSE(ascending({0, 2, 1}));
  }
}

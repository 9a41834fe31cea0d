// Elementwise kernels of 16-bit numbers and of integers give what those of float32 or int32 give of
// the same numbers, rounded.
#include <doctest/doctest.h>

#include <utility>

#include "cuda/device/elementwise_ops.h"
#include "tests/cuda/short_numbers.h"

using namespace towerflow::cuda;
using device::BinaryShape;
using testing::check_like;
using testing::check_short;
using testing::launch_for;
using testing::Operands;
using testing::Tolerance;
using testing::type_name;
using i64 = std::int64_t;
using Values = std::vector<double>;

namespace {

constexpr std::size_t kN = 67;  // packs and a tail

/// Of an operand and a result: both are aligned, or one alone is.
constexpr std::pair<std::size_t, std::size_t> kOffsets[] = {{0, 0}, {1, 0}, {0, 1}};

/// y[i] = op(x[i]), from aligned addresses and from others.
auto unary(const std::string& op, double scale = 1) {
  return [=]<class T>(Operands<T>& memory) {
    Values all;
    for (const auto& [offset, moved] : kOffsets) {
      const T* x = memory.numbers(kN + offset, 1, scale) + offset;
      T* y = memory.results(kN + moved) + moved;
      memory.run(memory.name(op), launch_for(kN), x, y, i64(kN));
      const Values part = memory.values(y, kN);
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  };
}

/// y[i] = op(a[i], b[i]); U is the type of y.
template <class U = void>
auto binary(const std::string& op, double scale = 1, double added = 0) {
  return [=]<class T>(Operands<T>& memory) {
    using Result = std::conditional_t<std::is_void_v<U>, T, U>;
    Values all;
    for (const std::size_t offset : {std::size_t{0}, std::size_t{1}}) {
      const T* a = memory.numbers(kN + offset, 1, scale, added) + offset;
      const T* b = memory.numbers(kN + offset, 2, scale, added) + offset;
      auto* y = memory.template allocate<Result>(kN + offset) + offset;
      BinaryShape shape;
      shape.error = memory.upload(std::vector<device::DataError>{{}});
      memory.run(memory.name(op), launch_for(kN), a, b, y, i64(kN), shape);
      const Values part = memory.values(y, kN);
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  };
}

template <class From, class To>
Values cast_numbers(const std::vector<From>& values, const std::string& from,
                    const std::string& to) {
  Operands<float> memory;
  auto* y = memory.template allocate<To>(values.size());
  memory.run("Cast_" + from + "_" + to, launch_for(values.size()),
             static_cast<const From*>(memory.upload(values)), y, i64(values.size()));
  return memory.values(y, values.size());
}

/// Numbers are converted by way of float32: from it as from the short type, and to it, then
/// rounded.
template <class Short, class Other>
void check_casts(const std::string& other) {
  const std::string own = type_name<Short>();
  CAPTURE(own);
  CAPTURE(other);
  std::vector<Short> shorts;
  std::vector<float> floats;
  std::vector<Other> others;
  for (const double x : {0.0, 1.0, -1.0, 2.5, -2.5, 127.0, -128.0, 255.0, 0.125, 100.0}) {
    shorts.push_back(testing::from_double<Short>(x));
    floats.push_back(static_cast<float>(x));
  }
  for (const double x : {0.0, 1.0, 3.0, 77.0, 100.0, 127.0}) {
    others.push_back(testing::from_double<Other>(other == "bool" && x > 0 ? 1 : x));
  }
  Values of_floats(floats.begin(), floats.end());
  if (other != "float32") of_floats = cast_numbers<float, Other>(floats, "float32", other);
  CHECK(cast_numbers<Short, Other>(shorts, own, other) == of_floats);
  Values wanted(others.begin(), others.end());
  if (other != "float32") wanted = cast_numbers<Other, float>(others, other, "float32");
  for (double& value : wanted) value = testing::to_double(testing::from_double<Short>(value));
  CHECK(cast_numbers<Other, Short>(others, other, own) == wanted);
}

template <class Short>
void check_casts_of() {
  check_casts<Short, std::uint8_t>("bool");
  check_casts<Short, std::uint8_t>("uint8");
  check_casts<Short, std::int8_t>("int8");
  check_casts<Short, std::uint16_t>("uint16");
  check_casts<Short, std::int16_t>("int16");
  check_casts<Short, std::int32_t>("int32");
  check_casts<Short, i64>("int64");
  check_casts<Short, double>("float64");
}

}  // namespace

TEST_SUITE("cuda kernels of short numbers") {
  TEST_CASE("functions of one number") {
#define TOWERFLOW_CHECK(op) check_short(#op, unary(#op));
    TOWERFLOW_SHORT_UNARY_OPS(TOWERFLOW_CHECK)
#undef TOWERFLOW_CHECK
    // Integers: whole numbers from -63 to 63.
#define TOWERFLOW_CHECK(op) check_like<float, std::int32_t, i64>(#op, unary(#op, 32));
    TOWERFLOW_INTEGER_UNARY_OPS(TOWERFLOW_CHECK)
#undef TOWERFLOW_CHECK
  }

  TEST_CASE("functions of two numbers") {
#define TOWERFLOW_CHECK(op) check_short(#op, binary(#op));
    TOWERFLOW_SHORT_BINARY_OPS(TOWERFLOW_CHECK)
#undef TOWERFLOW_CHECK
#define TOWERFLOW_CHECK(op) check_like<float, std::int32_t, i64>(#op, binary(#op, 32));
    TOWERFLOW_INTEGER_BINARY_OPS(TOWERFLOW_CHECK)
#undef TOWERFLOW_CHECK
    // Bytes: 1 .. 15, whose sums, products and squares are bytes as well.
    for (const char* op : {"AddV2", "Mul", "Maximum", "Minimum", "SquaredDifference", "ReluGrad",
                           "RealDiv", "FloorDiv", "TruncateDiv", "TruncateMod", "FloorMod"}) {
      check_like<std::int32_t, std::uint8_t>(op, binary(op, 32.0 / 9, 8));
    }
  }

  TEST_CASE("comparisons") {
#define TOWERFLOW_CHECK(op)                               \
  check_short(#op, binary<std::uint8_t>(#op), {}, false); \
  check_like<std::int32_t, std::uint8_t>(#op, binary<std::uint8_t>(#op, 2, 8));
    TOWERFLOW_COMPARISON_OPS(TOWERFLOW_CHECK)
#undef TOWERFLOW_CHECK
    const std::vector<std::uint8_t> a{0, 0, 1, 1}, b{0, 1, 0, 1};
    Operands<std::uint8_t> memory;
    auto* y = memory.results(4);
    const std::uint8_t *left = memory.upload(a), *right = memory.upload(b);
    memory.run("Equal_bool", launch_for(4), left, right, y, i64(4), BinaryShape());
    CHECK(memory.values(y, 4) == Values{1, 0, 0, 1});
    memory.run("NotEqual_bool", launch_for(4), left, right, y, i64(4), BinaryShape());
    CHECK(memory.values(y, 4) == Values{0, 1, 1, 0});
  }

  TEST_CASE("conversions") {
    check_casts_of<__half>();
    check_casts_of<__nv_bfloat16>();
    check_casts<__half, float>("float32");
    check_casts<__nv_bfloat16, float>("float32");
    const std::vector<__nv_bfloat16> x{testing::from_double<__nv_bfloat16>(1.5),
                                       testing::from_double<__nv_bfloat16>(-70000)};
    CHECK(cast_numbers<__nv_bfloat16, __half>(x, "bfloat16", "float16") == Values{1.5, -INFINITY});
  }

  TEST_CASE("sums of tensors, clipping and leaky units") {
    const auto add_n = []<class T>(Operands<T>& memory) {
      device::SumList list;
      list.count = 3;
      for (int i = 0; i < 3; ++i) list.summands[i] = memory.numbers(kN, unsigned(i + 1), 32);
      T* y = memory.results(kN);
      memory.run(memory.name("AddN"), launch_for(kN), list, y, i64(kN));
      return memory.values(y, kN);
    };
    check_short("AddN", add_n);
    check_like<float, i64, std::int32_t, double>("AddN", add_n);

    const auto average = []<class T>(Operands<T>& memory) {
      device::AverageList list;
      list.count = 1;
      list.towers = 2;
      list.divisor = 2;
      auto& v = list.variables[0];
      v.gradients[0] = memory.numbers(kN, 1);
      v.gradients[1] = memory.numbers(kN, 2);
      T* y = memory.results(kN);
      v.average = y;
      v.elements = kN;
      memory.run(memory.name("Average"), {dim3(1), dim3(256), 0}, list);
      return memory.values(y, kN);
    };
    check_short("Average", average);
    check_like<float, double>("Average", average);

    const auto clip = []<class T>(Operands<T>& memory) {
      const T *x = memory.numbers(kN, 1, 32), *low = memory.numbers(kN, 2, 16, -20),
              *high = memory.numbers(1, 3, 1, 24);
      T* y = memory.results(kN);
      memory.run(memory.name("ClipByValue"), launch_for(kN), x, low, high, y, i64(kN), 0, 1);
      return memory.values(y, kN);
    };
    check_short("ClipByValue", clip);
    check_like<double, float>("ClipByValue", clip);

    const auto leaky = []<class T>(Operands<T>& memory) {
      T* y = memory.results(kN);
      memory.run(memory.name("LeakyRelu"), launch_for(kN), memory.numbers(kN, 1), y, i64(kN), 0.2);
      Values all = memory.values(y, kN);
      memory.run(memory.name("LeakyReluGrad"), launch_for(kN), memory.numbers(kN, 2),
                 memory.numbers(kN, 1), y, i64(kN), 0.2);
      for (const double value : memory.values(y, kN)) all.push_back(value);
      return all;
    };
    check_short("LeakyRelu", leaky);
  }

  TEST_CASE("integers are clipped") {
    const auto clip = []<class T>(Operands<T>& memory) {
      const T *x = memory.numbers(kN, 1, 32), *low = memory.numbers(kN, 2, 32),
              *high = memory.numbers(1, 3, 0, 40);
      T* y = memory.results(kN);
      memory.run(memory.name("ClipByValue"), launch_for(kN), x, low, high, y, i64(kN), 0, 1);
      return memory.values(y, kN);
    };
    check_like<float, std::int32_t, i64>("ClipByValue", clip);
  }

  TEST_CASE("numbers that are not finite are found") {
    for (const double wrong : {1.0, double(INFINITY), double(NAN)}) {
      CAPTURE(wrong);
      const auto check = [=]<class T>(Operands<T>& memory) {
        std::vector<T> x(kN, testing::from_double<T>(2));
        x[kN - 1] = testing::from_double<T>(wrong);
        auto* error = memory.upload(std::vector<device::DataError>{{}});
        memory.run(memory.name("CheckNumerics"), launch_for(kN),
                   static_cast<const T*>(memory.upload(x)), error, i64(kN));
        const device::DataError found = memory.download(error, 1)[0];
        return Values{double(found.found), double(found.notes[0]), double(found.notes[1])};
      };
      check_short("CheckNumerics", check, {}, false);
    }
  }
}

// Elementwise kernels: unary, binary with broadcasting, chains.
#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <map>
#include <string>

#include "cuda/device/arguments.h"
#include "cuda/device/elementwise_ops.h"
#include "tests/cuda/close.h"
#include "tests/cuda/device_memory.h"

using namespace towerflow::cuda;
using device::BinaryShape;
using device::Chain;
using device::ChainOp;
using device::Divisor;
using testing::check_values;
using testing::DeviceMemory;
using testing::launch_for;
using testing::numbers;
using i64 = std::int64_t;

namespace {

using Unary = std::function<double(double)>;
using Binary = std::function<double(double, double)>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double digamma(double x) {
  if (x <= 0 && std::floor(x) == x) return std::nan("");
  const double h = 1e-5;
  return (std::lgamma(x + h) - std::lgamma(x - h)) / (2 * h);
}

const std::map<std::string, Unary>& unary_ops() {
  static const std::map<std::string, Unary> ops{
      {"Neg", [](double x) { return -x; }},
      {"Abs", [](double x) { return std::fabs(x); }},
      {"Square", [](double x) { return x * x; }},
      {"Sqrt", [](double x) { return std::sqrt(x); }},
      {"Rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"Reciprocal", [](double x) { return 1 / x; }},
      {"Exp", [](double x) { return std::exp(x); }},
      {"Expm1", [](double x) { return std::expm1(x); }},
      {"Log", [](double x) { return std::log(x); }},
      {"Log1p", [](double x) { return std::log1p(x); }},
      {"Sigmoid", sigmoid},
      {"Tanh", [](double x) { return std::tanh(x); }},
      {"Softplus", [](double x) { return std::log1p(std::exp(x)); }},
      {"Softsign", [](double x) { return x / (1 + std::fabs(x)); }},
      {"Elu", [](double x) { return x < 0 ? std::expm1(x) : x; }},
      {"Selu",
       [](double x) {
         return 1.0507009873554805 * (x < 0 ? 1.6732632423543772 * std::expm1(x) : x);
       }},
      {"Relu", [](double x) { return x > 0           ? x
                                     : std::isnan(x) ? x
                                                     : 0; }},
      {"Relu6", [](double x) { return x > 6           ? 6
                                      : x > 0         ? x
                                      : std::isnan(x) ? x
                                                      : 0; }},
      {"Sin", [](double x) { return std::sin(x); }},
      {"Cos", [](double x) { return std::cos(x); }},
      {"Tan", [](double x) { return std::tan(x); }},
      {"Asin", [](double x) { return std::asin(x); }},
      {"Acos", [](double x) { return std::acos(x); }},
      {"Atan", [](double x) { return std::atan(x); }},
      {"Sinh", [](double x) { return std::sinh(x); }},
      {"Cosh", [](double x) { return std::cosh(x); }},
      {"Asinh", [](double x) { return std::asinh(x); }},
      {"Acosh", [](double x) { return std::acosh(x); }},
      {"Atanh", [](double x) { return std::atanh(x); }},
      {"Erf", [](double x) { return std::erf(x); }},
      {"Erfc", [](double x) { return std::erfc(x); }},
      {"Lgamma", [](double x) { return std::lgamma(x); }},
      {"Digamma", digamma},
      {"Rint", [](double x) { return std::nearbyint(x); }},
      {"Round", [](double x) { return std::nearbyint(x); }},
      {"Sign", [](double x) { return std::isnan(x) ? x : (x > 0) - (x < 0); }},
      {"Floor", [](double x) { return std::floor(x); }},
      {"Ceil", [](double x) { return std::ceil(x); }},
  };
  return ops;
}

const std::map<std::string, Binary>& binary_ops() {
  static const std::map<std::string, Binary> ops{
      {"AddV2", [](double a, double b) { return a + b; }},
      {"Sub", [](double a, double b) { return a - b; }},
      {"Mul", [](double a, double b) { return a * b; }},
      {"RealDiv", [](double a, double b) { return a / b; }},
      {"DivNoNan", [](double a, double b) { return b == 0 ? 0 : a / b; }},
      {"FloorDiv", [](double a, double b) { return std::floor(a / b); }},
      {"TruncateDiv", [](double a, double b) { return std::trunc(a / b); }},
      {"TruncateMod", [](double a, double b) { return std::fmod(a, b); }},
      {"FloorMod", [](double a, double b) { return a - b * std::floor(a / b); }},
      {"Maximum", [](double a, double b) { return std::fmax(a, b); }},
      {"Minimum", [](double a, double b) { return std::fmin(a, b); }},
      {"Pow", [](double a, double b) { return std::pow(a, b); }},
      {"SquaredDifference", [](double a, double b) { return (a - b) * (a - b); }},
      {"Atan2", [](double a, double b) { return std::atan2(a, b); }},
      {"Xdivy", [](double a, double b) { return a == 0 ? 0 : a / b; }},
      {"Xlogy", [](double a, double b) { return a == 0 ? 0 : a * std::log(b); }},
      {"Xlog1py", [](double a, double b) { return a == 0 ? 0 : a * std::log1p(b); }},
      {"SigmoidGrad", [](double y, double dy) { return dy * y * (1 - y); }},
      {"TanhGrad", [](double y, double dy) { return dy * (1 - y * y); }},
      {"SqrtGrad", [](double y, double dy) { return dy / (2 * y); }},
      {"RsqrtGrad", [](double y, double dy) { return -dy / 2 * y * y * y; }},
      {"ReluGrad", [](double dy, double x) { return x > 0 ? dy : 0; }},
      {"Relu6Grad", [](double dy, double x) { return x > 0 && x < 6 ? dy : 0; }},
      {"EluGrad", [](double dy, double y) { return y < 0 ? (y + 1) * dy : dy; }},
      {"SeluGrad",
       [](double dy, double y) {
         return y < 0 ? dy * (y + 1.7580993408473769) : dy * 1.0507009873554805;
       }},
      {"SoftsignGrad", [](double dy, double x) { return dy / std::pow(1 + std::fabs(x), 2); }},
  };
  return ops;
}

/// A shape for two operands of the given strides, as the code that launches makes it.
BinaryShape strided(std::vector<std::uint32_t> sizes, std::vector<i64> a, std::vector<i64> b) {
  BinaryShape shape;
  shape.kind = BinaryShape::strided;
  shape.operands.rank = static_cast<int>(sizes.size());
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    shape.operands.sizes[d] = Divisor::of(sizes[d]);
    shape.operands.strides[0][d] = a[d];
    shape.operands.strides[1][d] = b[d];
  }
  return shape;
}

template <class T>
void check_unary(const std::string& dtype, double tolerance) {
  const std::size_t n = 1003;
  for (const auto& op : unary_ops()) {
    const std::string& name = op.first;
    const auto& expected = op.second;
    CAPTURE(name);
    DeviceMemory memory;
    const double low = name == "Acosh" ? 1 : -0.99, high = name == "Acosh" ? 9 : 0.99;
    const auto values = numbers<T>(n, name == "Digamma" || name == "Log" ? 0.3 : low, high);
    const T* x = memory.upload(values);
    T* y = memory.allocate<T>(n);
    const auto trace = memory.run(name + "_" + dtype, launch_for(n / 3), x, y, i64(n));
    const auto same = [&](std::size_t i) { return expected(static_cast<double>(values[i])); };
    check_values(memory.download(y, n), same, tolerance);
    CHECK(trace.bytes_read == n * sizeof(T));
    CHECK(trace.bytes_written == n * sizeof(T));
    // Addresses that are not aligned to 16 bytes.
    T* z = memory.allocate<T>(n);
    memory.run(name + "_" + dtype, launch_for(n / 2), x + 1, z + 3, i64(n - 7));
    const auto moved = [&](std::size_t i) { return expected(static_cast<double>(values[i + 1])); };
    check_values(memory.download(z + 3, n - 7), moved, tolerance);
  }
}

template <class T>
void check_binary(const std::string& dtype, double tolerance) {
  const std::size_t n = 517;
  for (const auto& op : binary_ops()) {
    const std::string& name = op.first;
    const auto& expected = op.second;
    CAPTURE(name);
    DeviceMemory memory;
    const auto as = numbers<T>(n, 0.1, 3, 2), bs = numbers<T>(n, name == "Pow" ? -2 : 0.3, 3, 3);
    const T *a = memory.upload(as), *b = memory.upload(bs);
    const auto check = [&](BinaryShape shape, std::size_t count, auto at_a, auto at_b) {
      T* y = memory.allocate<T>(count);
      memory.run(name + "_" + dtype, launch_for(count / 4), a, b, y, i64(count), shape);
      const auto wanted = [&](std::size_t i) {
        return expected(static_cast<double>(as[at_a(i)]), static_cast<double>(bs[at_b(i)]));
      };
      check_values(memory.download(y, count), wanted, tolerance);
    };
    const auto same = [](std::size_t i) { return i; };
    const auto first = [](std::size_t) { return std::size_t{0}; };
    check({BinaryShape::both, {}}, n, same, same);
    check({BinaryShape::left, {}}, n, first, same);
    check({BinaryShape::right, {}}, n, same, first);
    // [3, 5, 7] with [5, 1], and [3, 1, 7] with [5, 7]
    check(strided({3, 5, 7}, {35, 7, 1}, {0, 1, 0}), 105, same,
          [](std::size_t i) { return i / 7 % 5; });
    check(
        strided({3, 5, 7}, {7, 0, 1}, {0, 7, 1}), 105,
        [](std::size_t i) { return i / 35 * 7 + i % 7; }, [](std::size_t i) { return i % 35; });
    // [9, 8] with [8] and with [9, 1], in packs
    constexpr std::uint32_t kPack = 16 / sizeof(T);
    auto packed = strided({9, 8 / kPack}, {8, kPack}, {0, kPack});
    packed.kind = BinaryShape::packed;
    check(packed, 72, same, [](std::size_t i) { return i % 8; });
    packed = strided({9, 8 / kPack}, {8, kPack}, {1, 0});
    packed.kind = BinaryShape::packed;
    check(packed, 72, same, [](std::size_t i) { return i / 8; });
  }
}

}  // namespace

TEST_SUITE("cuda elementwise") {
  TEST_CASE("there is a kernel for each op that the tables list, and an expected value") {
    std::size_t unary = 0, binary = 0;
#define TOWERFLOW_COUNT(op) unary += unary_ops().count(#op);
    TOWERFLOW_FLOATING_UNARY_OPS(TOWERFLOW_COUNT)
#undef TOWERFLOW_COUNT
#define TOWERFLOW_COUNT(op) binary += binary_ops().count(#op);
    TOWERFLOW_FLOATING_BINARY_OPS(TOWERFLOW_COUNT)
#undef TOWERFLOW_COUNT
    CHECK(unary == unary_ops().size());
    CHECK(binary == binary_ops().size());
    CHECK(unary == 38);
    CHECK(binary == 26);
  }

  TEST_CASE("unary ops, float32") { check_unary<float>("float32", 1e-5); }
  TEST_CASE("unary ops, float64") { check_unary<double>("float64", 1e-8); }
  TEST_CASE("binary ops that broadcast, float32") { check_binary<float>("float32", 1e-5); }
  TEST_CASE("binary ops that broadcast, float64") { check_binary<double>("float64", 1e-12); }

  TEST_CASE("large numbers, infinities and NaN") {
    DeviceMemory memory;
    const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
    const std::vector<float> values{inf, -inf, nan, 1e30F, -1e30F, 0, -0.0F, 100, -100};
    const float* x = memory.upload(values);
    const std::size_t n = values.size();
    for (const char* name :
         {"Sigmoid", "Softplus", "Relu", "Relu6", "Tanh", "Elu", "Exp", "Sign"}) {
      CAPTURE(name);
      float* y = memory.allocate<float>(n);
      memory.run(std::string(name) + "_float32", launch_for(n), x, y, i64(n));
      check_values(memory.download(y, n), [&](std::size_t i) {
        if (name == std::string("Softplus") && values[i] > 50) return double{values[i]};
        return static_cast<double>(static_cast<float>(unary_ops().at(name)(values[i])));
      });
    }
    bool* tests = memory.allocate<bool>(n);
    memory.run("IsNan_float32", launch_for(n), x, tests, i64(n));
    CHECK(memory.download(reinterpret_cast<unsigned char*>(tests), n)[2] == 1);
    CHECK(memory.download(reinterpret_cast<unsigned char*>(tests), n)[0] == 0);
    memory.run("IsInf_float32", launch_for(n), x, tests, i64(n));
    CHECK(memory.download(reinterpret_cast<unsigned char*>(tests), n)[1] == 1);
    memory.run("IsFinite_float32", launch_for(n), x, tests, i64(n));
    CHECK(memory.download(reinterpret_cast<unsigned char*>(tests), n)[3] == 1);
    CHECK(memory.download(reinterpret_cast<unsigned char*>(tests), n)[2] == 0);
  }

  TEST_CASE("NaN and infinite elements are found") {
    DeviceMemory memory;
    std::vector<float> values(1000, 1e30F);
    const auto found = [&] {
      auto* error = memory.upload(std::vector<device::DataError>{{}});
      memory.run("CheckNumerics_float32", launch_for(1000),
                 static_cast<const float*>(memory.upload(values)), error, i64(1000));
      const device::DataError made = memory.download(error, 1)[0];
      return std::vector<i64>{made.found, made.notes[0], made.notes[1]};
    };
    CHECK(found() == std::vector<i64>{0, 0, 0});
    values[999] = -INFINITY;
    CHECK(found() == std::vector<i64>{1, 0, 1});
    values[3] = NAN;
    CHECK(found() == std::vector<i64>{1, 1, 1});
  }

  TEST_CASE("integers wrap around, comparisons give bool") {
    DeviceMemory memory;
    const std::vector<std::int32_t> as{2147483647, -5, 7, 0, 3}, bs{1, 2, 7, -2147483647 - 1, 4};
    const auto *a = memory.upload(as), *b = memory.upload(bs);
    auto* y = memory.allocate<std::int32_t>(5);
    memory.run("AddV2_int32", launch_for(5), a, b, y, i64(5), BinaryShape());
    CHECK(memory.download(y, 5) ==
          std::vector<std::int32_t>{-2147483647 - 1, -3, 14, -2147483647 - 1, 7});
    memory.run("Maximum_int32", launch_for(5), a, b, y, i64(5), BinaryShape());
    CHECK(memory.download(y, 5) == std::vector<std::int32_t>{2147483647, 2, 7, 0, 4});
    memory.run("Neg_int32", launch_for(5), b, y, i64(5));
    CHECK(memory.download(y, 5) == std::vector<std::int32_t>{-1, -2, -7, -2147483647 - 1, -4});
    auto* less = memory.allocate<bool>(5);
    memory.run("Less_int32", launch_for(5), a, b, less, i64(5), BinaryShape());
    CHECK(memory.download(reinterpret_cast<unsigned char*>(less), 5) ==
          std::vector<unsigned char>{0, 1, 0, 0, 1});
  }

  TEST_CASE("16-bit numbers are computed as float and rounded to the nearest") {
    DeviceMemory memory;
    // 1, 2^-24 (the smallest half), 65504 (the largest), -2, infinity, NaN
    const std::vector<std::uint16_t> halves{0x3c00, 0x0001, 0x7bff, 0xc000, 0x7c00, 0x7e00};
    const auto* x = memory.upload(halves);
    auto* y = memory.allocate<std::uint16_t>(6);
    memory.run("AddV2_float16", launch_for(6), x, x, y, i64(6), BinaryShape());
    auto got = memory.download(y, 6);
    CHECK(got[0] == 0x4000);
    CHECK(got[1] == 0x0002);
    CHECK(got[2] == 0x7c00);
    CHECK(got[3] == 0xc400);
    CHECK(got[4] == 0x7c00);
    CHECK((got[5] & 0x7fff) > 0x7c00);
    memory.run("Exp_float16", launch_for(6), x, y, i64(6));
    CHECK(memory.download(y, 1)[0] == 0x4170);  // e = 2.71875 in steps of 2^-9
    const std::vector<std::uint16_t> shorts{0x3f80, 0x3f81, 0x7f7f};
    const auto* u = memory.upload(shorts);
    memory.run("Mul_bfloat16", launch_for(3), u, u, y, i64(3), BinaryShape());
    got = memory.download(y, 3);
    CHECK(got[0] == 0x3f80);
    CHECK(got[1] == 0x3f82);
    CHECK(got[2] == 0x7f80);
  }

  TEST_CASE("a chain computes its steps in one pass") {
    DeviceMemory memory;
    const std::size_t n = 3 * 5 * 7;
    const auto xs = numbers<float>(n), rows = numbers<float>(5, -1, 1, 4);
    const std::vector<float> half{0.5F};
    Chain chain;
    chain.inputs = 3;
    chain.input[0].data = memory.upload(xs);
    chain.input[1] = {memory.upload(rows), 0, 2, {0, 1, 0}};
    chain.input[2] = {memory.upload(half), 0, 1, {}};
    chain.rank = 3;
    for (int d = 0; d < 3; ++d) {
      chain.sizes[d] = Divisor::of(d == 0 ? 3 : d == 1 ? 5 : 7);
    }
    const auto op = [](ChainOp o) { return static_cast<std::int16_t>(o); };
    const auto made = [](int s) { return static_cast<std::int16_t>(device::kMaxInputs + s); };
    // tanh(x * row) > 0.5 ? x : row
    chain.steps = 4;
    chain.step[0] = {op(ChainOp::Mul), {0, 1, 0}};
    chain.step[1] = {op(ChainOp::Tanh), {made(0), 0, 0}};
    chain.step[2] = {op(ChainOp::Greater), {made(1), 2, 0}};
    chain.step[3] = {op(ChainOp::Select), {made(2), 0, 1}};
    float* y = memory.allocate<float>(n);
    chain.result = y;
    const auto trace = memory.run("Chain_float32", launch_for(n / 4), chain, i64(n));
    check_values(memory.download(y, n), [&](std::size_t i) {
      const double x = xs[i], row = rows[i / 7 % 5];
      return std::tanh(x * row) > 0.5 ? x : row;
    });
    CHECK(trace.bytes_written == 4 * n);
    chain.steps = 3;
    chain.result_is_bool = 1;
    bool* tests = memory.allocate<bool>(n);
    chain.result = tests;
    memory.run("Chain_float32", launch_for(n / 4), chain, i64(n));
    check_values(memory.download(reinterpret_cast<unsigned char*>(tests), n), [&](std::size_t i) {
      return std::tanh(double{xs[i]} * rows[i / 7 % 5]) > 0.5 ? 1 : 0;
    });
  }

  TEST_CASE("numbers are divided by a multiplication") {
    std::mt19937 random(3);
    for (std::uint32_t d : {1U, 2U, 3U, 7U, 10U, 641U, 65535U, 65536U, 1000003U, 0x7fffffffU}) {
      const Divisor divisor = Divisor::of(d);
      for (int i = 0; i < 1000; ++i) {
        const std::uint32_t n = i == 0 ? 0x7fffffffU : i == 1 ? d - 1 : random() >> (1 + i % 31);
        REQUIRE(divisor.quotient(n) == n / d);
      }
    }
  }
}

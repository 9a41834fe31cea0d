// Conversions between types with the bits of the CPU's function, and the arithmetic of integers.
#include <doctest/doctest.h>

#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "cuda/device/arguments.h"
#include "ops/array/cast_value.h"
#include "tests/cuda/close.h"
#include "tests/cuda/device_memory.h"

using namespace towerflow;
using namespace towerflow::cuda;
using cuda::testing::DeviceMemory;
using cuda::testing::launch_for;
using device::BinaryShape;
using i64 = std::int64_t;

namespace {

/// std::vector<bool> has no elements in memory; the bytes of bools are uploaded instead.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

/// Numbers that conversions may get wrong, of a type that may not have all of them.
template <class T>
std::vector<Stored<T>> hard_numbers() {
  if constexpr (std::is_same_v<T, bool>) return {0, 1, 1, 0, 1};
  using Limits = std::numeric_limits<T>;
  std::vector<Stored<T>> made;
  for (const T x : {T(0), T(1), T(2), T(7), T(100), T(127), Limits::lowest(), Limits::max()}) {
    made.push_back(x);
    if constexpr (std::is_signed_v<T>) made.push_back(static_cast<T>(-x));
  }
  if constexpr (sizeof(T) >= 4) {
    for (const double x : {255.0, 256.0, 300.0, 65536.0, 16777217.0, 2147483520.0}) {
      made.push_back(static_cast<T>(x));
      made.push_back(static_cast<T>(-x));
    }
  }
  if constexpr (sizeof(T) == 8) {
    for (const double x : {2147483648.0, 4294967297.0, 9007199254740993.0}) {
      made.push_back(static_cast<T>(x));
      made.push_back(static_cast<T>(-x));
    }
  }
  if constexpr (std::is_floating_point_v<T>) {
    for (const double x : {0.5, 0.9999, 1.5, 2.5, 2147483648.0, 9223372036854775808.0, 1e19}) {
      made.push_back(static_cast<T>(x));
      made.push_back(static_cast<T>(-x));
    }
    made.insert(made.end(), {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()});
  }
  return made;
}

template <class From, class To>
void check_cast(const std::string& from, const std::string& to) {
  CAPTURE(from);
  CAPTURE(to);
  const auto values = hard_numbers<From>();
  const std::size_t n = values.size();
  DeviceMemory memory;
  const auto* x = memory.upload(values);
  // Both are aligned, neither is, and one alone.
  for (const auto& [offset, moved] :
       {std::pair<std::size_t, std::size_t>{0, 0}, {1, 1}, {1, 0}, {0, 1}}) {
    auto* y = memory.template allocate<Stored<To>>(n + 1);
    memory.run("Cast_" + from + "_" + to, launch_for(n), x + offset, y + moved, i64(n - offset));
    const auto got = memory.download(y + moved, n - offset);
    for (std::size_t i = 0; i + offset < n; ++i) {
      CAPTURE(values[i + offset]);
      const To wanted = cast_value<From, To>(static_cast<From>(values[i + offset]));
      if constexpr (std::is_floating_point_v<To>) {
        CHECK((got[i] == wanted || (std::isnan(got[i]) && std::isnan(wanted))));
      } else {
        CHECK(got[i] == static_cast<Stored<To>>(wanted));
      }
    }
  }
}

template <class From>
void check_casts(const std::string& from) {
  if (from != "bool") check_cast<From, bool>(from, "bool");
  if (from != "uint8") check_cast<From, std::uint8_t>(from, "uint8");
  if (from != "int8") check_cast<From, std::int8_t>(from, "int8");
  if (from != "int16") check_cast<From, std::int16_t>(from, "int16");
  if (from != "uint16") check_cast<From, std::uint16_t>(from, "uint16");
  if (from != "int32") check_cast<From, std::int32_t>(from, "int32");
  if (from != "int64") check_cast<From, i64>(from, "int64");
  if (from != "float32") check_cast<From, float>(from, "float32");
  if (from != "float64") check_cast<From, double>(from, "float64");
}

/// Runs a kernel of 16-bit numbers on their bits.
template <class To, class From>
std::vector<To> cast_bits(const std::string& kernel, const std::vector<From>& values) {
  DeviceMemory memory;
  const auto* x = memory.upload(values);
  auto* y = memory.template allocate<To>(values.size());
  memory.run("Cast_" + kernel, launch_for(values.size()), x, y, i64(values.size()));
  return memory.download(y, values.size());
}

__extension__ using Wide = __int128;

/// The exact result of an op, or nothing if there is none; the type of the operands wraps it.
using Exact = std::optional<Wide> (*)(Wide a, Wide b);
Wide floored(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
std::optional<Wide> floor_div(Wide a, Wide b) {
  return b == 0 ? std::nullopt : std::optional(floored(a, b));
}
std::optional<Wide> floor_mod(Wide a, Wide b) {
  return b == 0 ? std::nullopt : std::optional(a - floored(a, b) * b);
}
std::optional<Wide> truncate_div(Wide a, Wide b) {
  return b == 0 ? std::nullopt : std::optional(a / b);
}
std::optional<Wide> truncate_mod(Wide a, Wide b) {
  return b == 0 ? std::nullopt : std::optional(a % b);
}
std::optional<Wide> power(Wide a, Wide b) {
  if (b < 0) return std::nullopt;
  std::uint64_t product = 1;  // the low bits of the power, which are those of narrower types too
  for (; b > 0; --b) product *= static_cast<std::uint64_t>(a);
  return static_cast<Wide>(product);
}

template <class T>
void check_integers(Exact exact, const std::string& op, const std::string& dtype,
                    const std::vector<T>& as, const std::vector<T>& bs) {
  CAPTURE(op);
  CAPTURE(dtype);
  const std::size_t n = as.size() * bs.size();
  DeviceMemory memory;
  BinaryShape shape;
  shape.kind = BinaryShape::strided;
  shape.operands.rank = 2;
  shape.operands.sizes[0] = device::Divisor::of(static_cast<std::uint32_t>(as.size()));
  shape.operands.sizes[1] = device::Divisor::of(static_cast<std::uint32_t>(bs.size()));
  shape.operands.strides[0][0] = shape.operands.strides[1][1] = 1;
  shape.error = memory.upload(std::vector<device::DataError>{{}});
  const T *a = memory.upload(as), *b = memory.upload(bs);
  T* y = memory.allocate<T>(n);
  memory.run(op + "_" + dtype, launch_for(n), a, b, y, i64(n), shape);
  const auto got = memory.download(y, n);
  int failed = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const T p = as[i / bs.size()], q = bs[i % bs.size()];
    CAPTURE(p);
    CAPTURE(q);
    const auto wanted = exact(p, q);
    if (!wanted) failed = 1;
    CHECK(got[i] == static_cast<T>(wanted.value_or(0)));
  }
  CHECK(memory.download(shape.error, 1)[0].found == failed);
}

template <class T>
void check_division(const std::string& dtype) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> as{0, 1, 2, 3, 7, 8, 100, Limits::max(), Limits::lowest()};
  if constexpr (std::is_signed_v<T>) {
    for (const T x : {T(1), T(3), T(7), T(8), Limits::max()}) as.push_back(static_cast<T>(-x));
  }
  std::vector<T> bs(as.begin() + 1, as.end());  // without 0
  for (int zeros = 0; zeros < 2; ++zeros) {
    check_integers<T>(floor_div, "FloorDiv", dtype, as, bs);
    check_integers<T>(floor_mod, "FloorMod", dtype, as, bs);
    check_integers<T>(truncate_div, "TruncateDiv", dtype, as, bs);
    check_integers<T>(truncate_div, "RealDiv", dtype, as, bs);
    if constexpr (std::is_signed_v<T>) {
      check_integers<T>(truncate_mod, "TruncateMod", dtype, as, bs);
    }
    bs.push_back(0);
  }
  check_integers<T>(power, "Pow", dtype, as, {0, 1, 2, 3, 5, 13, 64});
  if constexpr (std::is_signed_v<T>) {
    check_integers<T>(power, "Pow", dtype, as, {T(2), T(-1)});
  }
}

}  // namespace

TEST_SUITE("cuda conversions") {
  TEST_CASE("casts give what the CPU's do, also outside of the range of the result") {
    check_casts<bool>("bool");
    check_casts<std::uint8_t>("uint8");
    check_casts<std::int8_t>("int8");
    check_casts<std::int16_t>("int16");
    check_casts<std::uint16_t>("uint16");
    check_casts<std::int32_t>("int32");
    check_casts<i64>("int64");
    check_casts<float>("float32");
    check_casts<double>("float64");
  }

  TEST_CASE("casts of 16-bit numbers") {
    using U = std::uint16_t;
    // 1, 2^-24, 65504, -2.5, infinity
    const std::vector<U> halves{0x3c00, 0x0001, 0x7bff, 0xc100, 0x7c00};
    CHECK(cast_bits<float>("float16_float32", halves) ==
          std::vector<float>{1, 0x1p-24F, 65504, -2.5F, INFINITY});
    CHECK(cast_bits<double>("float16_float64", halves)[1] == 0x1p-24);
    CHECK(cast_bits<std::int32_t>("float16_int32", halves) ==
          std::vector<std::int32_t>{1, 0, 65504, -2, std::numeric_limits<std::int32_t>::min()});
    CHECK(cast_bits<std::uint8_t>("float16_bool", halves) == std::vector<std::uint8_t>(5, 1));
    CHECK(cast_bits<U>("float16_bfloat16", halves) ==
          std::vector<U>{0x3f80, 0x3380, 0x4780, 0xc020, 0x7f80});
    CHECK(cast_bits<U>("int64_float16", std::vector<i64>{1, -2, 2049, 70000}) ==
          std::vector<U>{0x3c00, 0xc000, 0x6800, 0x7c00});
    CHECK(cast_bits<U>("uint8_bfloat16", std::vector<std::uint8_t>{0, 1, 255}) ==
          std::vector<U>{0, 0x3f80, 0x437f});
    CHECK(cast_bits<float>("bfloat16_float32", std::vector<U>{0x3f81, 0xff80}) ==
          std::vector<float>{1.0078125F, -INFINITY});
    CHECK(cast_bits<U>("float64_bfloat16", std::vector<double>{1, 257}) ==
          std::vector<U>{0x3f80, 0x4380});
  }

  TEST_CASE("integers are divided as on the CPU, and fail at zero") {
    check_division<std::int32_t>("int32");
    check_division<i64>("int64");
    check_division<std::uint8_t>("uint8");
  }

  TEST_CASE("bytes wrap around and are compared, truth values are equal or not") {
    using U = std::uint8_t;
    const std::vector<U> as{0, 1, 200, 255}, bs{0, 1, 100, 255};
    check_integers<U>([](Wide a, Wide b) { return std::optional<Wide>(a + b); }, "AddV2", "uint8",
                      as, bs);
    check_integers<U>([](Wide a, Wide b) { return std::optional<Wide>(a - b); }, "Sub", "uint8", as,
                      bs);
    check_integers<U>([](Wide a, Wide b) { return std::optional<Wide>(a * b); }, "Mul", "uint8", as,
                      bs);
    check_integers<U>([](Wide a, Wide b) { return std::optional<Wide>((a - b) * (a - b)); },
                      "SquaredDifference", "uint8", as, bs);
    DeviceMemory memory;
    const U *a = memory.upload(as), *b = memory.upload(bs);
    U* y = memory.allocate<U>(4);
    memory.run("Greater_uint8", launch_for(4), a, b, y, i64(4), BinaryShape());
    CHECK(memory.download(y, 4) == std::vector<U>{0, 0, 1, 0});
    const U *p = memory.upload(std::vector<U>{0, 1, 1}),
            *q = memory.upload(std::vector<U>{0, 0, 1});
    memory.run("NotEqual_bool", launch_for(3), p, q, y, i64(3), BinaryShape());
    CHECK(memory.download(y, 3) == std::vector<U>{0, 1, 0});
  }
}

// Kernels of one name for several types: what those of 16-bit numbers or of integers give is
// compared with what the kernel of another type gives of the same numbers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/cuda/close.h"
#include "tests/cuda/device_memory.h"

namespace towerflow::cuda::testing {

template <class T>
double to_double(T value) {
  if constexpr (std::is_same_v<T, __half>) {
    return static_cast<double>(__half2float(value));
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return static_cast<double>(__bfloat162float(value));
  } else {
    return static_cast<double>(value);
  }
}
/// Rounds to a number of the type.
template <class T>
T from_double(double value) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half_rn(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16_rn(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
constexpr const char* type_name() {
  if constexpr (std::is_same_v<T, __half>) return "float16";
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return "bfloat16";
  if constexpr (std::is_same_v<T, float>) return "float32";
  if constexpr (std::is_same_v<T, double>) return "float64";
  if constexpr (std::is_same_v<T, std::int32_t>) return "int32";
  if constexpr (std::is_same_v<T, std::int64_t>) return "int64";
  if constexpr (std::is_same_v<T, std::int16_t>) return "int16";
  if constexpr (std::is_same_v<T, std::uint16_t>) return "uint16";
  if constexpr (std::is_same_v<T, std::int8_t>) return "int8";
  if constexpr (std::is_same_v<T, std::uint8_t>) return "uint8";
  return "";
}

/// The type in which kernels compute and reduce T.
template <class T>
using Computed = std::conditional_t<sizeof(T) == 2 && !std::is_integral_v<T>, float, T>;

/// The memory of a kernel whose numbers are of type T.
template <class T>
class Operands : public DeviceMemory {
 public:
  /// Returns numbers that all floating types have: multiples of 1/32 between -2 and 2, times
  /// `scale`. With a scale of 32 they are integers.
  const T* numbers(std::size_t n, unsigned seed, double scale = 1, double added = 0) {
    std::mt19937 random(seed);
    std::vector<T> values(n);
    for (T& value : values) {
      const double number = static_cast<double>(random() % 127) - 63;
      value = from_double<T>(scale * number / 32 + added);
    }
    return upload(values);
  }
  T* results(std::size_t n) { return allocate<T>(n); }
  static std::string name(const std::string& op) { return op + "_" + type_name<T>(); }

  template <class U>
  std::vector<double> values(const U* device, std::size_t n) const {
    std::vector<double> made;
    for (const U value : download(device, n)) made.push_back(to_double(value));
    return made;
  }
};

/// How far a result may be from that of the other type, rounded: relative to it, or to 1.
struct Tolerance {
  double of_float16 = 0, of_bfloat16 = 0, of_others = 0;
  template <class T>
  double of() const {
    if (std::is_same_v<T, __half>) return of_float16;
    return std::is_same_v<T, __nv_bfloat16> ? of_bfloat16 : of_others;
  }
};
/// Of kernels that add up in another order, since packs are of other sizes: a unit in the last
/// place. Results that are float32 have less than that.
inline constexpr Tolerance kLastPlace{1.0 / 1024, 1.0 / 128, 1e-6};
inline constexpr Tolerance kOfFloats{1e-5, 1e-5, 1e-5};

/// Runs `run(Operands<T>&)` for the reference type and for each T; it returns the results as
/// doubles. Results of T are the reference's, rounded to T if `rounds`.
template <class Reference, class... T, class Run>
void check_like(const std::string& kernel, Run run, Tolerance tolerance = {}, bool rounds = true) {
  CAPTURE(kernel);
  Operands<Reference> memory;
  const std::vector<double> reference = run(memory);
  CHECK_FALSE(reference.empty());
  const auto check = [&]<class U>(Operands<U> own) {
    const std::string type = type_name<U>();
    CAPTURE(type);
    const std::vector<double> found = run(own);
    REQUIRE(found.size() == reference.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      double wanted = reference[i];
      if (rounds && std::is_same_v<Computed<U>, float>) wanted = to_double(from_double<U>(wanted));
      if (agrees(found[i], wanted, tolerance.of<U>())) continue;
      const double value = found[i];
      CAPTURE(i);
      CAPTURE(value);
      CAPTURE(wanted);
      FAIL_CHECK("a value is wrong");
      return;
    }
  };
  (check(Operands<T>()), ...);
}

/// Runs `run` for float32, float16 and bfloat16.
template <class Run>
void check_short(const std::string& kernel, Run run, Tolerance tolerance = {}, bool rounds = true) {
  check_like<float, __half, __nv_bfloat16>(kernel, run, tolerance, rounds);
}

}  // namespace towerflow::cuda::testing

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "core/graph/types.h"

namespace towerflow::types {

/// Element types, with the numbers of TensorFlow's DataType, which files store.
enum class DType : std::uint8_t {
  invalid = 0,
  float32 = 1,
  float64 = 2,
  int32 = 3,
  uint8 = 4,
  int16 = 5,
  int8 = 6,
  string = 7,
  complex64 = 8,
  int64 = 9,
  bool_ = 10,
  bfloat16 = 14,
  uint16 = 17,
  complex128 = 18,
  float16 = 19,
  resource = 20,
  uint32 = 22,
  uint64 = 23,
};

inline constexpr DType float16 = DType::float16;
inline constexpr DType bfloat16 = DType::bfloat16;
inline constexpr DType float32 = DType::float32;
inline constexpr DType float64 = DType::float64;
inline constexpr DType int8 = DType::int8;
inline constexpr DType int16 = DType::int16;
inline constexpr DType int32 = DType::int32;
inline constexpr DType int64 = DType::int64;
inline constexpr DType uint8 = DType::uint8;
inline constexpr DType uint16 = DType::uint16;
inline constexpr DType uint32 = DType::uint32;
inline constexpr DType uint64 = DType::uint64;
inline constexpr DType bool_ = DType::bool_;
inline constexpr DType string = DType::string;
inline constexpr DType resource = DType::resource;

}  // namespace towerflow::types

namespace towerflow {

/// Returns TensorFlow's name: "float32", "bool", "string".
const char* dtype_name(DType dtype) noexcept;

/// Returns the bytes of one element: sizeof(std::string) for string, sizeof(void*) for resource, 0
/// for invalid.
std::size_t dtype_size(DType dtype) noexcept;

bool is_floating(DType dtype) noexcept;  ///< float16, bfloat16, float32, float64
bool is_integer(DType dtype) noexcept;   ///< signed and unsigned integers, not bool
bool is_complex(DType dtype) noexcept;
/// Returns whether sizes, axes and indices may have this dtype: int32 or int64.
inline bool is_index(DType dtype) noexcept {
  return dtype == DType::int32 || dtype == DType::int64;
}
/// Returns whether a gradient can flow through a value of this type.
inline bool is_differentiable(DType dtype) noexcept {
  return is_floating(dtype) || is_complex(dtype);
}

/// Returns the DType of a C++ element type.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>)
    return DType::float32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::float64;
  else if constexpr (std::is_same_v<T, bool>)
    return DType::bool_;
  else if constexpr (std::is_same_v<T, std::string>)
    return DType::string;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    if constexpr (sizeof(T) == 1)
      return DType::int8;
    else if constexpr (sizeof(T) == 2)
      return DType::int16;
    else if constexpr (sizeof(T) == 4)
      return DType::int32;
    else
      return DType::int64;
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (sizeof(T) == 1)
      return DType::uint8;
    else if constexpr (sizeof(T) == 2)
      return DType::uint16;
    else if constexpr (sizeof(T) == 4)
      return DType::uint32;
    else
      return DType::uint64;
  } else {
    static_assert(std::is_same_v<T, float>, "no DType for this C++ type");
  }
}

/// Calls `f.template operator()<T>()` with the C++ type of an integer, float32, float64 or bool
/// `dtype`; returns false without calling it for any other dtype.
template <class F>
bool dispatch_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::float32:
      f.template operator()<float>();
      return true;
    case DType::float64:
      f.template operator()<double>();
      return true;
    case DType::int8:
      f.template operator()<std::int8_t>();
      return true;
    case DType::int16:
      f.template operator()<std::int16_t>();
      return true;
    case DType::int32:
      f.template operator()<std::int32_t>();
      return true;
    case DType::int64:
      f.template operator()<std::int64_t>();
      return true;
    case DType::uint8:
      f.template operator()<std::uint8_t>();
      return true;
    case DType::uint16:
      f.template operator()<std::uint16_t>();
      return true;
    case DType::uint32:
      f.template operator()<std::uint32_t>();
      return true;
    case DType::uint64:
      f.template operator()<std::uint64_t>();
      return true;
    case DType::bool_:
      f.template operator()<bool>();
      return true;
    default:
      return false;
  }
}

}  // namespace towerflow

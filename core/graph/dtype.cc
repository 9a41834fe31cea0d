#include "core/graph/dtype.h"

namespace towerflow {

const char* dtype_name(DType dtype) noexcept {
  switch (dtype) {
    case DType::invalid:
      return "invalid";
    case DType::float32:
      return "float32";
    case DType::float64:
      return "float64";
    case DType::int32:
      return "int32";
    case DType::uint8:
      return "uint8";
    case DType::int16:
      return "int16";
    case DType::int8:
      return "int8";
    case DType::string:
      return "string";
    case DType::complex64:
      return "complex64";
    case DType::int64:
      return "int64";
    case DType::bool_:
      return "bool";
    case DType::bfloat16:
      return "bfloat16";
    case DType::uint16:
      return "uint16";
    case DType::complex128:
      return "complex128";
    case DType::float16:
      return "float16";
    case DType::resource:
      return "resource";
    case DType::uint32:
      return "uint32";
    case DType::uint64:
      return "uint64";
  }
  return "invalid";
}

std::size_t dtype_size(DType dtype) noexcept {
  switch (dtype) {
    case DType::invalid:
      return 0;
    case DType::int8:
    case DType::uint8:
    case DType::bool_:
      return 1;
    case DType::int16:
    case DType::uint16:
    case DType::float16:
    case DType::bfloat16:
      return 2;
    case DType::int32:
    case DType::uint32:
    case DType::float32:
      return 4;
    case DType::int64:
    case DType::uint64:
    case DType::float64:
    case DType::complex64:
      return 8;
    case DType::complex128:
      return 16;
    case DType::string:
      return sizeof(std::string);
    case DType::resource:
      return sizeof(void*);
  }
  return 0;
}

bool is_floating(DType dtype) noexcept {
  return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::float16 ||
         dtype == DType::bfloat16;
}

bool is_complex(DType dtype) noexcept {
  return dtype == DType::complex64 || dtype == DType::complex128;
}

bool is_integer(DType dtype) noexcept {
  switch (dtype) {
    case DType::int8:
    case DType::int16:
    case DType::int32:
    case DType::int64:
    case DType::uint8:
    case DType::uint16:
    case DType::uint32:
    case DType::uint64:
      return true;
    default:
      return false;
  }
}

}  // namespace towerflow

#pragma once

#include <cublasLt.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <map>

namespace towerflow::cuda::host {

/// The attributes of a descriptor of cuBLASLt. The library checks nothing but names and sizes when
/// an attribute is set, and neither does this: values are judged by the calls that use them.
class BlasAttributes {
 public:
  template <typename T>
  void declare(int name, T initial) {
    static_assert(sizeof(T) <= sizeof(Value::bytes));
    Value& value = values_[name];
    value.size = sizeof(T);
    std::memcpy(value.bytes.data(), &initial, sizeof(T));
  }

  template <typename T>
  T get(int name) const {
    T value;
    std::memcpy(&value, values_.at(name).bytes.data(), sizeof(T));
    return value;
  }

  cublasStatus_t write(int name, const void* from, std::size_t size) {
    const auto found = values_.find(name);
    if (found == values_.end() || from == nullptr || size != found->second.size) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
    std::memcpy(found->second.bytes.data(), from, size);
    return CUBLAS_STATUS_SUCCESS;
  }

  /// A size of 0 asks for the number of bytes alone.
  cublasStatus_t read(int name, void* to, std::size_t size, std::size_t* written) const {
    const auto found = values_.find(name);
    if (found == values_.end()) return CUBLAS_STATUS_INVALID_VALUE;
    if (size == 0) {
      if (written == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
      *written = found->second.size;
      return CUBLAS_STATUS_SUCCESS;
    }
    if (to == nullptr || size != found->second.size) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(to, found->second.bytes.data(), size);
    if (written != nullptr) *written = size;
    return CUBLAS_STATUS_SUCCESS;
  }

 private:
  struct Value {
    std::size_t size = 0;
    std::array<std::byte, 8> bytes{};
  };
  std::map<int, Value> values_;
};

}  // namespace towerflow::cuda::host

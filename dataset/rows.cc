#include "dataset/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/graph/error.h"

namespace towerflow::data {

Shape row_shape(const Shape& shape) {
  return Shape(std::vector<Dim>(shape.dims().begin() + 1, shape.dims().end()));
}

void copy_elements(const Array& source, std::int64_t from, Array& target, std::int64_t to,
                   std::int64_t count) {
  if (count == 0) return;
  if (source.dtype() == DType::string) {
    std::copy_n(source.data<std::string>() + from, count, target.data<std::string>() + to);
    return;
  }
  const std::size_t size = dtype_size(source.dtype());
  std::memcpy(static_cast<std::byte*>(target.raw()) + static_cast<std::size_t>(to) * size,
              static_cast<const std::byte*>(source.raw()) + static_cast<std::size_t>(from) * size,
              static_cast<std::size_t>(count) * size);
}

std::int64_t integer_argument(const Array& value, const char* name) {
  if (value.elements() != 1) {
    throw errors::InvalidArgumentError(
        fmt::format("{} must be a scalar, not {}", name, value.shape().text()));
  }
  return value.data<std::int64_t>()[0];
}

}  // namespace towerflow::data

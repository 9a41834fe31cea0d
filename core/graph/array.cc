#include "core/graph/array.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "core/graph/error.h"
#include "core/graph/short_float.h"

namespace towerflow {
namespace {

std::shared_ptr<void> allocate(DType dtype, const Shape& shape) {
  const std::size_t bytes = std::max<std::size_t>(shape.bytes(dtype_size(dtype)), 1);
  if (dtype == DType::string) {
    const auto count = static_cast<std::size_t>(std::max<std::int64_t>(shape.elements(), 1));
    auto strings = std::make_shared<std::vector<std::string>>(count);
    return {strings, strings->data()};
  }
  const std::size_t rounded =
      (bytes + Array::kAlignment - 1) / Array::kAlignment * Array::kAlignment;
  void* memory = std::aligned_alloc(Array::kAlignment, rounded);
  if (memory == nullptr) {
    throw errors::ResourceExhaustedError(fmt::format("cannot allocate {} bytes", rounded));
  }
  return {memory, std::free};
}

}  // namespace

Array::Array(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)) {
  if (!shape_.fully_known()) {
    throw ValueError(fmt::format("an Array needs a fully known shape, got {}", shape_.text()));
  }
  elements_ = shape_.elements();
  data_ = allocate(dtype_, shape_);
}

Array::Array(DType dtype, Shape shape, std::shared_ptr<void> owner)
    : dtype_(dtype),
      shape_(std::move(shape)),
      elements_(shape_.elements()),
      data_(std::move(owner)) {}

Array Array::zeros(DType dtype, Shape shape) {
  Array array(dtype, std::move(shape));
  if (dtype != DType::string) std::memset(array.raw(), 0, array.bytes());
  return array;
}

Array Array::reshaped(Shape shape) const {
  if (shape.elements() != elements()) {
    throw ValueError(
        fmt::format("cannot reshape an Array of shape {} to {}", shape_.text(), shape.text()));
  }
  return Array(dtype_, std::move(shape), data_);
}

Array Array::copy() const {
  if (empty()) return {};
  Array other(dtype_, shape_);
  if (dtype_ == DType::string) {
    std::copy_n(static_cast<const std::string*>(raw()), elements(),
                static_cast<std::string*>(other.raw()));
  } else if (bytes() > 0) {
    std::memcpy(other.raw(), raw(), bytes());
  }
  return other;
}

bool Array::operator==(const Array& other) const {
  if (dtype_ != other.dtype_ || shape_ != other.shape_) return false;
  if (empty() || data_ == other.data_) return true;
  if (dtype_ == DType::string) {
    const auto *a = static_cast<const std::string*>(raw()),
               *b = static_cast<const std::string*>(other.raw());
    return std::equal(a, a + elements(), b);
  }
  return bytes() == 0 || std::memcmp(raw(), other.raw(), bytes()) == 0;
}

std::string Array::text(std::size_t limit) const {
  if (empty()) return "<empty>";
  std::string text = fmt::format("{} {} [", dtype_name(dtype_), shape_.text());
  const auto count = static_cast<std::size_t>(elements());
  const std::size_t shown = std::min(count, limit);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += ", ";
    if (dtype_ == DType::string) {
      text += fmt::format("'{}'", static_cast<const std::string*>(raw())[i]);
    } else if (is_short_float(dtype_)) {
      const auto bits = static_cast<const std::uint16_t*>(raw())[i];
      text += fmt::format("{}", with_fewest_digits(dtype_, bits));
    } else if (!dispatch_dtype(dtype_, [&]<class T>() {
                 const T value = static_cast<const T*>(raw())[i];
                 if constexpr (sizeof(T) == 1 && !std::is_same_v<T, bool>) {
                   text += fmt::format("{}", static_cast<int>(value));
                 } else {
                   text += fmt::format("{}", value);
                 }
               })) {
      text += "?";
    }
  }
  return text + (shown < count ? ", ...]" : "]");
}

void Array::check_dtype(DType wanted) const {
  if (dtype_ != wanted) {
    throw TypeError(fmt::format("Array has dtype {}, but {} was requested", dtype_name(dtype_),
                                dtype_name(wanted)));
  }
}

void Array::check_count(std::size_t count) const {
  if (static_cast<std::size_t>(elements()) != count) {
    throw ValueError(
        fmt::format("Array of shape {} has {} elements, not {}", shape_.text(), elements(), count));
  }
}

}  // namespace towerflow

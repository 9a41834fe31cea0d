#pragma once

#include <cstddef>
#include <cstring>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/graph/dtype.h"
#include "core/graph/shape.h"

namespace towerflow::types {

/// A concrete tensor value on the host: dtype, fully known shape, reference-counted buffer.
///
/// Copies share the buffer. Data is row-major, dense and aligned to 64 bytes. A default-constructed
/// Array is empty (dtype invalid, no data) and represents the result of an operation without
/// outputs.
class Array {
 public:
  static constexpr std::size_t kAlignment = 64;  ///< bytes

  Array() = default;
  /// Allocates uninitialized numbers or empty strings. Throws ValueError for a shape that is not
  /// fully known.
  Array(DType dtype, Shape shape);
  /// Wraps memory that `owner` points to and keeps alive; used for results stored in a frame.
  Array(DType dtype, Shape shape, std::shared_ptr<void> owner);

  template <class T>
  static Array scalar(T value) {
    Array array(dtype_of<T>(), Shape{});
    array.data<T>()[0] = std::move(value);
    return array;
  }
  /// Copies `values`. Throws ValueError if their number is not the shape's number of elements.
  template <class T>
  static Array of(Shape shape, std::span<const T> values) {
    Array array(dtype_of<T>(), std::move(shape));
    array.check_count(values.size());
    std::copy(values.begin(), values.end(), array.data<T>());
    return array;
  }
  template <class T>
  static Array of(Shape shape, const std::vector<T>& values) {
    return of<T>(std::move(shape), std::span<const T>(values));
  }
  static Array zeros(DType dtype, Shape shape);

  bool empty() const { return dtype_ == DType::invalid; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t elements() const { return elements_; }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * dtype_size(dtype_); }

  void* raw() { return data_.get(); }
  const void* raw() const { return data_.get(); }
  /// Returns the elements. Throws TypeError if T is not the element type.
  template <class T>
  T* data() {
    check_dtype(dtype_of<T>());
    return static_cast<T*>(data_.get());
  }
  template <class T>
  const T* data() const {
    check_dtype(dtype_of<T>());
    return static_cast<const T*>(data_.get());
  }
  /// Returns the elements, valid as long as this Array. Deleted for temporaries:
  /// `for (float x : sess.run(y).flat<float>())` would read freed memory.
  template <class T>
  std::span<const T> flat() const& {
    return {data<T>(), static_cast<std::size_t>(elements())};
  }
  template <class T>
  std::span<const T> flat() const&& = delete;
  /// Returns the only element. Throws ValueError if there is not exactly one.
  template <class T>
  T item() const {
    check_count(1);
    return data<T>()[0];
  }

  Array reshaped(Shape shape) const;  ///< shares the buffer
  Array copy() const;                 ///< has its own buffer
  const std::shared_ptr<void>& owner() const { return data_; }

  /// Returns whether dtype, shape and bits (for strings, the characters) are the same.
  bool operator==(const Array& other) const;

  /// Returns a text for messages, "float32 (2, 3) [1, 2, 3, ...]", with at most `limit` elements.
  std::string text(std::size_t limit = 8) const;

 private:
  void check_dtype(DType wanted) const;
  void check_count(std::size_t count) const;

  DType dtype_ = DType::invalid;
  Shape shape_;
  std::int64_t elements_ = 0;  ///< of the shape; cached, since loop conditions use it
  std::shared_ptr<void> data_;
};

/// Prints the values as NumPy does: rows in brackets, columns aligned, long arrays abbreviated with
/// "...".
std::ostream& operator<<(std::ostream& out, const Array& array);

}  // namespace towerflow::types

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
/// Array is empty: dtype invalid, no data; it stands for the result of an operation without output.
class Array {
 public:
  static constexpr std::size_t kAlignment = 64;  ///< bytes

  Array() = default;
  /// Uninitialised numbers, empty strings. Throws ValueError for a shape that is not fully known.
  Array(DType dtype, Shape shape);
  /// Wraps memory that `owner` keeps alive; used for results that live in a frame.
  Array(DType dtype, Shape shape, std::shared_ptr<void> owner);

  template <class T>
  static Array scalar(T value) {
    Array array(dtype_of<T>(), Shape{});
    array.data<T>()[0] = std::move(value);
    return array;
  }
  /// Throws ValueError when the number of values is not the shape's number of elements.
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
  /// The elements; throws TypeError when T is not the element type.
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
  /// The elements, for as long as this Array lives: `for (float x : sess.run(y).flat<float>())`
  /// would read those of one that is gone, and does not compile.
  template <class T>
  std::span<const T> flat() const& {
    return {data<T>(), static_cast<std::size_t>(elements())};
  }
  template <class T>
  std::span<const T> flat() const&& = delete;
  /// The only element; throws ValueError when there is not exactly one.
  template <class T>
  T item() const {
    check_count(1);
    return data<T>()[0];
  }

  Array reshaped(Shape shape) const;  ///< shares the buffer
  Array copy() const;                 ///< a buffer of its own
  const std::shared_ptr<void>& owner() const { return data_; }

  /// Same dtype and shape, and the same bits (strings: the same characters).
  bool operator==(const Array& other) const;

  /// "float32 (2, 3) [1, 2, 3, ...]", for messages; at most `limit` elements.
  std::string text(std::size_t limit = 8) const;

 private:
  void check_dtype(DType wanted) const;
  void check_count(std::size_t count) const;

  DType dtype_ = DType::invalid;
  Shape shape_;
  std::int64_t elements_ = 0;  ///< of the shape; counted once, as loops ask for it each time
  std::shared_ptr<void> data_;
};

/// The values as NumPy prints them: rows in brackets, columns aligned, "..." in what is long.
std::ostream& operator<<(std::ostream& out, const Array& array);

}  // namespace towerflow::types

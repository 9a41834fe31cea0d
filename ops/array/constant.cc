#include "ops/array/constant.h"

#include <fmt/format.h>

#include "core/graph/constant.h"
#include "core/graph/graph.h"
#include "core/graph/short_float.h"
#include "ops/array/cast_value.h"

namespace towerflow {
namespace {

Array cast_array(const Array& from, DType to) {
  if (is_short_float(from.dtype())) return cast_array(widened(from), to);
  if (is_short_float(to)) return narrowed(cast_array(from, DType::float32), to);
  Array result(to, from.shape());
  bool done = false;
  dispatch_dtype(from.dtype(), [&]<class From>() {
    done = dispatch_dtype(to, [&]<class To>() {
      for (std::int64_t i = 0; i < from.elements(); ++i) {
        result.data<To>()[i] = cast_value<From, To>(from.data<From>()[i]);
      }
    });
  });
  if (!done) {
    throw TypeError(fmt::format("an array of {} cannot become a constant of {}",
                                dtype_name(from.dtype()), dtype_name(to)));
  }
  return result;
}

template <class T>
void repeat_last(const Array& from, Array& to) {
  const T* in = from.data<T>();
  T* out = to.data<T>();
  const std::int64_t count = from.elements();
  for (std::int64_t i = 0; i < to.elements(); ++i) {
    out[i] = count == 0 ? T() : in[std::min(i, count - 1)];
  }
}

Array with_shape(const Array& value, const Shape& shape) {
  if (value.elements() == shape.elements()) return value.reshaped(shape);
  if (value.elements() > shape.elements()) {
    throw ValueError(fmt::format("Too many elements provided. Takes at most {}, but got {}.",
                                 shape.elements(), value.elements()));
  }
  if (is_short_float(value.dtype())) {
    return narrowed(with_shape(widened(value), shape), value.dtype());
  }
  Array result(value.dtype(), shape);
  if (value.dtype() == DType::string) {
    repeat_last<std::string>(value, result);
  } else if (!dispatch_dtype(value.dtype(), [&]<class T>() { repeat_last<T>(value, result); })) {
    throw TypeError(fmt::format("no constant of {} can be repeated", dtype_name(value.dtype())));
  }
  return result;
}

Array converted(const Array& given, const ConstantOptions& options) {
  const Array array = options.dtype && *options.dtype != given.dtype()
                          ? cast_array(given, *options.dtype)
                          : given.copy();
  return options.shape ? with_shape(array, *options.shape) : array;
}

Array converted(const Nested& given, const ConstantOptions& options) {
  // For an empty shape, TensorFlow does not look at the values, except for text.
  const bool empty = options.shape && options.shape->elements() == 0;
  if (empty && options.dtype && *options.dtype != DType::string) {
    return Array(*options.dtype, *options.shape);
  }
  const Array array = to_array(given, options.dtype);
  if (empty) return Array(array.dtype(), *options.shape);
  return options.shape ? with_shape(array, *options.shape) : array;
}

}  // namespace

Tensor constant(const Operand& value, ConstantOptions options, Site site) {
  Array array;
  try {
    if (value.any_tensor() != nullptr) {
      throw TypeError("Expected any non-tensor type, but got a tensor instead.",
                      {.hint = "tf::identity gives a tensor another name"});
    }
    if (options.shape && !options.shape->fully_known()) {
      throw ValueError(
          fmt::format("the shape {} of a constant is not fully known", options.shape->text()));
    }
    const Array* given = value.array();
    array = given != nullptr ? converted(*given, options) : converted(*value.nested(), options);
  } catch (const Error&) {
    rethrow_with({.site = site, .op = "Const"});
  }
  return make_constant(get_default_graph(), std::move(array),
                       options.name.empty() ? "Const" : options.name, site);
}

}  // namespace towerflow

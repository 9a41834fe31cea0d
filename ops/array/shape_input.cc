#include "ops/array/shape_input.h"

#include <fmt/format.h>

#include <limits>

#include "core/graph/evaluate.h"
#include "core/graph/graph.h"

namespace towerflow {
namespace {

/// The byte count of a larger tensor might not fit a signed 64-bit integer.
constexpr std::int64_t kMaxElements = std::numeric_limits<std::int64_t>::max() / 16;

std::int64_t integer_of(const Array& array, std::int64_t index) {
  return array.dtype() == DType::int32 ? array.data<std::int32_t>()[index]
                                       : array.data<std::int64_t>()[index];
}

Dim scalar_size(const Tensor& element) {
  Array value = constant_value(element);
  if (value.empty()) value = evaluate_constant(element);
  if (value.empty() || !is_index(value.dtype()) || value.elements() != 1) return None;
  const std::int64_t size = integer_of(value, 0);
  return size < 0 ? Dim(None) : Dim(size);
}

}  // namespace

Shape shape_from_input(const InferenceContext& context, std::size_t input) {
  if (!is_index(context.dtype(input))) {
    context.fail_type(fmt::format(
        "Value passed to parameter 'shape' has DataType {} not in list of allowed values: int32, "
        "int64",
        dtype_name(context.dtype(input))));
  }
  const Shape& vector = context.shape(input);
  if (!vector.has_rank()) return Shape::unknown();
  if (vector.rank() != 1) {
    context.fail(fmt::format("Shape must be rank 1 but is rank {}", vector.rank()));
  }
  const Array* value = context.constant(input);
  if (value == nullptr) {
    return vector[0].known() ? Shape::of_rank(static_cast<std::size_t>(vector.size(0)))
                             : Shape::unknown();
  }
  std::vector<Dim> dims;
  std::int64_t elements = 1;
  for (std::int64_t i = 0; i < value->elements(); ++i) {
    const std::int64_t size = integer_of(*value, i);
    if (size < -1) {
      context.fail(fmt::format("Invalid value in tensor used for shape: {}", size));
    }
    if (size > 0 && elements > kMaxElements / size) {
      context.fail(
          fmt::format("A shape whose first {} sizes give more than {} elements is too "
                      "large",
                      i + 1, kMaxElements));
    }
    if (size > 0) elements *= size;
    dims.push_back(size < 0 ? Dim(None) : Dim(size));
  }
  return Shape(std::move(dims));
}

Shape constant_value_as_shape(const Tensor& sizes) {
  const Operation op = sizes.op();
  if (op.type() == "Shape") return op.input(0).shape();
  if (op.type() == "Pack" && sizes.shape().rank() == 1) {
    std::vector<Dim> dims;
    for (const Tensor& element : op.inputs()) dims.push_back(scalar_size(element));
    return Shape(std::move(dims));
  }
  if (op.type() == "Cast") return constant_value_as_shape(op.input(0));
  if (op.type() == "ConcatV2") {
    Shape whole;
    for (std::size_t i = 0; i + 1 < op.num_inputs(); ++i) {
      const Shape part = constant_value_as_shape(op.input(i));
      if (!part.has_rank()) return Shape::unknown();
      whole = whole.concatenated(part);
    }
    return whole;
  }
  const Shape& vector = sizes.shape();
  const Array value = constant_value(sizes);
  if (!value.empty() && is_index(value.dtype()) && value.shape().rank() == 1) {
    std::vector<std::int64_t> known;
    for (std::int64_t i = 0; i < value.elements(); ++i) known.push_back(integer_of(value, i));
    return Shape(std::span<const std::int64_t>(known));
  }
  return vector.rank() == 1 && vector[0].known()
             ? Shape::of_rank(static_cast<std::size_t>(vector.size(0)))
             : Shape::unknown();
}

Shape static_shape(const Operand& operand) {
  if (operand.tensor() != nullptr) return operand.tensor()->shape();
  const Gradient* slices = operand.slices();
  if (slices == nullptr || !slices->slices().dense_shape) return Shape::unknown();
  return constant_value_as_shape(*slices->slices().dense_shape);
}

Tensor with_shape_from_sizes(Tensor made, const Tensor& sizes, Site site) {
  if (!made.shape().fully_known()) made.set_shape(constant_value_as_shape(sizes), site);
  return made;
}

}  // namespace towerflow

#include "ops/math/saturate_cast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/graph/op_builder.h"
#include "core/graph/short_float.h"
#include "ops/array/cast.h"
#include "ops/array/fill.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/select.h"
#include "ops/family.h"
#include "ops/math/binary.h"
#include "ops/math/sum_to_shape.h"
#include "ops/range_kernel.h"

namespace towerflow {
namespace {

void clip_by_value_shape(InferenceContext& context) {
  const DType dtype = context.dtype(0);
  if (dtype == DType::bool_ || dtype == DType::string)
    context.fail_type(fmt::format("ClipByValue takes numbers, not {}", dtype_name(dtype)));
  context.add_output(dtype, context.shape(0));
}

/// An element that is clipped passes its gradient to the bound.
std::vector<OptionalGradient> clip_by_value_gradient(const Operation& op,
                                                     const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const Tensor dy = dense_gradient(dys[0], site);
  const Tensor zeros = zeros_like(dy, {}, site);
  const Tensor is_low = less(op.input(0), op.input(1), {}, site);
  const Tensor is_high = greater(op.input(0), op.input(2), {}, site);
  const Tensor outside = logical_or(is_low, is_high, {}, site);
  const Tensor dx = where(outside, zeros, dy, {}, site);
  const Tensor dlow = sum_to_shape_of(where(is_low, dy, zeros, {}, site), op.input(1), site);
  const Tensor dhigh = sum_to_shape_of(where(is_high, dy, zeros, {}, site), op.input(2), site);
  return {dx, dlow, dhigh};
}

std::unique_ptr<PreparedKernel> clip_by_value_kernel(const KernelRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  std::int64_t steps[2];  // of the bounds: 0 for one number
  for (std::size_t i = 0; i < 2; ++i) {
    const Shape& bound = request.inputs[i + 1].shape;
    if (bound.rank() != 0 && bound != shape) {
      throw errors::InvalidArgumentError(fmt::format(
          "clip_value_min and clip_value_max must be either of the same shape as input, or a "
          "scalar. input shape: {}, clip_value_min shape: {}, clip_value_max shape: {}",
          shape.text(), request.inputs[1].shape.text(), request.inputs[2].shape.text()));
    }
    steps[i] = bound.rank() == 0 ? 0 : 1;
  }
  return for_real_type(request.inputs[0].dtype, [&]<class T>() {
    return elementwise_kernel(
        shape.elements(),
        [low_step = steps[0], high_step = steps[1]](SliceRange range, const void* const* inputs,
                                                    void* const* outputs) {
          const auto* x = static_cast<const T*>(inputs[0]);
          const auto* low = static_cast<const T*>(inputs[1]);
          const auto* high = static_cast<const T*>(inputs[2]);
          auto* y = static_cast<T*>(outputs[0]);
          for (std::int64_t i = range.begin; i < range.end; ++i) {
            const T below = std::min(x[i], high[i * high_step]);
            y[i] = std::max(below, low[i * low_step]);
          }
        },
        {{0, 0}});
  });
}

/// Returns the lowest, or the highest, number of a dtype.
long double limit_of(DType dtype, bool highest) {
  if (dtype == DType::float16) return highest ? 65504 : -65504;
  if (dtype == DType::bfloat16) return highest ? 0x1.FEp127L : -0x1.FEp127L;
  long double limit = 0;
  dispatch_dtype(dtype, [&]<class T>() {
    limit = static_cast<long double>(highest ? std::numeric_limits<T>::max()
                                             : std::numeric_limits<T>::lowest());
  });
  return limit;
}

/// Returns a scalar of dtype `in` that is the lowest, or the highest, number of both dtypes. A
/// number that `in` cannot represent is moved towards zero.
Array common_limit(DType in, DType out, bool highest) {
  const long double outer = limit_of(out, highest);
  if (is_short_float(in)) {
    const long double inner = limit_of(in, highest);
    const auto value =
        static_cast<float>(highest ? std::min(inner, outer) : std::max(inner, outer));
    Array limit = narrowed(Array::scalar(value), in);
    const auto rounded = static_cast<long double>(widened(limit).item<float>());
    if (std::abs(rounded) > std::abs(outer)) --*static_cast<std::uint16_t*>(limit.raw());
    return limit;
  }
  Array limit;
  dispatch_dtype(in, [&]<class T>() {
    const auto inner = static_cast<long double>(highest ? std::numeric_limits<T>::max()
                                                        : std::numeric_limits<T>::lowest());
    const bool is_inner = highest ? inner <= outer : inner >= outer;
    T value = static_cast<T>(is_inner ? inner : outer);
    if constexpr (std::is_floating_point_v<T>) {
      const auto rounded = static_cast<long double>(value);
      if (highest ? rounded > outer : rounded < outer) value = std::nextafter(value, T(0));
    }
    limit = Array::scalar(value);
  });
  return limit;
}

}  // namespace

static void register_saturate_cast_ops(OpRegistry& registry) {
  registry.add({.name = "ClipByValue",
                .inputs = {"t: T", "clip_value_min: T", "clip_value_max: T"},
                .outputs = {"output: T"},
                .shape = clip_by_value_shape,
                .gradient = clip_by_value_gradient});
}

static void register_saturate_cast_kernels(KernelTable& table) {
  table.add({.op = "ClipByValue", .label = "loop", .accepts = {}, .prepare = clip_by_value_kernel});
}

OpFamily saturate_cast_family() {
  return {.ops = register_saturate_cast_ops, .kernels = register_saturate_cast_kernels};
}

Tensor saturate_cast(const Operand& value, DType dtype, SaturateCastOptions options, Site site) {
  Graph& graph = graph_of(value);
  const NameScope scope(graph, options.name.empty() ? "saturate_cast" : options.name, site);
  const Tensor x = convert_operand(graph, value, "value", std::nullopt);
  for (const DType one : {x.dtype(), dtype}) {
    if (one != DType::bool_ && one != DType::string && one != DType::resource) continue;
    throw TypeError(fmt::format("saturate_cast takes numbers, not {}", dtype_name(one)),
                    {.site = site, .op = "saturate_cast"});
  }
  const Operand low(common_limit(x.dtype(), dtype, false), site);
  const Operand high(common_limit(x.dtype(), dtype, true), site);
  const Tensor lowest = convert_operand(graph, low, "Const", std::nullopt);
  const Tensor highest = convert_operand(graph, high, "Const", std::nullopt);
  const Tensor clamped = OpBuilder("ClipByValue", "clamp", site, {&value})
                             .input(x, "t", "T")
                             .input(lowest, "clip_value_min", "T")
                             .input(highest, "clip_value_max", "T")
                             .output();
  return cast(clamped, dtype, {.name = scope.name()}, site);
}

}  // namespace towerflow

#include "ops/math/range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"

namespace towerflow {
namespace {

constexpr std::int64_t kMaxLength = std::int64_t{1} << 40;

/// Returns the number of elements, or -1 for an invalid range.
template <class T>
std::int64_t length(T start, T limit, T delta) {
  if (delta == T(0) || (delta > T(0) ? start > limit : start < limit)) return -1;
  if (start != start || limit != limit || delta != delta) return -1;
  if constexpr (std::is_floating_point_v<T>) {
    const double n = std::ceil(std::abs((static_cast<double>(limit) - static_cast<double>(start)) /
                                        static_cast<double>(delta)));
    return n > static_cast<double>(kMaxLength) ? -1 : static_cast<std::int64_t>(n);
  } else {
    const auto span = delta > 0
                          ? static_cast<std::uint64_t>(limit) - static_cast<std::uint64_t>(start)
                          : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(limit);
    const auto step = delta > 0 ? static_cast<std::uint64_t>(delta)
                                : std::uint64_t{0} - static_cast<std::uint64_t>(delta);
    const std::uint64_t n = span / step + (span % step != 0);
    return n > static_cast<std::uint64_t>(kMaxLength) ? -1 : static_cast<std::int64_t>(n);
  }
}

template <class F>
bool dispatch_range(DType dtype, F&& f) {
  if (dtype != DType::int32 && dtype != DType::int64 && dtype != DType::float32 &&
      dtype != DType::float64) {
    return false;
  }
  return dispatch_dtype(dtype, [&]<class T>() {
    if constexpr (std::is_signed_v<T> && sizeof(T) >= 4) f.template operator()<T>();
  });
}

constexpr const char* kImpossible =
    "a range needs a delta that is not 0, a limit on its side of start, and below 2^40 elements";

void range_shape(InferenceContext& context) {
  const DType dtype = context.dtype(0);
  if (!dispatch_range(dtype, []<class T>() {})) {
    context.fail_type(fmt::format("a range of {}", dtype_name(dtype)));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (context.shape(i).has_rank() && context.shape(i).rank() != 0) {
      context.fail(fmt::format("Shape must be rank 0 but is rank {}: start, limit or delta",
                               context.shape(i).rank()));
    }
  }
  const Array* start = context.constant(0);
  const Array* limit = context.constant(1);
  const Array* delta = context.constant(2);
  if (start == nullptr || limit == nullptr || delta == nullptr) {
    return context.add_output(dtype, Shape{None});
  }
  std::int64_t n = -1;
  dispatch_range(
      dtype, [&]<class T>() { n = length(start->item<T>(), limit->item<T>(), delta->item<T>()); });
  if (n < 0) context.fail(kImpossible);
  context.add_output(dtype, Shape{n});
}

std::unique_ptr<PreparedKernel> range_kernel(const KernelRequest& request) {
  const DType dtype = request.outputs[0].dtype;
  const std::int64_t known = request.outputs[0].shape.elements();
  return function_kernel([dtype, known](const LaunchArgs& args) {
    dispatch_range(dtype, [&]<class T>() {
      const T start = *args.input<T>(0);
      const T delta = *args.input<T>(2);
      const std::int64_t n = length(start, *args.input<T>(1), delta);
      if (n < 0) throw errors::InvalidArgumentError(kImpossible);
      T* out = args.output<T>(0);
      if (out == nullptr && args.arrays != nullptr) {
        out = static_cast<T*>(args.arrays->allocate(0, Shape{n}));
      } else if (n != known) {
        throw errors::InvalidArgumentError(
            "a range does not have the length that the graph expects");
      }
      using Step = std::conditional_t<std::is_floating_point_v<T>, T, std::uint64_t>;
      Step value = static_cast<Step>(start);
      for (std::int64_t i = 0; i < n; ++i, value += static_cast<Step>(delta)) {
        out[i] = static_cast<T>(value);
      }
    });
  });
}

/// Returns the values of a short range of constants, such as the axes of a full reduction.
Array range_constant(const InferenceContext& context, std::span<const OutputSpec> outputs) {
  constexpr std::int64_t kShort = 64;
  const Shape& shape = outputs[0].shape;
  if (!shape.fully_known() || shape.elements() > kShort) return {};
  for (std::size_t i = 0; i < 3; ++i) {  // the length may be known without them
    if (context.constant(i) == nullptr) return {};
  }
  Array values(outputs[0].dtype, shape);
  dispatch_range(values.dtype(), [&]<class T>() {
    T value = context.constant(0)->item<T>();
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      values.data<T>()[i] = value;
      if (i + 1 < shape.elements()) value = static_cast<T>(value + context.constant(2)->item<T>());
    }
  });
  return values;
}

/// Returns the dtype that all numbers are converted to.
DType widest_dtype(const std::vector<Tensor>& numbers) {
  const auto rank = [](const Tensor& number) {
    const DType d = number.dtype();
    return d == DType::int32 ? 0 : d == DType::int64 ? 1 : d == DType::float32 ? 2 : 3;
  };
  return std::ranges::max(numbers, {}, rank).dtype();
}

}  // namespace

static void register_range_ops(OpRegistry& registry) {
  registry.add({.name = "Range",
                .inputs = {"start: Tidx", "limit: Tidx", "delta: Tidx"},
                .outputs = {"output: Tidx"},
                .shape = range_shape,
                .gradient = NoGradient{"TensorFlow defines no gradient for Range"},
                .constant = range_constant});
}

static void register_range_kernels(KernelTable& table) {
  table.add({.op = "Range", .label = "loop", .accepts = {}, .prepare = range_kernel});
}

OpFamily range_family() { return {.ops = register_range_ops, .kernels = register_range_kernels}; }

Tensor range(const Operand& start, const Operand& limit, const Operand& delta, RangeOptions options,
             Site site) {
  Graph& graph = graph_of(start.any_tensor() != nullptr ? start : limit, delta);
  const NameScope scope(graph, options.name.empty() ? "range" : options.name, site);
  std::vector<Tensor> numbers{convert_operand(graph, start, "start", std::nullopt)};
  numbers.push_back(convert_operand(graph, limit, "limit", std::nullopt));
  numbers.push_back(convert_operand(graph, delta, "delta", std::nullopt));
  const DType dtype = widest_dtype(numbers);
  for (Tensor& number : numbers) number = cast(number, dtype, {}, site);
  return OpBuilder("Range", scope.name(), site)
      .input(numbers[0], "start")
      .input(numbers[1], "limit")
      .input(numbers[2], "delta")
      .output();
}

Tensor range(const Operand& limit, RangeOptions options, Site site) {
  return range(0, limit, 1, std::move(options), site);
}

}  // namespace towerflow

#include "ops/math/bincount.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/device/cpu/launch.h"
#include "core/graph/constant.h"
#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/operands.h"
#include "ops/array/rank_size.h"
#include "ops/array/view.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/math/binary.h"
#include "ops/math/binary_functors.h"
#include "ops/math/reduce.h"

namespace towerflow {
namespace {

struct DenseBincountAttrs {
  bool binary_output = false;
  static constexpr auto fields =
      std::tuple{attr::field("binary_output", &DenseBincountAttrs::binary_output)};
};

struct FixedWidthAttrs {
  DType dtype = DType::int32;
  static constexpr auto fields = std::tuple{attr::field("dtype", &FixedWidthAttrs::dtype)};
};

bool is_counted(DType dtype) {
  return is_index(dtype) || dtype == DType::float32 || dtype == DType::float64;
}

/// Calls `f.template operator()<T>()` with the type of int32, int64, float32 or float64.
template <class F>
void dispatch_counted(DType dtype, F&& f) {
  if (dtype == DType::int32) return f.template operator()<std::int32_t>();
  if (dtype == DType::int64) return f.template operator()<std::int64_t>();
  if (dtype == DType::float32) return f.template operator()<float>();
  return f.template operator()<double>();
}

void require_counted(const InferenceContext& context, std::size_t input, const char* argument) {
  if (!is_counted(context.dtype(input))) {
    context.fail_type(
        fmt::format("Value passed to parameter '{}' has DataType {} not in list of "
                    "allowed values: int32, int64, float32, float64",
                    argument, dtype_name(context.dtype(input))));
  }
}

/// Returns the size of a vector that input `input` says, at least `least`.
Dim counted_size(const InferenceContext& context, std::size_t input, std::int64_t least,
                 const char* what) {
  if (context.shape(input).has_rank() && context.shape(input).rank() != 0) {
    context.fail(
        fmt::format("Shape must be rank 0 but is rank {}: {}", context.shape(input).rank(), what));
  }
  const Array* known = context.constant(input);
  if (known == nullptr) return Dim(None);
  const std::int64_t size = integers_of(*known).at(0);
  if (size < least)
    context.fail(fmt::format("{} must be at least {}, but is {}", what, least, size));
  return Dim(size);
}

void dense_bincount_shape(InferenceContext& context) {
  if (!is_index(context.dtype(0)) || context.dtype(1) != context.dtype(0)) {
    context.fail_type(fmt::format("values of {} with a size of {} cannot be counted",
                                  dtype_name(context.dtype(0)), dtype_name(context.dtype(1))));
  }
  require_counted(context, 2, "weights");
  const Shape& input = context.shape(0);
  const Dim size = counted_size(context, 1, 0, "the size of a bincount");
  if (!input.has_rank()) return context.add_output(context.dtype(2), Shape::unknown());
  if (input.rank() == 0 || input.rank() > 2) {
    context.fail(fmt::format("Shape must be rank 1 or 2 but is rank {}: the values of a bincount",
                             input.rank()));
  }
  context.add_output(context.dtype(2), input.rank() == 1 ? Shape{size} : Shape{input[0], size});
}

/// Counts in each row of the input.
template <class T>
void count_rows(const LaunchArgs& args, DType value_dtype, std::int64_t rows, std::int64_t columns,
                std::int64_t size, bool weighted, bool binary) {
  T* out = args.output<T>(0);
  std::fill_n(out, rows * size, T(0));
  for (std::int64_t row = 0, i = 0; row < rows; ++row) {
    T* counts = out + row * size;
    for (std::int64_t column = 0; column < columns; ++column, ++i) {
      const std::int64_t value = integer_at(value_dtype, args.inputs[0], i);
      if (value < 0) {
        throw errors::InvalidArgumentError(
            fmt::format("Input arr must be non-negative, but element {} is {}", i, value));
      }
      if (value >= size) continue;
      T& count = counts[value];
      if (binary)
        count = T(1);
      else
        count = functors::Add<T>()(count, weighted ? args.input<T>(2)[i] : T(1));
    }
  }
}

std::unique_ptr<PreparedKernel> dense_bincount_kernel(const KernelRequest& request) {
  const Shape &input = request.inputs[0].shape, &weights = request.inputs[2].shape;
  const std::int64_t size = integers_of(request.values.at(1)).at(0);
  if (size < 0) {
    throw errors::InvalidArgumentError(fmt::format("size ({}) must be non-negative", size));
  }
  const bool weighted = weights.elements() > 0;
  if (weighted && weights != input) {
    throw errors::InvalidArgumentError(
        fmt::format("`weights` must be the same shape as `arr` or a length-0 `Tensor`. Received {} "
                    "for {}",
                    weights.text(), input.text()));
  }
  if (input.rank() == 0 || input.rank() > 2) {
    throw errors::InvalidArgumentError(
        fmt::format("Shape must be at most rank 2 but is {}", input.text()));
  }
  const std::int64_t columns = input.size(-1), rows = input.rank() == 2 ? input.size(0) : 1;
  const bool binary = request.attributes<DenseBincountAttrs>().binary_output;
  return function_kernel([=, dtype = request.outputs[0].dtype,
                          values = request.inputs[0].dtype](const LaunchArgs& args) {
    dispatch_counted(dtype, [&]<class T>() {
      count_rows<T>(args, values, rows, columns, size, weighted, binary);
    });
  });
}

void fixed_width_shape(InferenceContext& context) {
  require_counted(context, 0, "values");
  if (context.dtype(1) != context.dtype(0)) {
    context.fail_type(fmt::format("a range of {} for values of {}", dtype_name(context.dtype(1)),
                                  dtype_name(context.dtype(0))));
  }
  if (context.dtype(2) != DType::int32) context.fail_type("the number of bins must be int32");
  const Shape& range = context.shape(1);
  if (!range.compatible(Shape{2})) {
    context.fail(
        fmt::format("value_range must be a vector of two elements, not of shape {}", range.text()));
  }
  const DType out = context.attrs<FixedWidthAttrs>().dtype;
  if (!is_index(out)) context.fail_type(fmt::format("a histogram of {}", dtype_name(out)));
  context.add_output(out, Shape{counted_size(context, 2, 1, "nbins")});
}

/// Counts `values` in bins; the arithmetic is TensorFlow's, which decides on which side of a border
/// a value falls.
template <class T, class Count>
void count_bins(const LaunchArgs& args, std::int64_t values, std::int64_t bins) {
  const T *x = args.input<T>(0), low = args.input<T>(1)[0], high = args.input<T>(1)[1];
  if (!(low < high)) {
    throw errors::InvalidArgumentError(fmt::format(
        "value_range should satisfy value_range[0] < value_range[1], but got [{}, {}]", low, high));
  }
  const double step = static_cast<double>(high - low) / static_cast<double>(bins);
  const auto last = static_cast<double>(bins - 1);
  Count* out = args.output<Count>(0);
  std::fill_n(out, bins, Count(0));
  for (std::int64_t i = 0; i < values; ++i) {
    if (x[i] != x[i]) {
      throw errors::InvalidArgumentError(fmt::format("values must not contain NaN: element {}", i));
    }
    const double place = static_cast<double>(functors::Sub<T>()(std::max(x[i], low), low)) / step;
    ++out[static_cast<std::int64_t>(std::min(place, last))];
  }
}

std::unique_ptr<PreparedKernel> fixed_width_kernel(const KernelRequest& request) {
  const std::int64_t bins = integers_of(request.values.at(2)).at(0);
  if (bins < 1)
    throw errors::InvalidArgumentError(fmt::format("nbins should be > 0, not {}", bins));
  if (request.inputs[1].shape != Shape{2}) {
    throw errors::InvalidArgumentError(
        fmt::format("value_range must be a vector of two elements, not of shape {}",
                    request.inputs[1].shape.text()));
  }
  const std::int64_t count = request.inputs[0].shape.elements();
  const bool wide = request.outputs[0].dtype == DType::int64;
  return function_kernel([=, dtype = request.inputs[0].dtype](const LaunchArgs& args) {
    dispatch_counted(dtype, [&]<class T>() {
      if (wide)
        count_bins<T, std::int64_t>(args, count, bins);
      else
        count_bins<T, std::int32_t>(args, count, bins);
    });
  });
}

}  // namespace

static void register_bincount_ops(OpRegistry& registry) {
  registry.add({.name = "DenseBincount",
                .inputs = {"input: Index(Tidx)", "size: Tidx", "weights: T"},
                .outputs = {"output: T"},
                .attrs = attributes<DenseBincountAttrs>(),
                .shape = dense_bincount_shape,
                .gradient = NoGradient{"TensorFlow defines no gradient for a bincount", false},
                .static_inputs = {1}});
  registry.add({.name = "HistogramFixedWidth",
                .inputs = {"values: T", "value_range: T", "nbins: int32"},
                .outputs = {"out: dtype"},
                .attrs = attributes<FixedWidthAttrs>(),
                .shape = fixed_width_shape,
                .gradient = NoGradient{"TensorFlow defines no gradient for a histogram", false},
                .static_inputs = {2}});
}

static void register_bincount_kernels(KernelTable& table) {
  table.add(
      {.op = "DenseBincount", .label = "loop", .accepts = {}, .prepare = dense_bincount_kernel});
  table.add(
      {.op = "HistogramFixedWidth", .label = "loop", .accepts = {}, .prepare = fixed_width_kernel});
}

OpFamily bincount_family() {
  return {.ops = register_bincount_ops, .kernels = register_bincount_kernels};
}

Tensor bincount(const Operand& arr, BincountOptions options, Site site) {
  Graph& graph = graph_of(arr, options.weights);
  const NameScope scope(graph, "bincount", site);
  Tensor values = convert_operand(graph, arr, "arr", std::nullopt);
  Tensor weights;
  if (!is_missing(options.weights)) {
    weights = convert_operand(graph, options.weights, "weights", std::nullopt);
  }
  if (!is_integer(values.dtype())) values = cast(values, DType::int32, {}, site);
  const Tensor number = size(values, {}, site);
  const Tensor any = greater(number, 0, {}, site);
  const Tensor counts = cast(any, values.dtype(), {}, site);
  const Tensor largest = reduce_max(values, {}, site);
  const Tensor more = Operand(largest, site) + 1;
  Tensor length = Operand(counts, site) * more;
  if (!is_missing(options.minlength)) {
    const Tensor least = convert_operand(graph, options.minlength, "minlength", values.dtype());
    length = maximum(least, length, {}, site);
  }
  if (!is_missing(options.maxlength)) {
    const Tensor most = convert_operand(graph, options.maxlength, "maxlength", values.dtype());
    length = minimum(most, length, {}, site);
  }
  if (weights.valid()) weights = reshape(weights, {-1}, {}, site);
  const Tensor flat = reshape(values, {-1}, {}, site);
  if (!weights.valid())
    weights = make_constant(graph, Array(options.dtype, Shape{0}), "Const", site);
  return OpBuilder("DenseBincount", "", site)
      .input(flat, "input")
      .input(length, "size")
      .input(weights, "weights")
      .attrs(DenseBincountAttrs{})
      .output();
}

Tensor histogram_fixed_width(const Operand& values, const Operand& value_range,
                             HistogramFixedWidthOptions options, Site site) {
  return OpBuilder("HistogramFixedWidth", options.name, "histogram_fixed_width", site,
                   {&values, &value_range, &options.nbins})
      .input(values, "values", "T")
      .input(value_range, "value_range", "T")
      .input(options.nbins, "nbins", DType::int32)
      .attrs(FixedWidthAttrs{options.dtype})
      .output();
}

}  // namespace towerflow

#include "ops/nn/bias_add.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/family.h"
#include "ops/nn/bias_add_attrs.h"
#include "ops/nn/kernels.h"
#include "ops/simd/kernels.h"
#include "ops/simd/loops.h"

namespace towerflow::nn {
namespace {

std::size_t channel_axis(const BiasAddAttrs& attrs, const Shape& value) {
  return attrs.format == DataFormat::nhwc ? value.rank() - 1 : 1;
}

void require_value(const InferenceContext& context) {
  const Shape& value = context.shape(0);
  const std::size_t least = context.attrs<BiasAddAttrs>().format == DataFormat::nchw ? 3 : 2;
  if (value.has_rank() && value.rank() < least) {
    fail_with_shapes(
        context, fmt::format("Shape must be at least rank {} but is rank {}", least, value.rank()));
  }
}

/// Returns whether the channels are the last dimension, so that broadcasting adds the bias.
bool channels_are_last(const Attrs& attrs, std::span<const OutputSpec>, const OutputSpec&) {
  return attrs.as<BiasAddAttrs>().format == DataFormat::nhwc;
}

void bias_add_shape(InferenceContext& context) {
  require_dtype(context, 0, "value", kRealNumbers);
  require_value(context);
  require_rank(context, 1, 1);
  const Shape& value = context.shape(0);
  const Shape& bias = context.shape(1);
  if (!value.has_rank() || !bias.has_rank()) return context.add_output(context.dtype(0), value);
  const std::size_t axis = channel_axis(context.attrs<BiasAddAttrs>(), value);
  if (value[axis].known() && bias[0].known() && value[axis] != bias[0]) {
    fail_with_shapes(context, fmt::format("Dimensions must be equal, but are {} and {}",
                                          value.size(axis), bias.size(0)));
  }
  std::vector<Dim> dims = value.dims();
  if (!dims[axis].known()) dims[axis] = bias[0];
  context.add_output(context.dtype(0), Shape(std::move(dims)));
}

void bias_add_grad_shape(InferenceContext& context) {
  require_value(context);
  const Shape& dy = context.shape(0);
  context.add_output(
      context.dtype(0),
      dy.has_rank() ? Shape{dy[channel_axis(context.attrs<BiasAddAttrs>(), dy)]} : Shape{None});
}

std::vector<OptionalGradient> bias_add_gradient(const Operation& op,
                                                const std::vector<OptionalGradient>& dys) {
  const Operand dy(dense_gradient(dys[0], op.site()), op.site());
  return {dys[0], OpBuilder("BiasAddGrad", "", op.site(), {&dy})
                      .input(dy, "out_backprop")
                      .attrs(op.attrs())
                      .output()};
}

/// Broadcasts the gradient to the elements of each channel by adding it, as a bias, to zeros.
std::vector<OptionalGradient> bias_add_grad_gradient(const Operation& op,
                                                     const std::vector<OptionalGradient>& dys) {
  const Operand dy(op.input(0), op.site());
  const Tensor zeros =
      OpBuilder("ZerosLike", "zeros_like", op.site(), {&dy}).input(dy, "x").output();
  return {OpBuilder("BiasAdd", "", op.site(), {&dy})
              .input(zeros, "value")
              .input(dense_gradient(dys[0], op.site()), "bias")
              .attrs(op.attrs())
              .output()};
}

/// The value viewed as [outer, channels, inner]; inner is 1 for NHWC.
struct Channels {
  std::int64_t outer = 1, channels = 1, inner = 1;
};

Channels channels_of(const KernelRequest& request) {
  const Shape& value = request.inputs[0].shape;
  const std::size_t axis = channel_axis(request.attributes<BiasAddAttrs>(), value);
  Channels c;
  for (std::size_t i = 0; i < axis; ++i) c.outer *= value.size(i);
  c.channels = value.size(axis);
  for (std::size_t i = axis + 1; i < value.rank(); ++i) c.inner *= value.size(i);
  return c;
}

std::unique_ptr<PreparedKernel> reference_bias_add(const KernelRequest& request) {
  const Channels c = channels_of(request);
  return for_real_type(request.inputs[0].dtype, [&]<class T>() {
    return rows_kernel(c.outer, c.channels * c.inner,
                       [c](SliceRange rows, const void* const* inputs, void* const* outputs) {
                         const std::int64_t first = rows.begin * c.channels * c.inner;
                         const T* x = in<T>(inputs, 0) + first;
                         const T* bias = in<T>(inputs, 1);
                         T* y = out<T>(outputs, 0) + first;
                         for (std::int64_t row = 0; row < rows.size(); ++row) {
                           if (c.inner == 1) {
                             for (std::int64_t k = 0; k < c.channels; ++k)
                               y[row * c.channels + k] =
                                   static_cast<T>(x[row * c.channels + k] + bias[k]);
                             continue;
                           }
                           for (std::int64_t k = 0; k < c.channels; ++k)
                             for (std::int64_t i = 0; i < c.inner; ++i) {
                               const std::int64_t at = (row * c.channels + k) * c.inner + i;
                               y[at] = static_cast<T>(x[at] + bias[k]);
                             }
                         }
                       },
                       {{0, 0}});
  });
}

std::unique_ptr<PreparedKernel> reference_bias_add_grad(const KernelRequest& request) {
  const Channels c = channels_of(request);
  return for_real_type(request.inputs[0].dtype, [&]<class T>() {
    return function_kernel(
        [c](const LaunchArgs& args) {
          const T* dy = args.input<T>(0);
          T* sums = args.output<T>(0);
          std::fill_n(sums, c.channels, T(0));
          for (std::int64_t i = 0; i < c.outer * c.channels * c.inner; ++i) {
            T& sum = sums[i / c.inner % c.channels];
            sum = static_cast<T>(sum + dy[i]);
          }
        },
        {.may_fail = false});
  });
}

std::unique_ptr<PreparedKernel> simd_bias_add(const KernelRequest& request) {
  const Channels c = channels_of(request);
  return rows_kernel(c.outer, c.channels,
                     [c](SliceRange rows, const void* const* inputs, void* const* outputs) {
                       const auto add =
                           simd::loops().binary_row_right[static_cast<int>(simd::Binary::add)];
                       const std::int64_t first = rows.begin * c.channels;
                       add(in<float>(inputs, 0) + first, in<float>(inputs, 1),
                           out<float>(outputs, 0) + first, rows.size(), c.channels);
                     },
                     {{0, 0}});
}

std::unique_ptr<PreparedKernel> simd_bias_add_grad(const KernelRequest& request) {
  const Channels c = channels_of(request);
  const std::int64_t images = request.inputs[0].shape.size(0);
  return sliced_kernel(
      simd::make_channel_sums(images, images > 0 ? c.outer / images : 0, c.channels));
}

bool is_fast(const KernelRequest& request) {
  return request.inputs[0].dtype == DType::float32 &&
         request.attributes<BiasAddAttrs>().format == DataFormat::nhwc;
}

DataFormat parse_channels(const std::string& text, Site site) {
  if (text.empty() || text == "NHWC") return DataFormat::nhwc;
  if (text.starts_with("NC")) return DataFormat::nchw;
  if (text.starts_with("N") && text.ends_with("C")) return DataFormat::nhwc;
  throw ValueError(
      fmt::format("`data_format` must be of the form `N...C` or `NC...`. Received: data_format={}",
                  text),
      {.site = site, .op = "BiasAdd"});
}

}  // namespace

static void register_bias_add_ops(OpRegistry& registry) {
  registry.add({.name = "BiasAdd",
                .inputs = {"value: T", "bias: T"},
                .outputs = {"output: T"},
                .attrs = attributes<BiasAddAttrs>(),
                .shape = bias_add_shape,
                .gradient = bias_add_gradient,
                .elementwise = channels_are_last});
  registry.add({.name = "BiasAddGrad",
                .inputs = {"out_backprop: T"},
                .outputs = {"output: T"},
                .attrs = attributes<BiasAddAttrs>(),
                .shape = bias_add_grad_shape,
                .gradient = bias_add_grad_gradient});
}

static void register_bias_add_kernels(KernelTable& table) {
  table.add({.op = "BiasAdd", .label = "simd", .accepts = is_fast, .prepare = simd_bias_add});
  add_kernel(table, "BiasAdd", "reference", 0, kRealNumbers, reference_bias_add);
  table.add(
      {.op = "BiasAddGrad", .label = "simd", .accepts = is_fast, .prepare = simd_bias_add_grad});
  add_kernel(table, "BiasAddGrad", "reference", 0, kRealNumbers, reference_bias_add_grad);
}

Tensor bias_add(const Operand& value, const Operand& bias, BiasAddOptions options, Site site) {
  const DataFormat format = parse_channels(options.data_format, site);
  OpBuilder builder("BiasAdd", options.name, site, {&value, &bias});
  builder.attrs(BiasAddAttrs{format}).input(value, "input", "T");
  // TensorFlow first converts the bias to the dtype of the value, which fails for a tensor of
  // another dtype. If the value is a reference (the output of an assign), its dtype differs from
  // that of any tensor.
  const Tensor& input = builder.tensors()[0];
  const bool is_ref = input.node().outputs[static_cast<std::size_t>(input.index())].is_ref;
  if (const Tensor* given = bias.tensor();
      given != nullptr && (is_ref || given->dtype() != input.dtype())) {
    throw ValueError(
        fmt::format("Tensor conversion requested dtype {}{} for Tensor with dtype {}: {}",
                    dtype_name(input.dtype()), is_ref ? "_ref" : "", dtype_name(given->dtype()),
                    given->name()),
        {.site = site, .op = "BiasAdd", .hint = "tf::cast the bias; tf::identity an assignment"});
  }
  return builder.input(bias, "bias", "T").output();
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily bias_add_family() {
  return {.ops = nn::register_bias_add_ops, .kernels = nn::register_bias_add_kernels};
}
}  // namespace towerflow

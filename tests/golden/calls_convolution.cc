// Plain calls of convolutions and pooling.
#include "ops/nn/conv2d.h"
#include "ops/nn/convolution.h"
#include "ops/nn/depthwise_conv2d.h"
#include "ops/nn/max_pool_with_argmax.h"
#include "ops/nn/pool.h"
#include "ops/nn/separable_conv2d.h"
#include "tests/golden/call.h"

namespace towerflow::golden {
namespace {

/// Returns one number or a list of them.
nn::Extents extents(const Args& args, const char* name) {
  if (const auto* both = args.value(name).get_if<std::int64_t>()) return static_cast<int>(*both);
  return nn::Extents(integers(args, name));
}

/// Returns "SAME", "VALID" or explicit numbers.
nn::WindowPadding padding_of(const Args& args) {
  if (args.value("padding").list() == nullptr) return args.text("padding");
  nn::WindowPadding::Numbers numbers;
  for (const Value& pair : args.list("padding")) {
    numbers.emplace_back();
    for (const Value& number : *pair.list()) {
      numbers.back().push_back(static_cast<int>(*number.get_if<std::int64_t>()));
    }
  }
  return numbers;
}

template <class O>
O window_options(const Args& args) {
  return with<O>(args, "data_format", &O::data_format, "dilations", &O::dilations);
}

using FromSizes = Tensor (*)(const Operand&, const Operand&, const Operand&, const nn::Extents&,
                             const nn::WindowPadding&, nn::Conv2DOptions, Site);
using NativeFromSizes = Tensor (*)(const Operand&, const Operand&, const Operand&,
                                   const nn::Extents&, const nn::WindowPadding&,
                                   nn::DepthwiseConv2DNativeOptions, Site);

template <auto kFunction, class Options>
void add_backprop(HandlerTable& table, const char* op, const char* first, const char* second) {
  add_call(table, op, [=](const Args& a) {
    return kFunction(a.operand(first), a.operand(second), a.operand("out_backprop"),
                     extents(a, "strides"), padding_of(a), window_options<Options>(a),
                     Site::current());
  });
}

void add_conv2d(HandlerTable& table) {
  add_call(table, "conv2d", [](const Args& a) {
    return nn::conv2d(a.operand("input"), a.operand("filter"), extents(a, "strides"), padding_of(a),
                      window_options<nn::Conv2DOptions>(a));
  });
  add_backprop<static_cast<FromSizes>(nn::conv2d_backprop_input), nn::Conv2DOptions>(
      table, "conv2d_backprop_input", "input_sizes", "filter");
  add_backprop<static_cast<FromSizes>(nn::conv2d_backprop_filter), nn::Conv2DOptions>(
      table, "conv2d_backprop_filter", "input", "filter_sizes");
  add_call(table, "conv2d_transpose", [](const Args& a) {
    using O = nn::Conv2DOptions;
    return nn::conv2d_transpose(
        a.operand("value"), a.operand("filter"), a.operand("output_shape"), extents(a, "strides"),
        a.has("padding") ? padding_of(a) : nn::WindowPadding("SAME"), window_options<O>(a));
  });
  add_call(table, "depthwise_conv2d_native", [](const Args& a) {
    return nn::depthwise_conv2d_native(a.operand("input"), a.operand("filter"),
                                       extents(a, "strides"), padding_of(a),
                                       window_options<nn::DepthwiseConv2DNativeOptions>(a));
  });
  add_backprop<static_cast<NativeFromSizes>(nn::depthwise_conv2d_backprop_input),
               nn::DepthwiseConv2DNativeOptions>(table, "depthwise_conv2d_backprop_input",
                                                 "input_sizes", "filter");
  add_backprop<static_cast<NativeFromSizes>(nn::depthwise_conv2d_backprop_filter),
               nn::DepthwiseConv2DNativeOptions>(table, "depthwise_conv2d_backprop_filter", "input",
                                                 "filter_sizes");
  add_call(table, "depthwise_conv2d", [](const Args& a) {
    using O = nn::DepthwiseConv2DOptions;
    return nn::depthwise_conv2d(a.operand("input"), a.operand("filter"), extents(a, "strides"),
                                padding_of(a),
                                with<O>(a, "rate", &O::rate, "data_format", &O::data_format));
  });
  add_call(table, "separable_conv2d", [](const Args& a) {
    using O = nn::DepthwiseConv2DOptions;
    return nn::separable_conv2d(a.operand("input"), a.operand("depthwise_filter"),
                                a.operand("pointwise_filter"), extents(a, "strides"), padding_of(a),
                                with<O>(a, "rate", &O::rate, "data_format", &O::data_format));
  });
}

void add_convolutions(HandlerTable& table) {
  add_call(table, "conv1d", [](const Args& a) {
    return nn::conv1d(a.operand("value"), a.operand("filters"), read<int>(a, "stride"),
                      a.text("padding"), window_options<nn::Conv1DOptions>(a));
  });
  add_call(table, "convolution", [](const Args& a) {
    using O = nn::ConvolutionOptions;
    return nn::convolution(a.operand("input"), a.operand("filter"), padding_of(a),
                           with<O>(a, "strides", &O::strides, "dilation_rate", &O::dilation_rate,
                                   "data_format", &O::data_format));
  });
  add_call(table, "atrous_conv2d", [](const Args& a) {
    return nn::atrous_conv2d(a.operand("value"), a.operand("filters"), read<int>(a, "rate"),
                             padding_of(a), with<nn::AtrousConv2DOptions>(a));
  });
  add_call(table, "atrous_conv2d_transpose", [](const Args& a) {
    return nn::atrous_conv2d_transpose(a.operand("value"), a.operand("filters"),
                                       integers(a, "output_shape"), read<int>(a, "rate"),
                                       a.text("padding"), with<nn::AtrousConv2DOptions>(a));
  });
}

void add_pools(HandlerTable& table) {
  add_call(table, "max_pool", [](const Args& a) {
    using O = nn::PoolOptions;
    return nn::max_pool(a.operand("value"), extents(a, "ksize"), extents(a, "strides"),
                        padding_of(a), with<O>(a, "data_format", &O::data_format));
  });
  add_call(table, "avg_pool", [](const Args& a) {
    using O = nn::PoolOptions;
    return nn::avg_pool(a.operand("value"), extents(a, "ksize"), extents(a, "strides"),
                        a.text("padding"), with<O>(a, "data_format", &O::data_format));
  });
  add_call(table, "pool", [](const Args& a) {
    using O = nn::PoolingOptions;
    return nn::pool(a.operand("input"), integers(a, "window_shape"), a.text("pooling_type"),
                    a.text("padding"),
                    with<O>(a, "dilation_rate", &O::dilation_rate, "strides", &O::strides,
                            "data_format", &O::data_format));
  });
  add_call(table, "max_pool_with_argmax", [](const Args& a) {
    using O = nn::MaxPoolWithArgmaxOptions;
    const auto best = nn::max_pool_with_argmax(
        a.operand("input"), extents(a, "ksize"), extents(a, "strides"), a.text("padding"),
        with<O>(a, "Targmax", &O::Targmax, "include_batch_in_index", &O::include_batch_in_index));
    return List{best.output, best.argmax};
  });
}

}  // namespace

void add_convolution_calls(HandlerTable& table) {
  add_conv2d(table);
  add_convolutions(table);
  add_pools(table);
}

}  // namespace towerflow::golden

#include "layers/convolutional.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/op_builder.h"
#include "layers/conv_body.h"
#include "layers/format.h"
#include "ops/array/pad.h"
#include "ops/array/shape_of.h"
#include "ops/array/stack.h"
#include "ops/array/strided_slice.h"
#include "ops/math/binary.h"
#include "ops/nn/bias_add.h"
#include "ops/nn/conv2d.h"
#include "ops/nn/convolution.h"
#include "ops/nn/separable_conv2d.h"

namespace towerflow::layers {
namespace {

LayerOptions common_conv_options(const ConvOptions& options) {
  return {.trainable = options.trainable,
          .name = options.name,
          .dtype = options.dtype,
          .reuse = options.reuse,
          .scope = options.scope,
          .activity_regularizer = options.activity_regularizer};
}

std::string upper_case_of(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

class Conv2DBody final : public ConvBody {
 public:
  Conv2DBody(int filters, const nn::Extents& kernel_size, ConvOptions options, Site site)
      : ConvBody("conv2d", 2, filters, kernel_size, std::move(options), site) {}

 protected:
  Tensor call(const Tensor& inputs, Site site) override {
    return finish(
        nn::convolution(Operand(inputs, site), Operand(kernel, site), upper_case_of(padding_),
                        {.strides = strides_,
                         .name = "Conv2D",
                         .data_format = image_format(),
                         .dilations = rates_},
                        site),
        site);
  }
};

class Conv1DBody final : public ConvBody {
 public:
  Conv1DBody(int filters, const nn::Extents& kernel_size, ConvOptions options, Site site)
      : ConvBody("conv1d", 1, filters, kernel_size, std::move(options), site) {}

 protected:
  Tensor call(const Tensor& inputs, Site site) override {
    Tensor x = inputs;
    if (padding_ == "causal") x = padded_in_front(x, site);
    const std::string padding = padding_ == "same" ? "SAME" : "VALID";
    return finish(nn::convolution(Operand(x, site), Operand(kernel, site), padding,
                                  {.strides = strides_,
                                   .name = "Conv1D",
                                   .data_format = channels_first_ ? "NCW" : "NWC",
                                   .dilations = rates_},
                                  site),
                  site);
  }

 private:
  Tensor padded_in_front(const Tensor& x, Site site) const {
    std::vector<Nested> paddings(3, Nested({0, 0}));
    paddings[channels_first_ ? 2 : 1] = Nested({rates_[0] * (size_[0] - 1), 0});
    return pad(Operand(x, site), Operand(Nested(std::move(paddings)), site), "CONSTANT", {}, site);
  }
};

class Conv2DTransposeBody final : public ConvBody {
 public:
  Conv2DTransposeBody(int filters, const nn::Extents& kernel_size, ConvOptions options, Site site)
      : ConvBody("conv2d_transpose", 2, filters, kernel_size, std::move(options), site) {
    if (rates_ == std::vector<int>{1, 1}) return;
    throw errors::UnimplementedError("there are no dilated transposed convolutions",
                                     {.site = site, .op = name(), .hint = "use a rate of 1"});
  }

 protected:
  Shape kernel_shape(Dim channels) const override {
    return {size_[0], size_[1], filters_, channels};
  }
  void check_image(const Shape&, Site) const override {}

  Tensor call(const Tensor& inputs, Site site) override {
    const Tensor sizes = towerflow::shape(Operand(inputs, site), {}, site);
    const Tensor batch = take_index(sizes, 0, site);
    const int rows_axis = channels_first_ ? 2 : 1;
    const Nested rows = length_of(inputs, sizes, rows_axis, site);
    const Nested columns = length_of(inputs, sizes, rows_axis + 1, site);
    const Nested height = enlarged(rows, 0, site);
    const Nested width = enlarged(columns, 1, site);
    const OperandList target = channels_first_
                                   ? OperandList{Operand(batch, site), Operand(filters_, site),
                                                 Operand(height, site), Operand(width, site)}
                                   : OperandList{Operand(batch, site), Operand(height, site),
                                                 Operand(width, site), Operand(filters_, site)};
    const Tensor shape = stack(target, {}, site);
    take_index(shape, 0, site);  // TensorFlow looks whether it is None
    Tensor result = nn::conv2d_transpose(
        Operand(inputs, site), Operand(kernel, site), Operand(shape, site), all_strides(),
        upper_case_of(padding_), {.data_format = image_format()}, site);
    set_known_shape(result, inputs.shape(), site);
    return finish(result, site);
  }

 private:
  static Nested length_of(const Tensor& inputs, const Tensor& sizes, int axis, Site site) {
    const Dim dim = inputs.shape()[axis];
    return dim.known() ? Nested(dim.size()) : Nested(take_index(sizes, axis, site));
  }

  /// Returns the number of elements that a window of dimension `i` adds to the enlarged ones.
  std::int64_t overlap(std::size_t i) const {
    return padding_ == "valid" ? std::max(size_[i] - strides_[i], 0) : 0;
  }

  Nested enlarged(const Nested& length, std::size_t i, Site site) const {
    const std::int64_t stride = strides_[i];
    if (const auto* number = std::get_if<std::int64_t>(&length.value())) {
      return Nested(*number * stride + overlap(i));
    }
    const Tensor scaled = Operand(length, site) * Operand(stride, site);
    if (padding_ != "valid") return Nested(scaled);
    return Nested(Operand(scaled, site) + Operand(overlap(i), site));
  }

  void set_known_shape(Tensor& result, const Shape& inputs, Site site) const {
    if (!inputs.has_rank()) return;
    std::vector<Dim> dims = inputs.dims();
    const std::size_t rows = channels_first_ ? 2 : 1;
    for (std::size_t i = 0; i < 2; ++i) {
      if (!dims[rows + i].known()) continue;
      dims[rows + i] = dims[rows + i].size() * strides_[i] + overlap(i);
    }
    dims[channels_first_ ? 1 : 3] = filters_;
    result.set_shape(Shape(std::move(dims)), site);
  }
};

class SeparableConv2DBody final : public ConvBody {
 public:
  SeparableConv2DBody(int filters, const nn::Extents& kernel_size, SeparableConvOptions options,
                      Site site)
      : ConvBody("separable_conv2d", 2, filters, kernel_size, common_options(options), site),
        own_(std::move(options)) {}

  Variable depthwise_kernel, pointwise_kernel;

 protected:
  void build(const Shape& shape, Site site) override {
    const Dim channels = channels_of(shape, site);
    input_spec.ndim = 4;
    input_spec.axes = {{channel_axis(), channels.size()}};
    depthwise_kernel =
        add_weight("depthwise_kernel", {size_[0], size_[1], channels, own_.depth_multiplier},
                   {.initializer = own_.depthwise_initializer,
                    .regularizer = own_.depthwise_regularizer,
                    .constraint = own_.depthwise_constraint},
                   site);
    pointwise_kernel =
        add_weight("pointwise_kernel", {1, 1, own_.depth_multiplier * channels.size(), filters_},
                   {.initializer = own_.pointwise_initializer,
                    .regularizer = own_.pointwise_regularizer,
                    .constraint = own_.pointwise_constraint},
                   site);
    add_bias(site);
  }

  Tensor call(const Tensor& inputs, Site site) override {
    return finish(nn::separable_conv2d(Operand(inputs, site), Operand(depthwise_kernel, site),
                                       Operand(pointwise_kernel, site), all_strides(),
                                       upper_case_of(padding_),
                                       {.data_format = image_format(), .dilations = rates_}, site),
                  site);
  }

 private:
  static ConvOptions common_options(const SeparableConvOptions& options) {
    return {.strides = options.strides,
            .padding = options.padding,
            .data_format = options.data_format,
            .dilation_rate = options.dilation_rate,
            .activation = options.activation,
            .use_bias = options.use_bias,
            .bias_initializer = options.bias_initializer,
            .bias_regularizer = options.bias_regularizer,
            .activity_regularizer = options.activity_regularizer,
            .bias_constraint = options.bias_constraint,
            .trainable = options.trainable,
            .name = options.name,
            .reuse = options.reuse,
            .scope = options.scope,
            .dtype = options.dtype};
  }

  SeparableConvOptions own_;
};

}  // namespace

ConvBody::ConvBody(const char* class_name, int rank, int filters, const nn::Extents& kernel_size,
                   ConvOptions options, Site site)
    : LayerBody(class_name, common_conv_options(options), site),
      rank_(rank),
      filters_(filters),
      options_(std::move(options)),
      channels_first_(parse_channels_first(options_.data_format, name(), site)) {
  if (filters <= 0) {
    throw ValueError(fmt::format("Invalid value for argument `filters`. Expected a strictly "
                                 "positive value. Received filters={}.",
                                 filters),
                     {.site = site, .op = name()});
  }
  size_ = window_sizes(kernel_size, rank, "kernel_size", name(), site);
  strides_ = window_sizes(options_.strides.extents(), rank, "strides", name(), site);
  padding_ = parse_layer_padding(options_.padding, rank == 1, name(), site);
  rates_ = window_sizes(options_.dilation_rate.extents(), rank, "dilation_rate", name(), site);
  if (*std::max_element(strides_.begin(), strides_.end()) > 1 &&
      *std::max_element(rates_.begin(), rates_.end()) > 1) {
    throw ValueError("`strides > 1` not supported in conjunction with `dilation_rate > 1`.",
                     {.site = site, .op = name()});
  }
  input_spec.min_ndim = static_cast<std::size_t>(rank) + 2;
}

Dim ConvBody::channels_of(const Shape& shape, Site site) const {
  const Dim channels = shape.has_rank() ? shape[channel_axis()] : Dim(None);
  if (channels.known()) return channels;
  throw ValueError(fmt::format("The channel dimension of the inputs should be defined. The "
                               "input_shape received is {}, where axis {} (0-based) is the channel "
                               "dimension, which found to be `None`.",
                               shape.text(), channel_axis()),
                   {.site = site, .op = name(), .hint = "set the shape of the inputs"});
}

Shape ConvBody::kernel_shape(Dim channels) const {
  std::vector<Dim> dims(size_.begin(), size_.end());
  dims.push_back(channels);
  dims.emplace_back(filters_);
  return Shape(std::move(dims));
}

void ConvBody::check_image(const Shape& shape, Site site) const {
  if (!shape.has_rank() || padding_ != "valid") return;
  for (int i = 0; i < rank_; ++i) {
    const Dim length = shape[i + (channels_first_ ? 2 : 1)];
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t window = (size_[at] - 1) * rates_[at] + 1;
    if (!length.known() || length.size() - window + strides_[at] >= 0) continue;
    throw ValueError(
        fmt::format("One of the dimensions in the output is <= 0 due to downsampling in {}. "
                    "Consider increasing the input size. Received input shape {}",
                    name(), shape.text()),
        {.site = site});
  }
}

void ConvBody::build(const Shape& shape, Site site) {
  const Dim channels = channels_of(shape, site);
  check_image(shape, site);
  kernel = add_weight("kernel", kernel_shape(channels),
                      {.initializer = options_.kernel_initializer,
                       .regularizer = options_.kernel_regularizer,
                       .constraint = options_.kernel_constraint},
                      site);
  add_bias(site);
  input_spec.axes = {{channel_axis(), channels.size()}};
}

void ConvBody::add_bias(Site site) {
  if (!options_.use_bias) return;
  bias = add_weight("bias", {filters_},
                    {.initializer = options_.bias_initializer,
                     .regularizer = options_.bias_regularizer,
                     .constraint = options_.bias_constraint},
                    site);
}

Tensor ConvBody::finish(Tensor result, Site site) const {
  if (options_.use_bias) {
    const std::string format = channels_first_ ? "NCHW" : "NHWC";
    result =
        nn::bias_add(Operand(result, site), Operand(bias, site), {.data_format = format}, site);
  }
  return options_.activation ? options_.activation(result, site) : result;
}

std::vector<int> ConvBody::all_strides() const {
  std::vector<int> all = strides_;
  all.insert(all.begin(), static_cast<std::size_t>(channels_first_ ? 2 : 1), 1);
  if (!channels_first_) all.push_back(1);
  return all;
}

Tensor conv2d(const Operand& inputs, int filters, const nn::Extents& kernel_size,
              ConvOptions options, Site site) {
  const DefaultGraphGuard graph(graph_of(inputs));
  options.scope = options.name;
  return Conv2D(filters, kernel_size, std::move(options), site)(inputs, site);
}

Tensor conv1d(const Operand& inputs, int filters, const nn::Extents& kernel_size,
              ConvOptions options, Site site) {
  const DefaultGraphGuard graph(graph_of(inputs));
  options.scope = options.name;
  return Conv1D(filters, kernel_size, std::move(options), site)(inputs, site);
}

Tensor conv2d_transpose(const Operand& inputs, int filters, const nn::Extents& kernel_size,
                        ConvOptions options, Site site) {
  const DefaultGraphGuard graph(graph_of(inputs));
  options.scope = options.name;
  return Conv2DTranspose(filters, kernel_size, std::move(options), site)(inputs, site);
}

Tensor separable_conv2d(const Operand& inputs, int filters, const nn::Extents& kernel_size,
                        SeparableConvOptions options, Site site) {
  const DefaultGraphGuard graph(graph_of(inputs));
  options.scope = options.name;
  return SeparableConv2D(filters, kernel_size, std::move(options), site)(inputs, site);
}

}  // namespace towerflow::layers

namespace towerflow::layers::types {

Variable ConvLayer::kernel() const { return body<ConvBody>().kernel; }
Variable ConvLayer::bias() const { return body<ConvBody>().bias; }

Conv2D::Conv2D(int filters, const nn::Extents& kernel_size, ConvOptions options, Site site)
    : ConvLayer(std::make_shared<Conv2DBody>(filters, kernel_size, std::move(options), site)) {}

Conv1D::Conv1D(int filters, const nn::Extents& kernel_size, ConvOptions options, Site site)
    : ConvLayer(std::make_shared<Conv1DBody>(filters, kernel_size, std::move(options), site)) {}

Conv2DTranspose::Conv2DTranspose(int filters, const nn::Extents& kernel_size, ConvOptions options,
                                 Site site)
    : ConvLayer(
          std::make_shared<Conv2DTransposeBody>(filters, kernel_size, std::move(options), site)) {}

SeparableConv2D::SeparableConv2D(int filters, const nn::Extents& kernel_size,
                                 SeparableConvOptions options, Site site)
    : Layer(std::make_shared<SeparableConv2DBody>(filters, kernel_size, std::move(options), site)) {
}
Variable SeparableConv2D::depthwise_kernel() const {
  return body<SeparableConv2DBody>().depthwise_kernel;
}
Variable SeparableConv2D::pointwise_kernel() const {
  return body<SeparableConv2DBody>().pointwise_kernel;
}
Variable SeparableConv2D::bias() const { return body<SeparableConv2DBody>().bias; }

}  // namespace towerflow::layers::types

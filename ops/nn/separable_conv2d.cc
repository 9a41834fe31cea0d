#include "ops/nn/separable_conv2d.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_of.h"
#include "ops/nn/space_to_batch_call.h"

namespace towerflow::nn {
namespace {

/// Returns the rates under either of their names.
std::vector<int> rates_of(const DepthwiseConv2DOptions& options, Site site) {
  if (options.rate && options.dilations) {
    throw ValueError("Cannot specify both 'dilations' and 'rate'", {.site = site});
  }
  const std::vector<int> none{1, 1};
  return options.dilations ? *options.dilations : options.rate.value_or(none);
}

/// Convolves with the depthwise filter; the node is called `name`.
Tensor dilated_depthwise(const Tensor& input, const Tensor& filter, const Extents& strides,
                         const WindowPadding& padding, const std::vector<int>& rates,
                         const DepthwiseConv2DOptions& options, const std::string& name,
                         Site site) {
  const auto op = [&](const Tensor& inside, int, const WindowPadding& inside_padding) {
    return depthwise_conv2d_native(
        inside, filter, strides, inside_padding,
        {.data_format = options.data_format.value_or("NHWC"), .name = name}, site);
  };
  const Tensor filter_shape = shape(filter, {}, site);
  return with_space_to_batch(
      input, rates, padding, op,
      {.filter_shape = Operand(filter_shape, site), .data_format = options.data_format}, site);
}

void check_pointwise(const Shape& filter, Site site) {
  const bool fits = Shape({1, 1, None, None}).compatible(filter);
  if (fits) return;
  throw ValueError(
      fmt::format("The pointwise filter must have the shape (1, 1, ?, ?), not {}", filter.text()),
      {.site = site});
}

}  // namespace

Tensor depthwise_conv2d(const Operand& input, const Operand& filter, const Extents& strides,
                        const WindowPadding& padding, DepthwiseConv2DOptions options, Site site) {
  const std::vector<int> rates = rates_of(options, site);
  const NameScope scope(graph_of(input, filter), options.name.empty() ? "depthwise" : options.name,
                        site);
  const Tensor images = convert_to_tensor(input, {.name = "tensor_in"}, site);
  const Tensor weights = convert_to_tensor(filter, {.name = "filter_in"}, site);
  return dilated_depthwise(images, weights, strides, padding, rates, options, scope.name(), site);
}

Tensor separable_conv2d(const Operand& input, const Operand& depthwise_filter,
                        const Operand& pointwise_filter, const Extents& strides,
                        const WindowPadding& padding, DepthwiseConv2DOptions options, Site site) {
  const std::vector<int> rates = rates_of(options, site);
  const NameScope scope(graph_of(input, depthwise_filter),
                        options.name.empty() ? "separable_conv2d" : options.name, site);
  const Tensor images = convert_to_tensor(input, {.name = "tensor_in"}, site);
  const Tensor weights = convert_to_tensor(depthwise_filter, {.name = "depthwise_filter"}, site);
  const Tensor mixing = convert_to_tensor(pointwise_filter, {.name = "pointwise_filter"}, site);
  check_pointwise(mixing.shape(), site);
  const Tensor separate =
      dilated_depthwise(images, weights, strides, padding, rates, options, "depthwise", site);
  return conv2d(separate, mixing, {1, 1, 1, 1}, "VALID",
                {.data_format = options.data_format.value_or("NHWC"), .name = scope.name()}, site);
}

}  // namespace towerflow::nn

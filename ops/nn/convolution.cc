#include "ops/nn/convolution.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/space_to_batch.h"
#include "ops/array/view.h"
#include "ops/nn/pool.h"
#include "ops/nn/space_to_batch_call.h"

namespace towerflow::nn {
namespace {

using Numbers = std::optional<std::vector<int>>;

/// Returns the rates under either of their names.
Numbers convolution_rates(const Numbers& dilation_rate, const Numbers& dilations, Site site) {
  if (dilation_rate && dilations) {
    throw ValueError("Cannot specify both 'dilations' and 'dilation_rate'", {.site = site});
  }
  return dilations ? dilations : dilation_rate;
}

/// Strides and dilation rates, one of each for every spatial dimension.
struct SpatialSteps {
  std::vector<int> strides, rates;

  bool is_dilated() const {
    return std::any_of(rates.begin(), rates.end(), [](int rate) { return rate != 1; });
  }
};

bool any_above_one(const std::vector<int>& numbers) {
  return std::any_of(numbers.begin(), numbers.end(), [](int number) { return number > 1; });
}

SpatialSteps spatial_steps(std::size_t count, const Numbers& strides, const Numbers& rates,
                           Site site) {
  const auto checked = [&](const char* what, const Numbers& given) {
    std::vector<int> numbers = given.value_or(std::vector<int>(count, 1));
    if (numbers.size() != count) {
      throw ValueError(fmt::format("`len({})` should be {}. Received: [{}]", what, count,
                                   fmt::join(numbers, ", ")),
                       {.site = site});
    }
    if (std::any_of(numbers.begin(), numbers.end(), [](int number) { return number < 1; })) {
      throw ValueError(fmt::format("all values of `{}` must be positive. Received: [{}]", what,
                                   fmt::join(numbers, ", ")),
                       {.site = site});
    }
    return numbers;
  };
  SpatialSteps steps;
  steps.rates = checked("dilation_rate", rates);
  steps.strides = checked("strides", strides);
  if (any_above_one(steps.strides) && any_above_one(steps.rates)) {
    throw ValueError("`strides > 1` not supported in conjunction with `dilation_rate > 1`.",
                     {.site = site});
  }
  return steps;
}

/// Returns the numbers of the spatial dimensions of a list that may have one, these, or all.
std::vector<int> spatial_numbers(const char* what, const Numbers& given, std::size_t count,
                                 bool first, Site site) {
  std::vector<int> numbers = given.value_or(std::vector<int>(count, 1));
  if (numbers.size() == 1) return std::vector<int>(count, numbers[0]);
  if (numbers.size() == count + 2) {
    const auto begin = numbers.begin() + (first ? 2 : 1);
    const std::vector<int> kept(begin, begin + static_cast<std::ptrdiff_t>(count));
    if (std::count(numbers.begin(), numbers.end(), 1) - std::count(kept.begin(), kept.end(), 1) !=
        2) {
      throw ValueError(fmt::format("{} in the batch and depth dimensions must be 1", what),
                       {.site = site});
    }
    return kept;
  }
  if (numbers.size() == count) return numbers;
  throw ValueError(fmt::format("{} should be of length 1, {} or {}. Received: [{}]", what, count,
                               count + 2, fmt::join(numbers, ", ")),
                   {.site = site});
}

/// Returns the numbers of all four dimensions of an image.
std::vector<int> with_ones(const std::vector<int>& spatial, bool first) {
  std::vector<int> all(spatial);
  if (all.size() == 1) all.insert(all.begin(), 1);  // images of one row
  all.insert(all.begin(), 1);
  all.insert(first ? all.begin() : all.end(), 1);
  return all;
}

/// Returns whether channels come first. Throws ValueError for an unknown format.
bool first_of(const std::optional<std::string>& format, std::size_t count, Site site) {
  if (!format) return false;
  const std::string last_name = count == 1 ? "NWC" : "NHWC",
                    first_name = count == 1 ? "NCW" : "NCHW";
  if (*format == first_name || *format == "NCHW") return true;
  if (*format == last_name || *format == "NHWC") return false;
  throw ValueError(fmt::format("`data_format` must be '{}' or '{}'. Received: {}", last_name,
                               first_name, *format),
                   {.site = site});
}

const char* format_name(bool first) { return first ? "NCHW" : "NHWC"; }

/// Convolves images of one row; the node is called `name`.
Tensor row_convolution(const Operand& value, const Operand& filters, int stride, int dilation,
                       const WindowPadding& padding, bool first, const std::string& name,
                       Site site) {
  const int axis = first ? -2 : -3;
  const Tensor images = expand_dims(value, axis, {}, site);
  const Tensor filter = expand_dims(filters, 0, {}, site);
  const Tensor result = conv2d(
      images, filter, with_ones({stride}, first), padding,
      {.data_format = format_name(first), .dilations = with_ones({dilation}, first), .name = name},
      site);
  return squeeze(result, {.axis = {axis}}, site);
}

/// A convolution without dilation; its node is called `name`.
Tensor plain_convolution(const Tensor& input, const Tensor& filter, const std::vector<int>& strides,
                         const WindowPadding& padding, bool first, const std::string& name,
                         Site site) {
  if (strides.size() == 1)
    return row_convolution(input, filter, strides[0], 1, padding, first, name, site);
  return conv2d(input, filter, with_ones(strides, first), padding,
                {.data_format = format_name(first), .name = name}, site);
}

/// Returns a tensor; a value becomes a constant in a scope that TensorFlow opens for it.
Tensor convolution_operand(const Operand& value, const char* name, Site site) {
  if (value.any_tensor() != nullptr) return convert_to_tensor(value, {}, site);
  const NameScope scope(graph_of(value), "convolution_internal", site);
  return convert_to_tensor(value, {.name = name}, site);
}

}  // namespace

Tensor convolution(const Operand& input, const Operand& filter, const WindowPadding& padding,
                   ConvolutionOptions options, Site site) {
  const Numbers rates = convolution_rates(options.dilation_rate, options.dilations, site);
  const Tensor weights = convolution_operand(filter, "filters", site);
  const Tensor images = convolution_operand(input, "input", site);
  if (!weights.shape().has_rank() && !images.shape().has_rank()) {
    throw ValueError("The rank of the input or of the filter of a convolution must be known.",
                     {.site = site});
  }
  const std::size_t rank =
      weights.shape().has_rank() ? weights.shape().rank() : images.shape().rank();
  const std::size_t count = rank - 2;
  if (rank < 3 || rank > 5) {
    throw ValueError(fmt::format("A convolution has 1, 2 or 3 spatial dimensions; the filter has "
                                 "rank {}.",
                                 rank),
                     {.site = site});
  }
  const bool first = first_of(options.data_format, count, site);
  SpatialSteps steps{spatial_numbers("strides", options.strides, count, first, site),
                     spatial_numbers("dilations", rates, count, first, site)};
  if (count == 3) {
    throw errors::UnimplementedError("A convolution of volumes", {.site = site});
  }
  const NameScope scope(images.graph(), options.name.empty() ? "convolution" : options.name, site);
  const auto convolve = [&](const Tensor& inside, int, const WindowPadding& inside_padding) {
    return plain_convolution(inside, weights, steps.strides, inside_padding, first, scope.name(),
                             site);
  };
  if (!steps.is_dilated()) return convolve(images, static_cast<int>(count), padding);
  steps = spatial_steps(count, steps.strides, steps.rates, site);
  WithSpaceToBatchOptions call{.data_format = options.data_format};
  if (weights.shape().fully_known())
    call.filter_shape = Operand(shape_to_array(weights.shape()), site);
  return with_space_to_batch(images, steps.rates, padding, convolve, call, site);
}

Tensor atrous_conv2d(const Operand& value, const Operand& filters, int rate,
                     const WindowPadding& padding, AtrousConv2DOptions options, Site site) {
  return convolution(value, filters, padding,
                     {.dilation_rate = std::vector<int>{rate, rate}, .name = options.name}, site);
}

Tensor atrous_conv2d_transpose(const Operand& value, const Operand& filters,
                               const std::vector<int>& output_shape, int rate,
                               std::string_view padding, AtrousConv2DOptions options, Site site) {
  const NameScope scope(graph_of(value, filters),
                        options.name.empty() ? "atrous_conv2d_transpose" : options.name, site);
  const Tensor images = convert_to_tensor(value, {.name = "value"}, site);
  const Tensor weights = convert_to_tensor(filters, {.name = "filters"}, site);
  if (rate < 1) {
    throw ValueError(fmt::format("`rate` cannot be less than one. Received: rate={}", rate),
                     {.site = site});
  }
  if (rate == 1) {
    return conv2d_transpose(images, weights, Operand(output_shape, site), {1, 1, 1, 1},
                            WindowPadding(std::string(padding)), {}, site);
  }
  convert_to_tensor(Operand(output_shape, site), {.name = "output_shape"}, site);
  if (output_shape.size() != 4) {
    throw ValueError(
        fmt::format("`output_shape` must have shape (4,), not ({},).", output_shape.size()),
        {.site = site});
  }
  if (padding != "SAME" && padding != "VALID") {
    throw ValueError(
        fmt::format("`padding` must be either 'VALID' or 'SAME'. Received: {}", padding),
        {.site = site});
  }
  if (!weights.shape().has_rank() || weights.shape().rank() != 4 || !weights.shape()[0].known() ||
      !weights.shape()[1].known()) {
    throw ValueError(
        fmt::format("The window of the filter must be known, not {}", weights.shape().text()),
        {.site = site});
  }
  std::vector<int> inner = output_shape, to_batch, crops;
  inner[0] *= rate * rate;
  for (std::size_t i = 0; i < 2; ++i) {
    const int window = static_cast<int>(weights.shape().size(i));
    const int pad = padding == "SAME" ? (window - 1) * rate : 0;
    const int size = output_shape[i + 1] + pad;
    const int extra = (rate - size % rate) % rate;
    to_batch.insert(to_batch.end(), {0, extra});
    crops.insert(crops.end(), {pad / 2, pad - pad / 2 + extra});
    inner[i + 1] = (size + extra) / rate;
  }
  const auto matrix = [site](const std::vector<int>& flat) {
    return Operand({{flat[0], flat[1]}, {flat[2], flat[3]}}, site);
  };
  const Tensor blocks = space_to_batch(images, matrix(to_batch), rate, {}, site);
  const Tensor back =
      conv2d_backprop_input(Operand(inner, site), weights, blocks, {1, 1, 1, 1}, "VALID", {}, site);
  return batch_to_space(back, matrix(crops), rate, {}, site);
}

Tensor conv1d(const Operand& value, const Operand& filters, int stride, std::string_view padding,
              Conv1DOptions options, Site site) {
  const NameScope scope(graph_of(value, filters), options.name.empty() ? "conv1d" : options.name,
                        site);
  const bool first = first_of(options.data_format, 1, site);
  const int dilation = spatial_numbers("dilations", options.dilations, 1, first, site)[0];
  return row_convolution(value, filters, stride, dilation, WindowPadding(std::string(padding)),
                         first, scope.name(), site);
}

Tensor pool(const Operand& input, const std::vector<int>& window_shape,
            std::string_view pooling_type, std::string_view padding, PoolingOptions options,
            Site site) {
  const Numbers rates = convolution_rates(options.dilation_rate, options.dilations, site);
  const bool largest = pooling_type == "MAX";
  if (!largest && pooling_type != "AVG") {
    throw ValueError(fmt::format("{} pooling is not supported.", pooling_type), {.site = site});
  }
  const std::string default_name = largest ? "max_pool" : "avg_pool";
  const NameScope scope(graph_of(input), options.name.empty() ? default_name : options.name, site);
  const Tensor images = convert_to_tensor(input, {.name = "input"}, site);
  const std::size_t count = window_shape.size();
  if (count < 1 || count > 3) {
    throw ValueError(fmt::format("`len(window_shape)` must be 1, 2, or 3. Received: {}", count),
                     {.site = site});
  }
  if (count == 3) throw errors::UnimplementedError("Pooling of volumes", {.site = site});
  if (images.shape().has_rank() && images.shape().rank() != count + 2) {
    throw ValueError(fmt::format("Shape {} must have rank {}", images.shape().text(), count + 2),
                     {.site = site});
  }
  const SpatialSteps steps = spatial_steps(count, options.strides, rates, site);
  if (padding == "SAME" && any_above_one(steps.rates)) {
    throw ValueError("pooling with 'SAME' padding does not accept a `dilation_rate` above 1",
                     {.site = site});
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (steps.strides[i] <= window_shape[i]) continue;
    throw ValueError(fmt::format("`strides` > `window_shape` not supported: {} > {}",
                                 steps.strides[i], window_shape[i]),
                     {.site = site});
  }
  const bool first = first_of(options.data_format, count, site);
  const auto pool_op = [&](const Tensor& inside, int, const WindowPadding& inside_padding) {
    const int axis = first ? 2 : 1;
    const Tensor values = count == 1 ? expand_dims(inside, axis, {}, site) : inside;
    const Extents window = with_ones(window_shape, first), stride = with_ones(steps.strides, first);
    const PoolOptions how{.data_format = format_name(first), .name = scope.name()};
    const Tensor result = largest
                              ? max_pool(values, window, stride, inside_padding, how, site)
                              : avg_pool(values, window, stride, inside_padding.text(), how, site);
    return count == 1 ? squeeze(result, {.axis = {axis}}, site) : result;
  };
  std::vector<int> dims;
  for (std::size_t i = 0; i < count; ++i) dims.push_back(static_cast<int>(i) + (first ? 2 : 1));
  return with_space_to_batch(images, steps.rates, WindowPadding(std::string(padding)), pool_op,
                             {.filter_shape = Operand(window_shape, site), .spatial_dims = dims},
                             site);
}

}  // namespace towerflow::nn

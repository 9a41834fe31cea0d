#include "ops/nn/window_args.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/op_def.h"

namespace towerflow::nn {

ImageAxes image_axes(DataFormat format) {
  return format == DataFormat::nhwc ? ImageAxes{1, 2, 3} : ImageAxes{2, 3, 1};
}

DataFormat likely_format(const std::string& text) {
  return text.rfind("NC", 0) == 0 ? DataFormat::nchw : DataFormat::nhwc;
}

DataFormat parse_data_format(const char* op, const std::string& text, Site site) {
  if (text == "NHWC") return DataFormat::nhwc;
  if (text == "NCHW") return DataFormat::nchw;
  throw ValueError(
      fmt::format("Attr 'data_format' of '{}' Op passed string '{}' not in: \"NHWC\", \"NCHW\".",
                  op, text),
      {.site = site, .op = op});
}

Padding parse_padding(const char* op, std::string_view text, Site site) {
  if (text == "SAME") return Padding::same;
  if (text == "VALID") return Padding::valid;
  throw ValueError(
      fmt::format("Attr 'padding' of '{}' Op passed string '{}' not in: \"SAME\", \"VALID\".", op,
                  text),
      {.site = site, .op = op});
}

void check_explicit_padding(const WindowPadding& padding, Site site) {
  if (padding.text() == "EXPLICIT") {
    throw ValueError("'EXPLICIT' is not a valid value for `padding`.",
                     {.site = site, .hint = "give the numbers before and after each dimension"});
  }
  if (!padding.text().empty()) return;
  for (const std::vector<int>& dimension : padding.numbers()) {
    if (dimension.size() == 2) continue;
    throw ValueError(fmt::format("When `padding` is a list, each element of it must be a list of "
                                 "size 2, not {}.",
                                 dimension.size()),
                     {.site = site});
  }
  if (padding.numbers().size() == 4) return;
  throw ValueError(fmt::format("When padding is a list, it must be of size 4, not {}.",
                               padding.numbers().size()),
                   {.site = site});
}

ParsedPadding parse_padding(const char* op, const WindowPadding& padding, Site site) {
  check_explicit_padding(padding, site);
  if (!padding.text().empty()) return {parse_padding(op, std::string_view(padding.text()), site)};
  ParsedPadding parsed{Padding::explicit_numbers};
  for (const std::vector<int>& dimension : padding.numbers()) {
    parsed.numbers.insert(parsed.numbers.end(), dimension.begin(), dimension.end());
  }
  return parsed;
}

void check_padding_numbers(const InferenceContext& context, const ParsedPadding& padding,
                           std::size_t rank, std::initializer_list<std::size_t> unpadded) {
  const bool is_explicit = padding.padding == Padding::explicit_numbers;
  if (padding.numbers.size() != (is_explicit ? 2 * rank : 0)) {
    fail_with_shapes(context, fmt::format("explicit_paddings must have {} numbers, not {}",
                                          is_explicit ? 2 * rank : 0, padding.numbers.size()));
  }
  for (const std::int64_t number : padding.numbers) {
    if (number < 0) fail_with_shapes(context, "All elements of explicit_paddings must be >= 0");
  }
  for (const std::size_t axis : unpadded) {
    if (padding.at(axis).before == 0 && padding.at(axis).after == 0) continue;
    fail_with_shapes(context, "The batch and the channels must not be padded");
  }
}

std::array<int, 4> expand_extents(const char* what, const Extents& extents, DataFormat format,
                                  Site site) {
  const std::vector<int>& values = extents.values();
  if (values.size() == 4) return {values[0], values[1], values[2], values[3]};
  if (values.size() != 1 && values.size() != 2) {
    throw ValueError(fmt::format("{0} should be of length 1, 2 or 4. Received: {0}=[{1}] of "
                                 "length {2}",
                                 what, fmt::join(values, ", "), values.size()),
                     {.site = site});
  }
  const int rows = values.front(), columns = values.back();
  if (format == DataFormat::nhwc) return {1, rows, columns, 1};
  return {1, 1, rows, columns};
}

Dim window_output(const InferenceContext& context, Dim input, Dim window, int stride,
                  Padding padding, int dilation, AxisPadding numbers) {
  if (stride < 1) fail_with_shapes(context, fmt::format("Stride must be > 0, but got {}", stride));
  if (dilation < 1) {
    fail_with_shapes(context, fmt::format("Dilations must be > 0, but got {}", dilation));
  }
  if (window.known() && window.size() < 1) {
    fail_with_shapes(context, fmt::format("Window must be > 0, but got {}", window.size()));
  }
  if (!input.known()) return None;
  if (padding == Padding::same) return window_axis(input.size(), 1, stride, padding).output;
  if (!window.known()) return None;
  const bool fits = input.size() > 0 && window.size() - 1 <= (input.size() - 1) / dilation;
  if (padding == Padding::valid && !fits) {
    const std::string gaps = dilation == 1 ? "" : fmt::format(", dilated by {},", dilation);
    fail_with_shapes(context,
                     fmt::format("Negative dimension size caused by subtracting {}{} from {}",
                                 window.size(), gaps, input.size()));
  }
  try {
    return window_axis(input.size(), window.size(), stride, padding, dilation, numbers).output;
  } catch (const ValueError& error) {
    fail_with_shapes(context, error.message());
  }
}

void require_rank(const InferenceContext& context, std::size_t input, std::size_t rank) {
  const Shape& shape = context.shape(input);
  if (!shape.has_rank() || shape.rank() == rank) return;
  fail_with_shapes(context,
                   fmt::format("Shape must be rank {} but is rank {}", rank, shape.rank()));
}

void require_dtype(const InferenceContext& context, std::size_t input, const char* argument,
                   std::initializer_list<DType> allowed) {
  const DType dtype = context.dtype(input);
  if (std::find(allowed.begin(), allowed.end(), dtype) != allowed.end()) return;
  std::string names;
  for (const DType name : allowed)
    names += (names.empty() ? "" : ", ") + std::string(dtype_name(name));
  context.fail_type(fmt::format(
      "Value passed to parameter '{}' has DataType {} not in list of allowed values: {}", argument,
      dtype_name(dtype), names));
}

void fail_with_shapes(const InferenceContext& context, const std::string& message) {
  std::string shapes;
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    shapes += (i == 0 ? "" : ", ") + context.shape(i).text();
  }
  context.fail(message + " with input shapes: " + shapes);
}

}  // namespace towerflow::nn

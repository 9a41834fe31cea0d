#include "ops/nn/fused_batch_norm.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "ops/array/cast.h"
#include "ops/array/constant.h"
#include "ops/array/fill.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/view.h"
#include "ops/family.h"
#include "ops/math/add_n.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"
#include "ops/nn/fused_batch_norm_attrs.h"
#include "ops/nn/window_args.h"

namespace towerflow::nn {
namespace {

/// Fails unless the vectors of the channels in inputs first .. last - 1 agree; returns their size.
Dim common_channels(const InferenceContext& context, Dim channels, std::size_t first,
                    std::size_t last) {
  for (std::size_t i = first; i < last; ++i) {
    require_rank(context, i, 1);
    const Shape& shape = context.shape(i);
    if (!shape.has_rank() || !shape[0].known()) continue;
    if (channels.known() && channels != shape[0]) {
      fail_with_shapes(context, fmt::format("Dimensions must be equal, but are {} and {}",
                                            channels.size(), shape.size(0)));
    }
    channels = shape[0];
  }
  return channels;
}

/// Returns the shape of input `input`, images with `channels` channels.
Shape image_shape(const InferenceContext& context, std::size_t input, VolumeFormat format,
                  Dim channels) {
  Shape all = Shape::of_rank(rank_of(format));
  std::vector<Dim> dims = all.dims();
  dims[volume_channel_axis(format)] = channels;
  return context.shape(input).merged(Shape(std::move(dims))).value();
}

Dim normalized_channels_of(const InferenceContext& context, std::size_t input,
                           VolumeFormat format) {
  require_rank(context, input, rank_of(format));
  const Shape& shape = context.shape(input);
  return shape.has_rank() ? shape[volume_channel_axis(format)] : Dim(None);
}

/// Fails unless the vectors of the channels, from input `vectors` on, have the dtype of the images.
void require_equal_dtypes(const InferenceContext& context, std::size_t vectors) {
  const DType images = context.dtype(0), own = context.dtype(vectors);
  if (images == own) return;
  context.fail_type(fmt::format("A batch normalization of {} takes vectors of {}, not of {}",
                                dtype_name(images), dtype_name(images), dtype_name(own)));
}

/// Inputs: x, scale, offset, mean, variance.
void fused_batch_norm_shape(InferenceContext& context) {
  const auto& attrs = context.attrs<BatchNormAttrs>();
  require_dtype(context, 0, "x", kFloats);
  require_dtype(context, 1, "scale", kFloats);
  require_equal_dtypes(context, 1);
  const VolumeFormat format = attrs.norm.format;
  const Dim channels = common_channels(context, normalized_channels_of(context, 0, format), 1,
                                       attrs.norm.is_training ? 3 : 5);
  context.add_output(context.dtype(0), image_shape(context, 0, format, channels));
  for (int i = 0; i < 4; ++i) context.add_output(context.dtype(1), Shape{channels});
  context.add_output(context.dtype(1), Shape{0});
}

/// Inputs: dy, x, scale, mean, variance, and what the forward op reserved, which is nothing.
void fused_batch_norm_grad_shape(InferenceContext& context) {
  const VolumeFormat format = context.attrs<BatchNormGradAttrs>().format;
  require_dtype(context, 0, "y_backprop", kFloats);
  require_equal_dtypes(context, 3);
  Dim channels = normalized_channels_of(context, 0, format);
  const Dim others = normalized_channels_of(context, 1, format);
  if (channels.known() && others.known() && channels != others) {
    fail_with_shapes(context, fmt::format("Dimensions must be equal, but are {} and {}",
                                          channels.size(), others.size()));
  }
  if (others.known()) channels = others;
  channels = common_channels(context, channels, 2, 5);
  const Shape x = image_shape(context, 1, format, channels);
  const auto merged = x.merged(context.shape(0));
  if (!merged) fail_with_shapes(context, "y_backprop and x must have equal shapes");
  context.add_output(context.dtype(0), *merged);
  for (int i = 0; i < 2; ++i) context.add_output(context.dtype(3), Shape{channels});
  for (int i = 0; i < 2; ++i) context.add_output(context.dtype(3), Shape{0});
}

Operation batch_norm_grad_node(const Tensor& dy, const Tensor& x, const Tensor& scale,
                               const Tensor& mean, const Tensor& variance, const Tensor& reserved,
                               const BatchNormGradAttrs& attrs, Site site) {
  // The scale of TensorFlow's op is float32, whatever dtype x has.
  const Tensor narrow = cast(scale, DType::float32, {}, site);
  return x.graph().add({.op = "FusedBatchNormGradV3",
                        .name = "FusedBatchNormGradV3",
                        .inputs = {dy, x, narrow, mean, variance, reserved},
                        .attrs = attrs,
                        .site = site});
}

std::vector<OptionalGradient> fused_batch_norm_gradient(const Operation& op,
                                                        const std::vector<OptionalGradient>& dys) {
  const auto& attrs = op.attrs().as<BatchNormAttrs>().norm;
  const bool trains = attrs.is_training;
  const Tensor dy =
      dys[0] ? dense_gradient(dys[0], op.site()) : zeros_like(op.output(0), {}, op.site());
  const Operation made =
      batch_norm_grad_node(dy, op.input(0), op.input(1), trains ? op.output(3) : op.input(3),
                           trains ? op.output(4) : op.input(4), op.output(5), attrs, op.site());
  return {made.output(0), made.output(1), made.output(2), std::nullopt, std::nullopt};
}

/// The tensors of a FusedBatchNormGradV3 and the operations that its derivatives are made of.
///
/// h = (x - mean) * r with r = 1 / sqrt(variance + epsilon); M is the mean over a channel. When
/// training, dx = scale * r * P(dy), where P(w) = w - M(w) - h * M(w * h). For any w that does not
/// depend on x, the derivative of sum(w * h) is then r * P(w).
class BatchNormGradGradient {
 public:
  explicit BatchNormGradGradient(const Operation& op)
      : attrs_(op.attrs().as<BatchNormGradAttrs>()), site_(op.site()), dy_(op.input(0)) {
    const Tensor x = op.input(1);
    scale_ = in_channels(cast(op.input(2), x.dtype(), {}, site_));
    const Tensor sum = add(op.input(4), static_cast<double>(attrs_.epsilon), {}, site_);
    r_ = in_channels(rsqrt(sum, {}, site_));
    const Tensor off = subtract(x, in_channels(op.input(3)), {}, site_);
    h_ = times(off, r_);
  }

  std::vector<OptionalGradient> make(const Operation& op, const OptionalGradient& g_dx,
                                     const OptionalGradient& g_scale,
                                     const OptionalGradient& g_offset) {
    if (g_dx) add_from_dx(dense_gradient(g_dx, site_));
    if (g_scale) add_from_scale(in_channels(dense_gradient(g_scale, site_)));
    if (g_offset) {
      // Broadcast to all elements.
      const Tensor g = in_channels(dense_gradient(g_offset, site_));
      to_dy_.push_back(add(g, zeros_like(dy_, {}, site_), {}, site_));
    }
    std::vector<OptionalGradient> found(6);
    if (!to_dy_.empty()) found[0] = add_n(to_dy_, {}, site_);
    if (!to_x_.empty()) found[1] = add_n(to_x_, {}, site_);
    if (!to_scale_.empty()) {
      const Tensor flat = reshape(to_scale_[0], {-1}, {}, site_);
      found[2] = cast(flat, op.input(2).dtype(), {}, site_);
    }
    return found;
  }

 private:
  /// Makes a vector of the channels broadcast over the other dimensions.
  Tensor in_channels(const Tensor& vector) const {
    if (!channels_first(attrs_.format)) return vector;
    std::vector<int> sizes(rank_of(attrs_.format), 1);
    sizes[1] = -1;
    return reshape(vector, sizes, {}, site_);
  }
  std::vector<int> other_axes() const {
    std::vector<int> axes;
    for (int i = 0; i < static_cast<int>(rank_of(attrs_.format)); ++i) {
      if (i != static_cast<int>(volume_channel_axis(attrs_.format))) axes.push_back(i);
    }
    return axes;
  }
  Tensor times(const Tensor& a, const Tensor& b) const { return multiply(a, b, {}, site_); }
  Tensor minus(const Tensor& a, const Tensor& b) const { return subtract(a, b, {}, site_); }
  Tensor mean_of(const Tensor& x) const {
    return reduce_mean(x, other_axes(), {.keepdims = true}, site_);
  }
  Tensor sum_of(const Tensor& x) const {
    return reduce_sum(x, other_axes(), {.keepdims = true}, site_);
  }
  /// Returns P(w), given M(w * h).
  Tensor projected(const Tensor& w, const Tensor& mean_of_product) const {
    const Tensor centered = minus(w, mean_of(w));
    return minus(centered, times(h_, mean_of_product));
  }

  void add_from_dx(const Tensor& g) {
    const Tensor factor = times(scale_, r_);
    if (!attrs_.is_training) {  // dx = dy * scale * r
      to_dy_.push_back(times(g, factor));
      to_scale_.push_back(times(sum_of(times(g, dy_)), r_));
      return;
    }
    const Tensor g_h = mean_of(times(g, h_)), dy_h = mean_of(times(dy_, h_));
    const Tensor p_g = projected(g, g_h), p_dy = projected(dy_, dy_h);
    to_dy_.push_back(times(factor, p_g));
    const Tensor product = mean_of(times(g, p_dy));
    // -scale r^2 (h M(g P(dy)) + P(g) M(dy h) + P(dy) M(g h))
    Tensor parts = times(h_, product);
    parts = add(parts, times(p_g, dy_h), {}, site_);
    parts = add(parts, times(p_dy, g_h), {}, site_);
    to_x_.push_back(negative(times(times(factor, r_), parts), {}, site_));
    to_scale_.push_back(times(sum_of(times(g, p_dy)), r_));
  }

  void add_from_scale(const Tensor& g) {  // dscale = sum(dy * h)
    to_dy_.push_back(times(h_, g));
    const Tensor slope = times(g, r_);
    const Tensor moved = attrs_.is_training ? projected(dy_, mean_of(times(dy_, h_))) : dy_;
    to_x_.push_back(times(slope, moved));
  }

  BatchNormGradAttrs attrs_;
  Site site_;
  Tensor dy_, scale_, r_, h_;
  std::vector<Tensor> to_dy_, to_x_, to_scale_;
};

std::vector<OptionalGradient> fused_batch_norm_grad_gradient(
    const Operation& op, const std::vector<OptionalGradient>& dys) {
  return BatchNormGradGradient(op).make(op, dys[0], dys[1], dys[2]);
}

VolumeFormat parse_volume_format(const std::string& text, Site site) {
  const auto found = AttrConversion<VolumeFormat>::from(text);
  if (found) return *found;
  throw ValueError(fmt::format("Attr 'data_format' of 'FusedBatchNormV3' Op passed string '{}' not "
                               "in: \"NHWC\", \"NCHW\", \"NDHWC\", \"NCDHW\".",
                               text),
                   {.site = site, .op = "FusedBatchNormV3"});
}

}  // namespace

/// FusedBatchNormV3(x, scale, offset, mean, variance) of a training step -> the same without the
/// moving averages, which it does not look at, but for their shape. Otherwise a tower would wait
/// until another one has updated them, and an accelerator would get copies.
static bool leave_moving_averages(PlanGraph& graph, int id) {
  const PlanNode& node = graph.nodes[static_cast<std::size_t>(id)];
  const auto& attrs = node.attrs.as<BatchNormAttrs>();
  const ValueId x = node.inputs[0], scale = node.inputs[1], offset = node.inputs[2];
  const bool ignores = attrs.norm.is_training && attrs.exponential_avg_factor == 1;
  if (!ignores || graph.root_variable(node.inputs[3]) < 0 || node.inputs[3] == scale) return false;
  return graph.replace(id, node.op->name, node.attrs, {x, scale, offset, scale, scale});
}

static void register_fused_batch_norm_rules(std::vector<RewriteRule>& rules) {
  rules.push_back({"batch normalization without moving averages",
                   "layers",
                   leave_moving_averages,
                   {"FusedBatchNormV3"},
                   {}});
}

static void register_fused_batch_norm_ops(OpRegistry& registry) {
  registry.add({.name = "FusedBatchNormV3",
                .inputs = {"x: T", "scale: U", "offset: U", "mean: U", "variance: U"},
                .outputs = {"y: T", "batch_mean: U", "batch_variance: U", "reserve_space_1: U",
                            "reserve_space_2: U", "reserve_space_3: U"},
                .attrs = attributes<BatchNormAttrs>(),
                .shape = fused_batch_norm_shape,
                .gradient = fused_batch_norm_gradient});
  registry.add({.name = "FusedBatchNormGradV3",
                .inputs = {"y_backprop: T", "x: T", "scale: float32", "reserve_space_1: U",
                           "reserve_space_2: U", "reserve_space_3: U"},
                .outputs = {"x_backprop: T", "scale_backprop: U", "offset_backprop: U",
                            "reserve_space_4: U", "reserve_space_5: U"},
                .attrs = attributes<BatchNormGradAttrs>(),
                .shape = fused_batch_norm_grad_shape,
                .gradient = fused_batch_norm_grad_gradient});
}

FusedBatchNorm fused_batch_norm(const Operand& x, const Operand& scale, const Operand& offset,
                                FusedBatchNormOptions options, Site site) {
  const bool reads_statistics = !options.is_training || options.exponential_avg_factor != 1;
  if (reads_statistics && !(options.mean && options.variance)) {
    throw ValueError(
        "Both `mean` and `variance` must be a 1D tensor when `is_training` is False or "
        "`exponential_avg_factor` != 1.0.",
        {.site = site, .op = "FusedBatchNormV3"});
  }
  const Tensor images = convert_to_tensor(x, {.name = "input"}, site);
  const Tensor scales = convert_to_tensor(scale, {.name = "scale"}, site);
  const Tensor offsets = convert_to_tensor(offset, {.name = "offset"}, site);
  const auto none = [&] {
    const DType dtype = scales.dtype() == DType::float64 ? DType::float64 : DType::float32;
    return Operand(constant(Array(dtype, Shape{0}), {}, site), site);
  };
  const Operand mean = options.mean ? *options.mean : none();
  const Operand variance = options.variance ? *options.variance : none();
  const Operand first(images, site);
  OpBuilder builder("FusedBatchNormV3", options.name, site, {&first});
  builder.input(images, "x", "T").input(scales, "scale", "U").input(offsets, "offset", "U");
  builder.input(mean, "mean", "U").input(variance, "variance", "U");
  const BatchNormAttrs attrs{
      {options.epsilon, parse_volume_format(options.data_format, site), options.is_training},
      options.exponential_avg_factor};
  const Operation made = builder.attrs(attrs).build();
  return {made.output(0), made.output(1), made.output(2)};
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily fused_batch_norm_family() {
  return {.ops = nn::register_fused_batch_norm_ops, .rules = nn::register_fused_batch_norm_rules};
}
}  // namespace towerflow

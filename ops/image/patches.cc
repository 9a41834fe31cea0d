#include "ops/image/patches.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_of.h"
#include "ops/array/stack.h"
#include "ops/array/strided_slice.h"
#include "ops/array/transpose.h"
#include "ops/array/view.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/math/binary.h"
#include "ops/math/range.h"
#include "ops/math/reduce.h"
#include "ops/math/segment.h"
#include "ops/math/unary.h"
#include "ops/range_kernel.h"

namespace towerflow::image {
namespace {

struct PatchesAttrs {
  std::array<int, 4> ksizes{1, 1, 1, 1};
  std::array<int, 4> strides{1, 1, 1, 1};
  std::array<int, 4> rates{1, 1, 1, 1};
  Padding padding = Padding::valid;
  static constexpr auto fields = std::tuple{attr::required("ksizes", &PatchesAttrs::ksizes),
                                            attr::required("strides", &PatchesAttrs::strides),
                                            attr::required("rates", &PatchesAttrs::rates),
                                            attr::required("padding", &PatchesAttrs::padding)};

  /// Returns the pixels that a window spans, with those between its own.
  std::int64_t span(std::size_t axis) const {
    return std::int64_t{ksizes[axis] - 1} * rates[axis] + 1;
  }
};

void patches_shape(InferenceContext& context) {
  const auto& attrs = context.attrs<PatchesAttrs>();
  if (context.dtype(0) == DType::string)
    context.fail_type("patches of strings cannot be extracted");
  nn::require_rank(context, 0, 4);
  for (const std::size_t axis : {std::size_t{0}, std::size_t{3}}) {
    if (attrs.ksizes[axis] == 1 && attrs.strides[axis] == 1 && attrs.rates[axis] == 1) continue;
    context.fail("windows over images or channels: sizes, strides and rates are [1, h, w, 1]");
  }
  for (const std::size_t axis : {std::size_t{1}, std::size_t{2}}) {
    if (attrs.rates[axis] < 1 || attrs.ksizes[axis] < 1)
      context.fail(fmt::format("sizes and rates of windows must be > 0, but got {} and {}",
                               attrs.ksizes[axis], attrs.rates[axis]));
  }
  const Shape& images = context.shape(0);
  if (!images.has_rank()) return context.add_output(context.dtype(0), Shape::of_rank(4));
  std::vector<Dim> sizes{images[0], None, None, None};
  for (const std::size_t axis : {std::size_t{1}, std::size_t{2}}) {
    sizes[axis] = nn::window_output(context, images[axis], Dim(attrs.span(axis)),
                                    attrs.strides[axis], attrs.padding);
  }
  if (!images[1].known() || !images[2].known()) sizes[1] = sizes[2] = None;
  if (images[3].known())
    sizes[3] = Dim(std::int64_t{attrs.ksizes[1]} * attrs.ksizes[2] * images[3].size());
  context.add_output(context.dtype(0), Shape(std::move(sizes)));
}

Tensor patches_of(const Operand& images, const PatchesAttrs& attrs, const std::string& name,
                  Site site) {
  return OpBuilder("ExtractImagePatches", name, site, {&images})
      .input(images, "images")
      .attrs(attrs)
      .output();
}

/// Extracts the same patches of an image that numbers its pixels from 1, which tells where each
/// number of dy belongs; 0 is outside the image.
std::vector<OptionalGradient> patches_gradient(const Operation& op,
                                               const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const Tensor dy = dense_gradient(dys[0], site);
  const Tensor image_shape = shape(op.input(0), {}, site);
  const std::vector<Tensor> sizes = unstack(image_shape, 4, {}, site);
  const Tensor pixels = multiply(sizes[1], sizes[2], {}, site);
  const Tensor places = add(pixels, 1, {}, site);
  const Tensor numbers = range(1, places, 1, {}, site);
  const Tensor numbered_shape = stack({1, sizes[1], sizes[2], 1}, {}, site);
  const Tensor numbered = reshape(numbers, numbered_shape, {}, site);
  const Tensor targets =
      reshape(patches_of(numbered, op.attrs().as<PatchesAttrs>(), "", site), {-1}, {}, site);
  const Tensor by_pixel = reshape(dy, stack({sizes[0], -1, sizes[3]}, {}, site), {}, site);
  const Tensor pixels_first = transpose(by_pixel, {1, 0, 2}, {}, site);
  const Tensor sums = unsorted_segment_sum(pixels_first, targets, places, {}, site);
  const Tensor inside = take_range(sums, 1, std::nullopt, site);
  const Tensor images_first = transpose(inside, {1, 0, 2}, {}, site);
  return {reshape(images_first, image_shape, {}, site)};
}

/// Copies the pixels of windows, row by row of the result.
template <class T>
struct PatchesLoop {
  WindowAxis rows, columns;
  std::int64_t channels, row_rate, column_rate, row_size, column_size;

  void operator()(SliceRange range, const void* const* inputs, void* const* outputs) const {
    const auto* images = static_cast<const T*>(inputs[0]);
    const std::int64_t patch = row_size * column_size * channels;
    T* y = static_cast<T*>(outputs[0]) + range.begin * columns.output * patch;
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      const T* image = images + i / rows.output * rows.input * columns.input * channels;
      const std::int64_t top = i % rows.output * rows.stride - rows.pad_before;
      for (std::int64_t j = 0; j < columns.output; ++j, y += patch)
        copy_patch(image, top, j * columns.stride - columns.pad_before, y);
    }
  }

  void copy_patch(const T* image, std::int64_t top, std::int64_t left, T* y) const {
    for (std::int64_t r = 0; r < row_size; ++r) {
      const std::int64_t row = top + r * row_rate;
      const bool row_inside = row >= 0 && row < rows.input;
      for (std::int64_t c = 0; c < column_size; ++c, y += channels) {
        const std::int64_t column = left + c * column_rate;
        if (row_inside && column >= 0 && column < columns.input)
          std::copy_n(image + (row * columns.input + column) * channels, channels, y);
        else
          std::fill_n(y, channels, T(0));
      }
    }
  }
};

std::unique_ptr<PreparedKernel> patches_kernel(const KernelRequest& request) {
  check_kernel_rank(request);
  const auto& attrs = request.attributes<PatchesAttrs>();
  const Shape& images = request.inputs[0].shape;
  const WindowAxis rows =
      window_axis(images.size(1), attrs.span(1), attrs.strides[1], attrs.padding);
  const WindowAxis columns =
      window_axis(images.size(2), attrs.span(2), attrs.strides[2], attrs.padding);
  std::unique_ptr<PreparedKernel> kernel;
  dispatch_copyable(request.inputs[0].dtype, [&]<class T>() {
    if constexpr (std::is_arithmetic_v<T>) {
      const PatchesLoop<T> loop{rows,           columns,         images.size(3), attrs.rates[1],
                                attrs.rates[2], attrs.ksizes[1], attrs.ksizes[2]};
      kernel = rows_kernel(images.size(0) * rows.output,
                           columns.output * loop.row_size * loop.column_size * loop.channels, loop);
    }
  });
  return kernel;
}

/// Returns Python's images[.., begin:, ..] or images[.., :end, ..] for one dimension, where the
/// other limit is 0.
Tensor part_along(const Tensor& images, std::size_t axis, int begin, int end, Site site) {
  Graph& graph = images.graph();
  const NameScope scope(graph, "strided_slice", site);
  const std::size_t rank = images.shape().rank();
  std::vector<int> begins(rank, 0), ends(rank, 0);
  const std::vector<int> steps(rank, 1);
  begins[axis] = begin;
  ends[axis] = end;
  const int all = (1 << rank) - 1, own = 1 << axis;
  const Tensor first = convert_operand(graph, Operand(begins, site), "stack", std::nullopt);
  const Tensor last = convert_operand(graph, Operand(ends, site), "stack", std::nullopt);
  const Tensor step = convert_operand(graph, Operand(steps, site), "stack", std::nullopt);
  return strided_slice(images, first, last, step,
                       {.begin_mask = begin == 0 ? all : all - own,
                        .end_mask = end == 0 ? all : all - own,
                        .name = scope.name()},
                       site);
}

}  // namespace

static void register_patches_ops(OpRegistry& registry) {
  registry.add({.name = "ExtractImagePatches",
                .inputs = {"images: T"},
                .outputs = {"patches: T"},
                .attrs = attributes<PatchesAttrs>(),
                .shape = patches_shape,
                .gradient = patches_gradient});
}

static void register_patches_kernels(KernelTable& table) {
  table.add(
      {.op = "ExtractImagePatches", .label = "copy", .accepts = {}, .prepare = patches_kernel});
}

Tensor extract_image_patches(const Operand& images, const nn::Extents& ksizes,
                             const nn::Extents& strides, const nn::Extents& rates,
                             std::string_view padding, ExtractImagePatchesOptions options,
                             Site site) {
  const PatchesAttrs attrs{nn::expand_extents("ksizes", ksizes, nn::DataFormat::nhwc, site),
                           nn::expand_extents("strides", strides, nn::DataFormat::nhwc, site),
                           nn::expand_extents("rates", rates, nn::DataFormat::nhwc, site),
                           nn::parse_padding("ExtractImagePatches", padding, site)};
  return patches_of(images, attrs, options.name, site);
}

Tensor total_variation(const Tensor& images, TotalVariationOptions options, Site site) {
  const NameScope scope(images.graph(), options.name.empty() ? "total_variation" : options.name,
                        site);
  const Shape& known = images.shape();
  if (!known.has_rank() || (known.rank() != 3 && known.rank() != 4)) {
    throw ValueError(
        fmt::format("'images' (shape {}) must be either 3 or 4-dimensional.", known.text()),
        {.site = site, .op = "total_variation"});
  }
  const std::size_t rows = known.rank() - 3;
  const auto differences = [&](std::size_t axis) {
    const Tensor behind = part_along(images, axis, 1, 0, site);
    const Tensor before = part_along(images, axis, 0, -1, site);
    return Operand(behind, site) - before;
  };
  const Tensor of_rows = differences(rows);
  const Tensor of_columns = differences(rows + 1);
  const auto total = [&](const Tensor& one) {
    const Tensor sizes = abs(one, {}, site);
    return rows == 0 ? reduce_sum(sizes, {}, site) : reduce_sum(sizes, Axis{1, 2, 3}, {}, site);
  };
  const Tensor row_sum = total(of_rows);
  const Tensor column_sum = total(of_columns);
  return Operand(row_sum, site) + column_sum;
}

}  // namespace towerflow::image

namespace towerflow {
OpFamily patches_family() {
  return {.ops = image::register_patches_ops, .kernels = image::register_patches_kernels};
}
}  // namespace towerflow

#include "ops/array/space_to_depth.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/space_to_depth_attrs.h"
#include "ops/family.h"
#include "ops/nn/window_args.h"
#include "ops/strided_copy.h"

namespace towerflow {
namespace {

[[noreturn]] void fail_blocks(const InferenceContext& context, std::int64_t size,
                              std::int64_t divisor) {
  nn::fail_with_shapes(
      context,
      fmt::format("Dimension size must be evenly divisible by {} but is {}", divisor, size));
}

void depth_blocks_shape(InferenceContext& context, bool to_depth) {
  const auto& attrs = context.attrs<DepthBlockAttrs>();
  nn::require_rank(context, 0, 4);
  const std::int64_t block = attrs.block_size;
  constexpr std::int64_t kMaxBlock = std::int64_t{1} << 31;
  if (block < 2 || block >= kMaxBlock) {
    nn::fail_with_shapes(context, fmt::format("block_size must be at least 2, not {}", block));
  }
  const nn::ImageAxes axes = nn::image_axes(attrs.format);
  std::vector<Dim> dims =
      context.shape(0).has_rank() ? context.shape(0).dims() : std::vector<Dim>(4, None);
  const auto scale = [&](std::size_t axis, std::int64_t factor, bool up) {
    Dim& dim = dims[axis];
    if (!dim.known()) return;
    std::int64_t size = dim.size();
    if (up) {
      if (__builtin_mul_overflow(size, factor, &size)) fail_blocks(context, dim.size(), factor);
    } else {
      if (size % factor != 0) fail_blocks(context, size, factor);
      size /= factor;
    }
    dim = size;
  };
  scale(axes.rows, block, !to_depth);
  scale(axes.columns, block, !to_depth);
  scale(axes.channels, block * block, to_depth);
  context.add_output(context.dtype(0), Shape(std::move(dims)));
}

void space_to_depth_shape(InferenceContext& context) { depth_blocks_shape(context, true); }
void depth_to_space_shape(InferenceContext& context) { depth_blocks_shape(context, false); }

/// Copies between an image and its blocks, in the order of the blocks.
template <bool kToDepth>
std::unique_ptr<PreparedKernel> depth_blocks_kernel(const KernelRequest& request) {
  const auto& attrs = request.attributes<DepthBlockAttrs>();
  const Shape image = kToDepth ? request.inputs[0].shape : request.outputs[0].shape;
  const Shape deep = kToDepth ? request.outputs[0].shape : request.inputs[0].shape;
  const nn::ImageAxes axes = nn::image_axes(attrs.format);
  return strided_copy_kernel(
      request, 1,
      CopyPlan([image, deep, axes, block = attrs.block_size](std::size_t, StridedCopy& copy) {
        const std::vector<std::int64_t> of_image = dense_strides(image);
        const std::vector<std::int64_t> of_deep = dense_strides(deep);
        const std::int64_t channels = image.size(axes.channels);
        const auto add = [&](std::int64_t size, std::int64_t image_step, std::int64_t deep_step) {
          if (kToDepth)
            copy.add(size, image_step, deep_step);
          else
            copy.add(size, deep_step, image_step);
        };
        const std::int64_t step = of_deep[axes.channels];
        add(deep.size(0), of_image[0], of_deep[0]);
        const auto add_rows = [&] {
          add(deep.size(axes.rows), block * of_image[axes.rows], of_deep[axes.rows]);
        };
        const auto add_row_of_block = [&] {
          add(block, of_image[axes.rows], block * channels * step);
        };
        const auto add_columns = [&] {
          add(deep.size(axes.columns), block * of_image[axes.columns], of_deep[axes.columns]);
        };
        const auto add_column_of_block = [&] {
          add(block, of_image[axes.columns], channels * step);
        };
        const auto add_channels = [&] { add(channels, of_image[axes.channels], step); };
        // The longest runs of memory come last.
        add_rows();
        add_row_of_block();
        if (axes.channels == 3) {
          add_columns();
          add_column_of_block();
          add_channels();
        } else {
          add_channels();
          add_columns();
          add_column_of_block();
        }
      }));
}

template <bool kToDepth>
Tensor depth_blocks_node(const Operand& input, const DepthBlockAttrs& attrs,
                         const std::string& name, Site site) {
  return OpBuilder(kToDepth ? "SpaceToDepth" : "DepthToSpace", name, site, {&input})
      .input(input, "input")
      .attrs(attrs)
      .output();
}

template <bool kToDepth>
std::vector<OptionalGradient> depth_blocks_gradient(const Operation& op,
                                                    const std::vector<OptionalGradient>& dys) {
  const Operand dy(dense_gradient(dys[0], op.site()), op.site());
  return {depth_blocks_node<!kToDepth>(dy, op.attrs().as<DepthBlockAttrs>(), "", op.site())};
}

template <bool kToDepth>
Tensor depth_blocks_call(const Operand& input, int block_size, const SpaceToDepthOptions& options,
                         Site site) {
  const char* op = kToDepth ? "SpaceToDepth" : "DepthToSpace";
  if (block_size < 2) {
    throw ValueError(
        fmt::format("Attr 'block_size' of '{}' Op passed {} less than minimum 2.", op, block_size),
        {.site = site, .op = op});
  }
  const DepthBlockAttrs attrs{block_size, nn::parse_data_format(op, options.data_format, site)};
  return depth_blocks_node<kToDepth>(input, attrs, options.name, site);
}

}  // namespace

static void register_space_to_depth_ops(OpRegistry& registry) {
  registry.add({.name = "SpaceToDepth",
                .inputs = {"input: T"},
                .outputs = {"output: T"},
                .attrs = attributes<DepthBlockAttrs>(),
                .shape = space_to_depth_shape,
                .gradient = depth_blocks_gradient<true>});
  registry.add({.name = "DepthToSpace",
                .inputs = {"input: T"},
                .outputs = {"output: T"},
                .attrs = attributes<DepthBlockAttrs>(),
                .shape = depth_to_space_shape,
                .gradient = depth_blocks_gradient<false>});
}

static void register_space_to_depth_kernels(KernelTable& table) {
  table.add(
      {.op = "SpaceToDepth", .label = "copy", .accepts = {}, .prepare = depth_blocks_kernel<true>});
  table.add({.op = "DepthToSpace",
             .label = "copy",
             .accepts = {},
             .prepare = depth_blocks_kernel<false>});
}

Tensor space_to_depth(const Operand& input, int block_size, SpaceToDepthOptions options,
                      Site site) {
  return depth_blocks_call<true>(input, block_size, options, site);
}

Tensor depth_to_space(const Operand& input, int block_size, SpaceToDepthOptions options,
                      Site site) {
  return depth_blocks_call<false>(input, block_size, options, site);
}

}  // namespace towerflow

namespace towerflow {
OpFamily space_to_depth_family() {
  return {.ops = register_space_to_depth_ops, .kernels = register_space_to_depth_kernels};
}
}  // namespace towerflow

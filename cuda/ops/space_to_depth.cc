// Blocks of pixels as channels, and back.
#include "cuda/ops/position_copy.h"
#include "ops/array/space_to_depth_attrs.h"

namespace towerflow::cuda {
namespace {

/// The dimensions of both tensors with the same elements, each as [batch, rows, row of the block,
/// columns, column of the block, channels] in the order of the tensor that is made.
template <bool kToDepth>
std::unique_ptr<PreparedKernel> prepare_depth_blocks(Device& device, const KernelRequest& request) {
  const auto& attrs = request.attributes<DepthBlockAttrs>();
  const nn::ImageAxes axes = nn::image_axes(attrs.format);
  const std::int64_t block = attrs.block_size;
  const Shape &from = request.inputs[0].shape, &to = request.outputs[0].shape;
  const std::vector<std::int64_t> strides = row_major_strides(from);
  const std::int64_t row = strides[axes.rows], column = strides[axes.columns],
                     channel = strides[axes.channels];
  const std::int64_t channels = (kToDepth ? from : to).size(axes.channels);
  Positions positions;
  positions.add(to.size(0), strides[0]);
  const auto add_rows = [&] {
    if (kToDepth) return positions.add(to.size(axes.rows), block * row);
    positions.add(from.size(axes.rows), row);
    positions.add(block, block * channels * channel);
  };
  const auto add_columns = [&] {
    if (kToDepth) return positions.add(to.size(axes.columns), block * column);
    positions.add(from.size(axes.columns), column);
    positions.add(block, channels * channel);
  };
  const auto add_channels = [&] {
    if (kToDepth) {
      positions.add(block, row);
      positions.add(block, column);
    }
    positions.add(channels, channel);
  };
  if (axes.channels == 1) add_channels();
  add_rows();
  add_columns();
  if (axes.channels == 3) add_channels();
  return prepare_load(device, request, std::move(positions));
}

}  // namespace

void add_space_to_depth_kernels(CudaEntries& entries) {
  entries.push_back({"SpaceToDepth", "cuda", {}, prepare_depth_blocks<true>});
  entries.push_back({"DepthToSpace", "cuda", {}, prepare_depth_blocks<false>});
}

}  // namespace towerflow::cuda

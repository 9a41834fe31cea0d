// Blocks of positions moved into the batch, and back.
#include "cuda/ops/padding.h"
#include "cuda/ops/position_copy.h"
#include "ops/kernel_dims.h"

namespace towerflow::cuda {
namespace {

/// The sizes of blocks in the dimensions after the batch, and borders before and behind these.
struct BlockSizes {
  explicit BlockSizes(const KernelRequest& request) : block(integers_of(request.values.at(1))) {
    const std::vector<std::int64_t> borders = integers_of(request.values.at(2));
    for (std::size_t i = 0; i < block.size(); ++i) {
      before.push_back(borders[2 * i]);
      behind.push_back(borders[2 * i + 1]);
    }
  }
  std::vector<std::int64_t> block, before, behind;
};

std::size_t workspace_of(std::int64_t elements, DType dtype) {
  return rounded_to_pack(static_cast<std::size_t>(elements) * dtype_size(dtype));
}

/// Pads in the workspace, then copies.
std::unique_ptr<PreparedKernel> prepare_space_to_batch(Device& device,
                                                       const KernelRequest& request) {
  const TensorDesc &x = request.inputs[0], &y = request.outputs[0];
  const BlockSizes blocks(request);
  const std::size_t moved = blocks.block.size();
  PadSizes sizes{x.shape.sizes(), std::vector<std::int64_t>(x.shape.rank(), 0), x.shape.sizes()};
  for (std::size_t i = 0; i < moved; ++i) {
    sizes.before[i + 1] = blocks.before[i];
    sizes.padded[i + 1] += blocks.before[i] + blocks.behind[i];
  }
  const std::vector<std::int64_t> strides =
      row_major_strides(Shape(std::span<const std::int64_t>(sizes.padded)));
  Positions positions;
  for (std::size_t i = 0; i < moved; ++i) positions.add(blocks.block[i], strides[i + 1]);
  positions.add(x.shape.size(0), strides[0]);
  for (std::size_t d = 1; d < x.shape.rank(); ++d) {
    positions.add(y.shape.size(d), d <= moved ? blocks.block[d - 1] * strides[d] : strides[d]);
  }
  const Padding padding(device, "SpaceToBatchND", x.dtype, sizes, Padding::Mode::constant);
  const PositionCopy copy(device, "SpaceToBatchND", x.dtype, std::move(positions));
  return make_kernel(
      [padding, copy](CudaQueue& queue, const LaunchArgs& args) {
        padding.run(queue, args.inputs[0], args.workspace);
        copy.run(queue, args.workspace, args.outputs[0]);
      },
      {.workspace = workspace_of(padding.elements(), x.dtype)});
}

/// Copies all of the blocks into the workspace, then the part that is not cropped.
std::unique_ptr<PreparedKernel> prepare_batch_to_space(Device& device,
                                                       const KernelRequest& request) {
  const TensorDesc &x = request.inputs[0], &y = request.outputs[0];
  const BlockSizes blocks(request);
  const std::size_t moved = blocks.block.size();
  const std::vector<std::int64_t> strides = row_major_strides(x.shape);
  std::vector<std::int64_t> whole = x.shape.sizes();
  whole[0] = y.shape.size(0);
  std::int64_t block_stride = x.shape.elements();  // of a position in a block, from the outermost
  std::vector<std::int64_t> block_strides;
  for (std::size_t i = 0; i < moved; ++i) {
    whole[i + 1] *= blocks.block[i];
    block_strides.push_back(block_stride /= blocks.block[i]);
  }
  Positions positions, part;
  positions.add(whole[0], strides[0]);
  for (std::size_t d = 1; d < x.shape.rank(); ++d) {
    positions.add(x.shape.size(d), strides[d]);
    if (d <= moved) positions.add(blocks.block[d - 1], block_strides[d - 1]);
  }
  const Shape whole_shape{std::span<const std::int64_t>(whole)};
  const std::vector<std::int64_t> whole_strides = row_major_strides(whole_shape);
  for (std::size_t d = 0; d < y.shape.rank(); ++d) {
    if (d > 0 && d <= moved) part.offset += blocks.before[d - 1] * whole_strides[d];
    part.add(y.shape.size(d), whole_strides[d]);
  }
  const PositionCopy spread(device, "BatchToSpaceND", x.dtype, std::move(positions));
  const PositionCopy crop(device, "BatchToSpaceND", x.dtype, std::move(part));
  return make_kernel(
      [spread, crop](CudaQueue& queue, const LaunchArgs& args) {
        spread.run(queue, args.inputs[0], args.workspace);
        crop.run(queue, args.workspace, args.outputs[0]);
      },
      {.workspace = workspace_of(whole_shape.elements(), x.dtype)});
}

}  // namespace

void add_space_to_batch_kernels(CudaEntries& entries) {
  entries.push_back({"SpaceToBatchND", "cuda", {}, prepare_space_to_batch});
  entries.push_back({"BatchToSpaceND", "cuda", {}, prepare_batch_to_space});
}

}  // namespace towerflow::cuda

// Tensors padded with a value, with zeros, or with their own mirrored borders; rolled tensors.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/graph/error.h"
#include "cuda/ops/padding.h"
#include "ops/array/pad_attrs.h"
#include "ops/kernel_dims.h"

namespace towerflow::cuda {
namespace {

using Mode = Padding::Mode;

PadSizes pad_sizes(const KernelRequest& request, const Shape& inner, const Shape& padded) {
  const std::vector<std::int64_t> pairs = integers_of(request.values.at(1));
  PadSizes sizes{inner.sizes(), {}, padded.sizes()};
  for (std::size_t d = 0; d < inner.rank(); ++d) sizes.before.push_back(pairs[2 * d]);
  return sizes;
}

std::unique_ptr<PreparedKernel> prepare_padding(const Padding& padding) {
  return make_kernel([padding](CudaQueue& queue, const LaunchArgs& args) {
    padding.run(queue, args.inputs[0], args.outputs[0]);
  });
}

std::unique_ptr<PreparedKernel> prepare_pad(Device& device, const KernelRequest& request) {
  device::PadValue value;
  if (const auto given = request.values.find(2); given != request.values.end()) {
    std::memcpy(value.bytes, given->second.raw(), dtype_size(request.outputs[0].dtype));
  }
  return prepare_padding(
      Padding(device, request.op->name.c_str(), request.outputs[0].dtype,
              pad_sizes(request, request.inputs[0].shape, request.outputs[0].shape), Mode::constant,
              value));
}

/// Throws InvalidArgumentError if a border shows more than there is.
PadSizes mirror_sizes(const KernelRequest& request, const Shape& inner, const Shape& padded,
                      Mode mode, bool allows_empty) {
  const PadSizes sizes = pad_sizes(request, inner, padded);
  const bool at_border = mode == Mode::symmetric;
  for (std::size_t d = 0; d < inner.rank(); ++d) {
    const std::int64_t size = inner.size(d), most = at_border ? size : size - 1;
    const std::int64_t before = sizes.before[d], behind = padded.size(d) - size - before;
    const bool is_barred = size == 0 && !(allows_empty && at_border);
    if (is_barred || before < 0 || behind < 0 || before > most || behind > most) {
      throw errors::InvalidArgumentError(fmt::format(
          "paddings must be no greater than the dimension size{}: {}, {} greater than {}",
          at_border ? "" : " less one", before, behind, most));
    }
  }
  return sizes;
}

Mode mirror_mode(const KernelRequest& request) {
  const bool at_border = request.attributes<MirrorAttrs>().mode == MirrorMode::symmetric;
  return at_border ? Mode::symmetric : Mode::reflect;
}

std::unique_ptr<PreparedKernel> prepare_mirror_pad(Device& device, const KernelRequest& request) {
  const Mode mode = mirror_mode(request);
  return prepare_padding(Padding(
      device, "MirrorPad", request.outputs[0].dtype,
      mirror_sizes(request, request.inputs[0].shape, request.outputs[0].shape, mode, true), mode));
}

std::unique_ptr<PreparedKernel> prepare_mirror_pad_grad(Device& device,
                                                        const KernelRequest& request) {
  const TensorDesc& dx = request.outputs[0];
  const Mode mode = mirror_mode(request);
  const PadSizes sizes = mirror_sizes(request, dx.shape, request.inputs[0].shape, mode, false);
  if (sizes.inner.size() > device::kMaxRank) refuse_rank("MirrorPadGrad");
  const std::int64_t n = dx.shape.elements();
  check_32_bits(n, "MirrorPadGrad");
  device::MirrorShape shape;
  shape.rank = static_cast<int>(sizes.inner.size());
  shape.mode = mode;
  std::int64_t stride = 1;
  for (std::size_t d = sizes.inner.size(); d-- > 0;) {
    shape.inner[d] = device::Divisor::of(static_cast<std::uint32_t>(sizes.inner[d]));
    shape.before[d] = static_cast<std::int32_t>(sizes.before[d]);
    shape.padded[d] = sizes.padded[d];
    shape.strides[d] = stride;
    stride *= sizes.padded[d];
  }
  const cudaKernel_t kernel = device.kernel(kernel_name("MirrorPadGrad", dx.dtype));
  return make_kernel([kernel, n, shape](CudaQueue& queue, const LaunchArgs& args) {
    launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[0], args.outputs[0], n, shape);
  });
}

std::unique_ptr<PreparedKernel> prepare_roll(Device& device, const KernelRequest& request) {
  const Shape& x = request.inputs[0].shape;
  const std::vector<std::int64_t> shifts = integers_of(request.values.at(1));
  const std::vector<std::int64_t> axes = integers_of(request.values.at(2));
  if (x.rank() == 0 || shifts.size() != axes.size()) {
    throw errors::InvalidArgumentError(fmt::format("a roll of shape {} with {} shifts for {} axes",
                                                   x.text(), shifts.size(), axes.size()));
  }
  PadSizes sizes{x.sizes(), std::vector<std::int64_t>(x.rank(), 0), x.sizes()};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = checked_axis(axes[i], x.rank());
    const std::int64_t size = std::max<std::int64_t>(x.size(axis), 1);
    const std::int64_t shift = (shifts[i] % size + size) % size;
    sizes.before[axis] = (sizes.before[axis] + shift) % size;
  }
  return prepare_padding(Padding(device, "Roll", request.outputs[0].dtype, sizes, Mode::wrap));
}

}  // namespace

void add_pad_kernels(CudaEntries& entries) {
  entries.push_back({"Pad", "cuda", {}, prepare_pad});
  entries.push_back({"PadV2", "cuda", {}, prepare_pad, {2}});
  entries.push_back({"MirrorPad", "cuda", {}, prepare_mirror_pad});
  entries.push_back(
      {"MirrorPadGrad", "cuda", takes({DType::float32, DType::float64}), prepare_mirror_pad_grad});
  entries.push_back({"Roll", "cuda", {}, prepare_roll});
}

}  // namespace towerflow::cuda

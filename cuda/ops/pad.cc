// Tensors padded with a value, with zeros, or with their own mirrored borders; rolled tensors.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/graph/error.h"
#include "cuda/ops/operands.h"
#include "ops/array/pad_attrs.h"
#include "ops/kernel_dims.h"

namespace towerflow::cuda {
namespace {

using Mode = device::PadShape::Mode;

/// A tensor of the size `inner` in each dimension, padded to `padded`.
struct PadSizes {
  std::vector<std::int64_t> inner, before, padded;

  /// Drops dimensions of one element, and joins those that are not padded with the one before.
  void simplify() {
    PadSizes kept;
    for (std::size_t d = 0; d < inner.size(); ++d) {
      if (padded[d] == 1 && inner[d] == 1) continue;
      const bool whole = inner[d] == padded[d] && before[d] == 0;
      if (whole && !kept.inner.empty()) {
        kept.inner.back() *= inner[d];
        kept.before.back() *= inner[d];
        kept.padded.back() *= inner[d];
      } else {
        kept.inner.push_back(inner[d]);
        kept.before.push_back(before[d]);
        kept.padded.push_back(padded[d]);
      }
    }
    *this = kept;
  }
};

PadSizes pad_sizes(const KernelRequest& request, const Shape& inner, const Shape& padded) {
  const std::vector<std::int64_t> pairs = integers_of(request.values.at(1));
  PadSizes sizes{inner.sizes(), {}, padded.sizes()};
  for (std::size_t d = 0; d < inner.rank(); ++d) sizes.before.push_back(pairs[2 * d]);
  return sizes;
}

device::PadShape pad_shape(PadSizes sizes, Mode mode, const char* op) {
  // The place of a mirrored element depends on the dimension alone.
  if (mode == Mode::constant) sizes.simplify();
  if (sizes.inner.size() > device::kMaxRank) refuse_rank(op);
  device::PadShape shape;
  shape.rank = static_cast<int>(sizes.inner.size());
  shape.mode = mode;
  std::int64_t elements = 1, stride = 1;
  for (std::size_t d = sizes.inner.size(); d-- > 0;) {
    check_32_bits(elements *= sizes.padded[d], op);
    shape.sizes[d] = device::Divisor::of(static_cast<std::uint32_t>(sizes.padded[d]));
    shape.before[d] = static_cast<std::int32_t>(sizes.before[d]);
    shape.inner[d] = sizes.inner[d];
    shape.strides[d] = stride;
    stride *= sizes.inner[d];
  }
  return shape;
}

std::unique_ptr<PreparedKernel> prepare_padding(Device& device, const KernelRequest& request,
                                                const PadSizes& sizes, Mode mode,
                                                const device::PadValue& value) {
  const TensorDesc& y = request.outputs[0];
  const std::int64_t n = y.shape.elements();
  if (n == 0) return make_kernel([](CudaQueue&, const LaunchArgs&) {});
  const device::PadShape shape = pad_shape(sizes, mode, request.op->name.c_str());
  const cudaKernel_t kernel = device.kernel(copy_kernel_name("Pad", y.dtype));
  return make_kernel([kernel, n, shape, value](CudaQueue& queue, const LaunchArgs& args) {
    launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[0], args.outputs[0], n, shape,
           value);
  });
}

std::unique_ptr<PreparedKernel> prepare_pad(Device& device, const KernelRequest& request) {
  device::PadValue value;
  if (const auto given = request.values.find(2); given != request.values.end()) {
    std::memcpy(value.bytes, given->second.raw(), dtype_size(request.outputs[0].dtype));
  }
  return prepare_padding(device, request,
                         pad_sizes(request, request.inputs[0].shape, request.outputs[0].shape),
                         Mode::constant, value);
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
  return prepare_padding(
      device, request,
      mirror_sizes(request, request.inputs[0].shape, request.outputs[0].shape, mode, true), mode,
      {});
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
  return prepare_padding(device, request, sizes, Mode::wrap, {});
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

// Dimensions that run backwards, as a whole or for a number of elements.
#include <fmt/format.h>

#include <algorithm>

#include "core/graph/error.h"
#include "cuda/ops/position_copy.h"
#include "ops/array/sequence_attrs.h"
#include "ops/kernel_dims.h"

namespace towerflow::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_reverse(Device& device, const KernelRequest& request) {
  const Shape& x = request.inputs[0].shape;
  const std::vector<std::int64_t> strides = row_major_strides(x);
  std::vector<bool> is_reversed(x.rank(), false);
  for (const std::int64_t given : integers_of(request.values.at(1))) {
    const std::size_t axis = checked_axis(given, x.rank());
    if (is_reversed[axis]) {
      throw errors::InvalidArgumentError(fmt::format("axis {} specified more than once.", axis));
    }
    is_reversed[axis] = true;
  }
  Positions positions;
  for (std::size_t d = 0; d < x.rank(); ++d) {
    if (is_reversed[d]) positions.offset += (x.size(d) - 1) * strides[d];
    positions.add(x.size(d), is_reversed[d] ? -strides[d] : strides[d]);
  }
  return prepare_load(device, request, std::move(positions));
}

std::unique_ptr<PreparedKernel> prepare_reverse_sequence(Device& device,
                                                         const KernelRequest& request) {
  const TensorDesc &x = request.inputs[0], &lengths = request.inputs[1];
  const auto& attrs = request.attributes<ReverseSequenceAttrs>();
  const auto seq = static_cast<std::size_t>(attrs.seq_dim);
  const auto batch = static_cast<std::size_t>(attrs.batch_dim);
  if (seq >= x.shape.rank() || batch >= x.shape.rank() || seq == batch) {
    throw errors::InvalidArgumentError(fmt::format(
        "batch_dim {} and seq_dim {} of a reverse_sequence must be different dimensions of {}",
        attrs.batch_dim, attrs.seq_dim, x.shape.text()));
  }
  if (lengths.shape.elements() != x.shape.size(batch)) {
    throw errors::InvalidArgumentError(
        fmt::format("{} lengths do not fit the {} parts of a batch of shape {}",
                    lengths.shape.elements(), x.shape.size(batch), x.shape.text()));
  }
  const std::int64_t n = x.shape.elements(), longest = x.shape.size(seq);
  if (n == 0) return make_kernel([](CudaQueue&, const LaunchArgs&) {});
  check_32_bits(n, "ReverseSequence");
  const std::size_t low = std::min(seq, batch), high = std::max(seq, batch);
  std::int64_t middle = 1, inner = 1;
  for (std::size_t d = low + 1; d < x.shape.rank(); ++d) {
    if (d != high) (d < high ? middle : inner) *= x.shape.size(d);
  }
  const auto divisor = [](std::int64_t size) {
    return device::Divisor::of(static_cast<std::uint32_t>(size));
  };
  const device::SequenceShape shape{.first = divisor(x.shape.size(low)),
                                    .middle = divisor(middle),
                                    .second = divisor(x.shape.size(high)),
                                    .inner = divisor(inner),
                                    .batch_first = batch < seq ? 1 : 0};
  const CudaQueue::MakeError make_error = [longest](const device::DataError& found) {
    return std::make_exception_ptr(errors::InvalidArgumentError(fmt::format(
        "seq_lengths[{}] = {} is not in [0, {}]", found.position(), found.value(), longest)));
  };
  const cudaKernel_t kernel = device.kernel(
      fmt::format("ReverseSequence_{}_{}", dtype_size(x.dtype), dtype_name(lengths.dtype)));
  return make_kernel(
      [kernel, n, shape, make_error](CudaQueue& queue, const LaunchArgs& args) {
        device::DataError* const error = queue.error_record(make_error);
        launch(queue, kernel, blocks_for(queue.device(), n), args.inputs[0], args.inputs[1],
               args.outputs[0], error, n, shape);
      },
      {.checks_data = true});
}

}  // namespace

void add_reverse_kernels(CudaEntries& entries) {
  entries.push_back({"ReverseV2", "cuda", {}, prepare_reverse});
  entries.push_back({"ReverseSequence", "cuda",
                     [](const KernelRequest& request) {
                       constexpr std::size_t kWidest = 8;
                       return dtype_size(request.inputs[0].dtype) <= kWidest;
                     },
                     prepare_reverse_sequence});
}

}  // namespace towerflow::cuda

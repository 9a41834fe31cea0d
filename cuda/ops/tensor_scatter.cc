// Slices of a tensor that are replaced or changed by updates, one after another where an index is
// repeated.
#include <fmt/format.h>

#include "core/graph/error.h"
#include "cuda/ops/key_sort.h"
#include "cuda/ops/slice_rows.h"

namespace towerflow::cuda {
namespace {

/// Updates of slices, sorted by the slices.
class SliceUpdates {
 public:
  SliceUpdates(Device& device, const char* op, const TensorDesc& indices, const TensorDesc& updates,
               const Shape& shape, cudaKernel_t rule, bool replaces)
      : places_(device, indices, shape),
        sort_(device, places_.rows(), op),
        keys_(device.kernel("SortKeys_int64")),
        rule_(rule),
        replaces_(replaces) {
    check_32_bits(places_.slices(), op);
    if (updates.shape.elements() != places_.rows() * places_.width()) {
      throw errors::InvalidArgumentError(
          fmt::format("updates of shape {} do not fit indices of shape {} in {}",
                      updates.shape.text(), indices.shape.text(), shape.text()));
    }
  }
  std::size_t workspace_bytes() const {
    return places_.workspace_bytes() + sort_.workspace_bytes() + sizeof(device::DataError);
  }
  void run(CudaQueue& queue, const void* indices, const void* updates, void* y,
           std::byte* workspace) const {
    const std::int64_t n = places_.rows(), width = places_.width(), slices = places_.slices();
    if (n * width == 0) return check_only(queue, indices, workspace);
    const std::int64_t* rows = places_.run(queue, indices, workspace);
    std::byte* const sorting = workspace + places_.workspace_bytes();
    auto* const unread = reinterpret_cast<device::DataError*>(sorting + sort_.workspace_bytes());
    KeySort::Rows sorted = sort_.begin(sorting);
    launch(queue, keys_, blocks_for(queue.device(), n), rows, sorted.keys, sorted.rows, unread, n,
           slices);
    sorted = sort_.run(queue, sorted, sorting, bits_of(slices));
    const dim3 blocks = blocks_for(queue.device(), n * width);
    if (replaces_) {
      return launch(queue, rule_, blocks, updates, sorted.keys, sorted.rows, y, n, width, slices);
    }
    constexpr int kFromResult = 1;
    launch(queue, rule_, blocks, updates, sorted.keys, sorted.rows, y, n, width, slices,
           kFromResult);
  }

 private:
  void check_only(CudaQueue& queue, const void* indices, std::byte* workspace) const {
    places_.run(queue, indices, workspace);
  }

  SliceRows places_;
  KeySort sort_;
  cudaKernel_t keys_, rule_;
  bool replaces_;
};

std::unique_ptr<PreparedKernel> prepare_tensor_scatter(Device& device, const KernelRequest& request,
                                                       const char* rule) {
  const TensorDesc& y = request.outputs[0];
  const bool replaces = rule == nullptr;
  const cudaKernel_t kernel = device.kernel(replaces ? copy_kernel_name("SegmentReplace", y.dtype)
                                                     : kernel_name(rule, y.dtype));
  const SliceUpdates updates(device, request.op->name.c_str(), request.inputs[1], request.inputs[2],
                             y.shape, kernel, replaces);
  return make_kernel(
      [updates, bytes = y.bytes()](CudaQueue& queue, const LaunchArgs& args) {
        if (args.inputs[0] != args.outputs[0]) queue.copy(args.outputs[0], args.inputs[0], bytes);
        updates.run(queue, args.inputs[1], args.inputs[2], args.outputs[0], args.workspace);
      },
      {.workspace = updates.workspace_bytes(), .in_place = {{0, 0}}, .checks_data = true});
}

std::unique_ptr<PreparedKernel> prepare_tensor_scatter_update(Device& device,
                                                              const KernelRequest& request) {
  return prepare_tensor_scatter(device, request, nullptr);
}
std::unique_ptr<PreparedKernel> prepare_tensor_scatter_add(Device& device,
                                                           const KernelRequest& request) {
  return prepare_tensor_scatter(device, request, "SegmentSum");
}
std::unique_ptr<PreparedKernel> prepare_tensor_scatter_sub(Device& device,
                                                           const KernelRequest& request) {
  return prepare_tensor_scatter(device, request, "SegmentSub");
}

std::unique_ptr<PreparedKernel> prepare_scatter_nd(Device& device, const KernelRequest& request) {
  const TensorDesc& y = request.outputs[0];
  const SliceUpdates updates(device, "ScatterNd", request.inputs[0], request.inputs[1], y.shape,
                             device.kernel(kernel_name("SegmentSum", y.dtype)), false);
  return make_kernel(
      [updates, bytes = y.bytes()](CudaQueue& queue, const LaunchArgs& args) {
        if (bytes > 0) queue.fill_with_zeros(args.outputs[0], bytes);
        updates.run(queue, args.inputs[0], args.inputs[1], args.outputs[0], args.workspace);
      },
      {.workspace = updates.workspace_bytes(), .checks_data = true});
}

}  // namespace

void add_tensor_scatter_kernels(CudaEntries& entries) {
  const auto numbers = {DType::float32, DType::float64, DType::int32, DType::int64};
  entries.push_back({"TensorScatterUpdate", "cuda", {}, prepare_tensor_scatter_update});
  entries.push_back({"TensorScatterAdd", "cuda", takes(numbers), prepare_tensor_scatter_add});
  entries.push_back({"TensorScatterSub", "cuda", takes(numbers), prepare_tensor_scatter_sub});
  entries.push_back({"ScatterNd", "cuda", takes(numbers, 1), prepare_scatter_nd});
}

}  // namespace towerflow::cuda

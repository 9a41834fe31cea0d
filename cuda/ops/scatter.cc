// Updates of the rows of a variable that indices name, one after another where a row is repeated.
#include <fmt/format.h>

#include <string>

#include "core/graph/error.h"
#include "cuda/ops/row_order.h"

namespace towerflow::cuda {
namespace {

std::string wrong_scatter_updates(const KernelRequest& request) {
  return fmt::format(
      "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got "
      "updates.shape {}, indices.shape {}, params.shape {}",
      request.inputs[2].shape.text(), request.inputs[1].shape.text(),
      request.inputs[0].shape.text());
}

Shape shape_of_updates(const Shape& indices, const Shape& variable) {
  std::vector<Dim> dims = indices.dims();
  const std::ptrdiff_t first = variable.rank() == 0 ? 0 : 1;
  dims.insert(dims.end(), variable.dims().begin() + first, variable.dims().end());
  return Shape(std::move(dims));
}

/// Rows of updates, or one number for all of their elements, which is spread in the workspace.
struct ScatterUpdates {
  ScatterUpdates(Device& device, const KernelRequest& request, std::int64_t elements)
      : n(elements),
        one(request.inputs[2].shape.rank() == 0),
        bytes(
            one ? rounded_to_pack(static_cast<std::size_t>(n) * dtype_size(request.inputs[2].dtype))
                : 0),
        spread(device.kernel(copy_kernel_name("StridedCopy", request.inputs[2].dtype))) {
    View<1> view;
    view.add(n, {0});
    everywhere = view.strided("a scatter");
  }
  const void* run(CudaQueue& queue, const void* updates, std::byte* workspace) const {
    if (!one) return updates;
    launch(queue, spread, blocks_for(queue.device(), n), updates, workspace, n, everywhere);
    return workspace;
  }

  std::int64_t n;
  bool one;
  std::size_t bytes;
  cudaKernel_t spread;
  device::Strided<1> everywhere;
};

/// `kernel` is null for the last update of a row to replace it.
std::unique_ptr<PreparedKernel> prepare_scatter(Device& device, const KernelRequest& request,
                                                const char* rule) {
  const TensorDesc &variable = request.inputs[0], &indices = request.inputs[1];
  const Shape& updates = request.inputs[2].shape;
  if (updates.rank() != 0 && updates != shape_of_updates(indices.shape, variable.shape)) {
    throw errors::InvalidArgumentError(wrong_scatter_updates(request));
  }
  const std::int64_t rows = variable.shape.rank() == 0 ? 1 : variable.shape.size(0);
  std::int64_t width = 1;
  for (std::size_t d = 1; d < variable.shape.rank(); ++d) width *= variable.shape.size(d);
  const RowOrder order(device, indices.dtype, indices.shape.elements(), rows);
  const std::int64_t n = order.slices();
  const ScatterUpdates values(device, request, n * width);
  const bool replaces = rule == nullptr;
  const cudaKernel_t kernel =
      device.kernel(replaces ? copy_kernel_name("SegmentReplace", variable.dtype)
                             : kernel_name(rule, variable.dtype));
  return make_kernel(
      [=](CudaQueue& queue, const LaunchArgs& args) {
        if (n == 0) return;
        const RowOrder::Sorted sorted =
            order.run(queue, args.inputs[1], args.workspace + values.bytes);
        if (width == 0) return;
        const void* const from = values.run(queue, args.inputs[2], args.workspace);
        const dim3 blocks = blocks_for(queue.device(), n * width);
        if (replaces) {
          return launch(queue, kernel, blocks, from, sorted.keys, sorted.order, args.inputs[0], n,
                        width, rows);
        }
        constexpr int kFromVariable = 1;
        launch(queue, kernel, blocks, from, sorted.keys, sorted.order, args.inputs[0], n, width,
               rows, kFromVariable);
      },
      {.workspace = values.bytes + order.workspace_bytes(), .checks_data = true});
}

}  // namespace

void add_scatter_kernels(CudaEntries& entries) {
  const auto add = [&](const char* op, const char* rule, std::initializer_list<DType> dtypes) {
    entries.push_back(
        {op, "cuda", takes(dtypes), [rule](Device& device, const KernelRequest& request) {
           return prepare_scatter(device, request, rule);
         }});
  };
  const auto numbers = {DType::float32, DType::float64, DType::int32, DType::int64};
  add("ScatterAdd", "SegmentSum", numbers);
  add("ScatterSub", "SegmentSub", numbers);
  add("ScatterMul", "SegmentProd", numbers);
  add("ScatterDiv", "SegmentDiv", {DType::float32, DType::float64});
  add("ScatterMin", "SegmentMin", numbers);
  add("ScatterMax", "SegmentMax", numbers);
  entries.push_back({"ScatterUpdate", "cuda", {}, [](Device& device, const KernelRequest& request) {
                       return prepare_scatter(device, request, nullptr);
                     }});
}

}  // namespace towerflow::cuda

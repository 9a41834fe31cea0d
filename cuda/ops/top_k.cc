// The largest elements of rows, and whether a class is among them.
#include <fmt/format.h>

#include "core/graph/error.h"
#include "cuda/ops/key_sort.h"
#include "ops/kernel_dims.h"

namespace towerflow::cuda {
namespace {

constexpr std::int64_t kWarp = 32;

/// The sizes of the op, and the conversion of the places if they are wanted as int64.
struct TopKPlan {
  TopKPlan(Device& device, const KernelRequest& request)
      : n(request.inputs[0].shape.size(request.inputs[0].shape.rank() - 1)),
        k(integers_of(request.values.at(1))[0]),
        rows(n == 0 ? 0 : request.inputs[0].shape.elements() / n),
        widens(request.outputs[1].dtype == DType::int64),
        widen(device.kernel("Cast_int32_int64")) {
    if (k < 0) throw errors::InvalidArgumentError(fmt::format("Need k >= 0, got {}", k));
    if (k > n) {
      throw errors::InvalidArgumentError(
          fmt::format("input must have at least k columns. Had {}, needed {}", n, k));
    }
    check_32_bits(request.inputs[0].shape.elements(), "TopKV2");
  }
  std::int64_t results() const { return rows * k; }
  /// Bytes of the places until they are converted.
  std::size_t places_bytes() const {
    const auto bytes = static_cast<std::size_t>(results()) * sizeof(std::int32_t);
    return widens ? rounded_to_pack(bytes) : 0;
  }
  void* places(const LaunchArgs& args) const { return widens ? args.workspace : args.outputs[1]; }
  void finish(CudaQueue& queue, const LaunchArgs& args) const {
    if (!widens) return;
    launch(queue, widen, blocks_for(queue.device(), results()), args.workspace, args.outputs[1],
           results());
  }

  std::int64_t n, k, rows;
  bool widens;
  cudaKernel_t widen;
};

std::unique_ptr<PreparedKernel> prepare_search(Device& device, const TopKPlan& plan, DType dtype) {
  constexpr std::int64_t kLongRow = 1024;
  const int group = static_cast<int>(plan.n >= kLongRow ? kBlockThreads : kWarp);
  const cudaKernel_t kernel = device.kernel(kernel_name("TopK", dtype));
  return make_kernel(
      [=](CudaQueue& queue, const LaunchArgs& args) {
        launch(queue, kernel, blocks_for(queue.device(), plan.rows * group), args.inputs[0],
               args.outputs[0], plan.places(args), plan.rows, plan.n, plan.k, group);
        plan.finish(queue, args);
      },
      {.workspace = plan.places_bytes()});
}

/// Sorts all elements in descending order, then by rows, and takes the first of each row.
std::unique_ptr<PreparedKernel> prepare_sorting(Device& device, const TopKPlan& plan, DType dtype) {
  const std::int64_t elements = plan.rows * plan.n;
  const KeySort sort(device, elements, "TopKV2");
  const int words = dtype_size(dtype) > sizeof(std::uint32_t) ? 2 : 1;
  return make_kernel(
      [=, order = device.kernel(kernel_name("OrderKeys", dtype)),
       number = device.kernel("OrderRows"), take = device.kernel(kernel_name("TopKTake", dtype))](
          CudaQueue& queue, const LaunchArgs& args) {
        constexpr int kAllBits = 32;
        std::byte* const memory = args.workspace + plan.places_bytes();
        const dim3 blocks = blocks_for(queue.device(), elements);
        KeySort::Rows sorted = sort.begin(memory);
        for (int word = 0; word < words; ++word) {
          const int first = word == 0 ? 1 : 0;
          launch(queue, order, blocks, args.inputs[0], sorted.rows, sorted.keys, elements, word,
                 first);
          sorted = sort.run(queue, sorted, memory, kAllBits);
        }
        launch(queue, number, blocks, sorted.rows, sorted.keys, elements, plan.n);
        sorted = sort.run(queue, sorted, memory, bits_of(plan.rows - 1));
        launch(queue, take, blocks_for(queue.device(), plan.results()), args.inputs[0], sorted.rows,
               args.outputs[0], plan.places(args), plan.rows, plan.n, plan.k);
        plan.finish(queue, args);
      },
      {.workspace = plan.places_bytes() + sort.workspace_bytes()});
}

std::unique_ptr<PreparedKernel> prepare_top_k(Device& device, const KernelRequest& request) {
  constexpr std::int64_t kMostSearched = 32;
  if (request.inputs[0].shape.rank() == 0 || request.values.at(1).shape().rank() != 0) {
    throw errors::InvalidArgumentError(
        fmt::format("a top_k needs rows and one number k, but the input has shape {} and k {}",
                    request.inputs[0].shape.text(), request.values.at(1).shape().text()));
  }
  const TopKPlan plan(device, request);
  if (plan.results() == 0) return make_kernel([](CudaQueue&, const LaunchArgs&) {});
  const DType dtype = request.inputs[0].dtype;
  return plan.k <= kMostSearched ? prepare_search(device, plan, dtype)
                                 : prepare_sorting(device, plan, dtype);
}

std::unique_ptr<PreparedKernel> prepare_in_top_k(Device& device, const KernelRequest& request) {
  const std::int64_t rows = request.inputs[0].shape.size(0);
  const std::int64_t classes = request.inputs[0].shape.size(1);
  if (request.inputs[2].shape.rank() != 0) {
    throw errors::InvalidArgumentError(
        fmt::format("k must be a scalar, but has shape {}", request.inputs[2].shape.text()));
  }
  const cudaKernel_t kernel = device.kernel(kernel_name("InTopK", request.inputs[1].dtype));
  return make_kernel([kernel, rows, classes](CudaQueue& queue, const LaunchArgs& args) {
    launch(queue, kernel, blocks_for(queue.device(), rows * kWarp), args.inputs[0], args.inputs[1],
           args.inputs[2], args.outputs[0], rows, classes);
  });
}

}  // namespace

void add_top_k_kernels(CudaEntries& entries) {
  entries.push_back({"TopKV2", "cuda",
                     takes({DType::float32, DType::float64, DType::int32, DType::int64,
                            DType::uint8, DType::float16, DType::bfloat16}),
                     prepare_top_k});
  entries.push_back({"InTopKV2", "cuda", takes({DType::int32, DType::int64}, 1), prepare_in_top_k});
}

}  // namespace towerflow::cuda

// Sums of the towers' gradients by NCCL.
#include "ops/variables/all_reduce_attrs.h"

#include <algorithm>
#include <vector>

#include "cuda/backend/clique.h"
#include "cuda/ops/operands.h"

namespace towerflow::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_all_reduce(Device& device, const KernelRequest& request) {
  const auto& attrs = request.attributes<AllReduceAttrs>();
  const TensorDesc& value = request.inputs[0];
  std::vector<int> cards = attrs.members;  // in one order for all sessions: they share a clique
  std::sort(cards.begin(), cards.end());
  const int own_card = attrs.members[static_cast<std::size_t>(attrs.rank)];
  const auto rank =
      static_cast<std::size_t>(std::find(cards.begin(), cards.end(), own_card) - cards.begin());
  const Clique::Share share{.elements = static_cast<std::size_t>(value.shape.elements()),
                            .type = value.dtype == DType::float64 ? ncclFloat64 : ncclFloat32};
  return make_kernel(
      [share, clique = device.driver().clique(cards), bucket = attrs.bucket, rank](
          CudaQueue& queue, const LaunchArgs& args) {
        Clique::Share own = share;
        own.from = args.inputs[0];
        own.to = args.outputs[0];
        own.stream = queue.stream();
        queue.watch(clique);
        clique->sum(bucket, rank, own, args.run->cancellation);
      },
      {.in_place = {{0, 0}}, .at_once = true});
}

}  // namespace

void add_all_reduce_kernels(CudaEntries& entries) {
  entries.push_back(
      {"_AllReduce", "NCCL", takes({DType::float32, DType::float64}), prepare_all_reduce});
}

}  // namespace towerflow::cuda

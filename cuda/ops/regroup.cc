// Parts of gradients that travel between devices.
#include "ops/variables/regroup_attrs.h"

#include <algorithm>

#include "cuda/ops/many_copies.h"

namespace towerflow::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_regroup(Device& device, const KernelRequest& request) {
  const auto& attrs = request.attributes<RegroupAttrs>();
  const std::int64_t begin = attrs.begin, end = begin + attrs.shape.elements();
  std::vector<RowsCopy> copies;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    const std::int64_t next = at + request.inputs[i].shape.elements();
    const std::int64_t first = std::clamp(at, begin, end), last = std::clamp(next, begin, end);
    if (first < last) {
      copies.push_back({.input = i,
                        .width = last - first,
                        .from_offset = first - at,
                        .to_offset = first - begin});
    }
    at = next;
  }
  return prepare_copies(device, request.outputs[0].dtype, std::move(copies));
}

}  // namespace

void add_regroup_kernels(CudaEntries& entries) {
  entries.push_back({"_Regroup", "cuda", {}, prepare_regroup});
}

}  // namespace towerflow::cuda

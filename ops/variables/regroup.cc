#include "ops/variables/regroup_attrs.h"

#include <algorithm>

#include "ops/family.h"
#include "ops/strided_copy.h"

namespace towerflow {
namespace {

/// Each input has one run of elements in the output, which may be empty.
std::unique_ptr<PreparedKernel> regroup_kernel(const KernelRequest& request) {
  const auto& attrs = request.attributes<RegroupAttrs>();
  struct Run {
    std::int64_t from, to, size;
  };
  std::vector<Run> runs;
  const std::int64_t begin = attrs.begin, end = begin + attrs.shape.elements();
  std::int64_t at = 0;
  for (const TensorDesc& input : request.inputs) {
    const std::int64_t next = at + input.shape.elements();
    const std::int64_t first = std::clamp(at, begin, end), last = std::clamp(next, begin, end);
    runs.push_back({first - std::min(at, first), first - begin, last - first});
    at = next;
  }
  return strided_copy_kernel(request, runs.size(), [runs](std::size_t part, StridedCopy& copy) {
    copy.input = static_cast<int>(part);
    copy.from_offset = runs[part].from;
    copy.to_offset = runs[part].to;
    copy.add(runs[part].size, 1, 1);
  });
}

}  // namespace

static void register_regroup_ops(OpRegistry& registry) {
  registry.add({.name = "_Regroup",
                .inputs = {"values: N * T"},
                .outputs = {"output: T"},
                .attrs = attributes<RegroupAttrs>(),
                .shape =
                    [](InferenceContext& context) {
                      context.add_output(context.dtype(0), context.attrs<RegroupAttrs>().shape);
                    },
                .gradient = NoGradient{"it is created after the gradients, in plans only"},
                .plan_only = true});
}

static void register_regroup_kernels(KernelTable& table) {
  table.add({.op = "_Regroup", .label = "copy", .accepts = {}, .prepare = regroup_kernel});
}

OpFamily regroup_family() {
  return {.ops = register_regroup_ops, .kernels = register_regroup_kernels};
}

}  // namespace towerflow

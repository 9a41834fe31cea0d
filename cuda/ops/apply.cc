// The updates of variables by optimizers' rules.
#include "ops/variables/apply_attrs.h"

#include <string>

#include "cuda/ops/update.h"

namespace towerflow::cuda {
namespace {

/// One gradient, as it is.
GradientForm single_gradient(const KernelRequest& request) {
  const auto* attrs = request.attrs->get_if<ApplyAttrs>();
  return {.use_nesterov = attrs != nullptr && attrs->use_nesterov};
}

}  // namespace

void add_apply_kernels(CudaEntries& entries) {
  const auto floats = takes({DType::float32, DType::float64});
  for (const UpdateRule& rule : update_rules()) {
    entries.push_back({std::string("Apply") + rule.op, "cuda", floats,
                       [&rule](Device& device, const KernelRequest& request) {
                         return prepare_update(device, request, rule, UpdateLayout::Kind::apply,
                                               single_gradient(request));
                       }});
    if (rule.op == std::string("GradientDescent")) continue;  // of rows it is a ScatterSub
    entries.push_back({std::string("SparseApply") + rule.op, "cuda", floats,
                       [&rule](Device& device, const KernelRequest& request) {
                         return prepare_rows_update(device, request, rule,
                                                    UpdateLayout::Kind::apply_rows,
                                                    single_gradient(request));
                       }});
  }
}

}  // namespace towerflow::cuda

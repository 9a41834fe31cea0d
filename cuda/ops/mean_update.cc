// Averages of the towers' gradients, and updates by them.
#include <string>

#include "cuda/ops/update.h"

namespace towerflow::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_mean_of_towers(Device& device,
                                                       const KernelRequest& request) {
  const TensorDesc& y = request.outputs[0];
  const TowerAverage average(device, request.attributes<GradientForm>(), y.dtype,
                             y.shape.elements());
  return make_kernel([average](CudaQueue& queue, const LaunchArgs& args) {
    average.run(queue, args.inputs, args.outputs[0]);
  });
}

/// The inputs are the variable, the part of the distance by which it moves, and the value.
std::unique_ptr<PreparedKernel> prepare_moving_average(Device& device,
                                                       const KernelRequest& request) {
  static constexpr UpdateRule kRule{"", "MovingAverage", 0, 1, 1};
  return prepare_update(device, request, kRule, UpdateLayout::Kind::apply, {});
}

}  // namespace

void add_mean_update_kernels(CudaEntries& entries) {
  const auto floats = takes({DType::float32, DType::float64});
  entries.push_back({"_MeanOfN", "cuda", floats, prepare_mean_of_towers});
  entries.push_back({"_MovingAverage", "cuda", floats, prepare_moving_average});
  for (const UpdateRule& rule : update_rules()) {
    entries.push_back({std::string("_MeanApply") + rule.op, "cuda", floats,
                       [&rule](Device& device, const KernelRequest& request) {
                         return prepare_update(device, request, rule, UpdateLayout::Kind::fused,
                                               request.attributes<GradientForm>());
                       }});
    if (rule.op == std::string("GradientDescent")) continue;
    entries.push_back({std::string("_MeanSparseApply") + rule.op, "cuda", floats,
                       [&rule](Device& device, const KernelRequest& request) {
                         return prepare_rows_update(device, request, rule,
                                                    UpdateLayout::Kind::fused,
                                                    request.attributes<GradientForm>());
                       }});
  }
}

}  // namespace towerflow::cuda

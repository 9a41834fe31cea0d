#include "models/variable_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/graph/device_spec.h"
#include "towerflow/tf.h"

namespace towerflow::models {

PsStrategy round_robin(int num_tasks) {
  return [num_tasks, next = std::make_shared<int>(0)](const Operation&) {
    return (*next)++ % num_tasks;
  };
}

PsStrategy greedy_load_balancing(int num_tasks) {
  const auto loads =
      std::make_shared<std::vector<std::int64_t>>(static_cast<std::size_t>(num_tasks));
  return [loads](const Operation& op) {
    const auto least = std::min_element(loads->begin(), loads->end());
    const Tensor value = op.output(0);
    *least += value.shape().elements() * static_cast<std::int64_t>(dtype_size(value.dtype()));
    return static_cast<int>(least - loads->begin());
  };
}

DeviceFunction local_device_setter(const std::string& ps_device_type,
                                   const std::string& worker_device, PsStrategy ps_strategy) {
  return [=](const Operation& op) {
    const std::string device = op.type() == "VariableV2"
                                   ? fmt::format("/{}:{}", ps_device_type, ps_strategy(op))
                                   : worker_device;
    return DeviceSpec::parse(device).merged(DeviceSpec::parse(op.device())).text();
  };
}

std::vector<GradAndVar> average_present_gradients(
    const std::vector<std::vector<GradAndVar>>& tower_gradvars) {
  const auto scope = tf::name_scope("gradient_averaging");
  std::vector<std::pair<Variable, std::vector<Tensor>>> all_grads;
  for (const auto& gradvars : tower_gradvars) {
    for (const GradAndVar& pair : gradvars) {
      if (!pair.grad) continue;
      auto known = std::find_if(all_grads.begin(), all_grads.end(),
                                [&](const auto& one) { return one.first == pair.var; });
      if (known == all_grads.end()) known = all_grads.insert(known, {pair.var, {}});
      known->second.push_back(pair.grad->dense());
    }
  }
  std::vector<GradAndVar> averaged;
  for (const auto& [var, grads] : all_grads) {
    const auto device = tf::device(var.op().device());
    Tensor avg_grad = grads[0];
    if (grads.size() > 1) {
      const Tensor sum = tf::add_n(grads);
      avg_grad = tf::multiply(sum, 1.0 / static_cast<double>(grads.size()));
    }
    averaged.push_back({Gradient(avg_grad), var});
  }
  return averaged;
}

}  // namespace towerflow::models

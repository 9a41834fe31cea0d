#include "core/runtime/device_set.h"

#include <fmt/format.h>

#include <algorithm>

namespace towerflow {

DeviceSet::DeviceSet(std::vector<std::shared_ptr<Backend>> backends)
    : backends_(std::move(backends)) {
  for (const auto& backend : backends_) {
    for (int i = 0; i < backend->device_count(); ++i) {
      devices_.push_back(
          {backend.get(), i,
           fmt::format("/job:localhost/replica:0/task:0/device:{}:{}", backend->type(), i)});
    }
  }
}

int DeviceSet::choose(const std::string& asked, bool soft, const ErrorDetail& detail,
                      std::string& why) const {
  DeviceSpec spec = DeviceSpec::parse(asked, detail.site);
  if (spec.job == "*") spec.job.reset();
  const auto any_of_type = [&](const std::string& type) {
    return std::any_of(devices_.begin(), devices_.end(),
                       [&](const Device& device) { return device.backend->type() == type; });
  };
  const bool stands_in = spec.type == "GPU" && !any_of_type("GPU") && any_of_type("SIM");
  if (stands_in) spec.type = "SIM";
  const auto fits = [&](const Device& device) {
    const DeviceSpec own = DeviceSpec::parse(device.name);
    return (!spec.job || spec.job == own.job) && (!spec.replica || spec.replica == own.replica) &&
           (!spec.task || spec.task == own.task) && (!spec.type || spec.type == own.type) &&
           (!spec.index || spec.index == own.index);
  };
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (fits(devices_[i])) {
      why = asked.empty() ? "nothing asked: the first device"
            : stands_in   ? "a simulated accelerator stands in for the GPU"
                          : "as asked";
      return static_cast<int>(i);
    }
  }
  // Another process's devices are never here, whatever stands in for a missing one.
  const DeviceSpec first = DeviceSpec::parse(devices_.at(0).name);
  const bool elsewhere = (spec.job && spec.job != first.job) ||
                         (spec.replica && spec.replica != first.replica) ||
                         (spec.task && spec.task != first.task) || spec.index.value_or(0) < 0;
  if (!soft || elsewhere) {
    std::string names;
    for (const Device& device : devices_) names += (names.empty() ? "" : ", ") + device.name;
    ErrorDetail full = detail;
    full.hint = elsewhere ? "the devices of this session are those of its own process"
                          : "set allow_soft_placement, or ask for a device that exists";
    throw errors::InvalidArgumentError(
        fmt::format("Cannot assign a device for operation {}: Operation was explicitly assigned to "
                    "{} but available devices are [ {} ].",
                    detail.node, asked, names),
        std::move(full));
  }
  int cpus = 0;
  for (const Device& device : devices_) cpus += device.backend->type() == std::string("CPU");
  const int wanted = spec.index.value_or(0) % cpus;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (devices_[i].backend->type() == std::string("CPU") && devices_[i].index == wanted) {
      why = fmt::format("{} does not exist here: soft placement takes CPU number {} mod {}", asked,
                        spec.index.value_or(0), cpus);
      return static_cast<int>(i);
    }
  }
  throw errors::InternalError("a session without a CPU");
}

int DeviceSet::host() const {
  const auto it = std::find_if(devices_.begin(), devices_.end(),
                               [](const Device& device) { return device.on_host(); });
  return static_cast<int>(it - devices_.begin());
}

std::string DeviceSet::mapping() const {
  std::string text = "Device mapping:";
  for (const Device& device : devices_) {
    text += fmt::format("\n{} -> {}", device.name, device.backend->description(device.index));
  }
  return text;
}

}  // namespace towerflow

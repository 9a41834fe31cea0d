#include "core/runtime/device_set.h"

#include <fmt/format.h>

#include <algorithm>

namespace towerflow {

void copy_now(const Device& device, Lane lane, void* to, const void* from, std::size_t bytes) {
  const auto queue = device.backend->make_queue(device.index, lane);
  queue->start(false);
  queue->begin(0, nullptr);
  queue->copy(to, from, bytes);
  queue->end();
  const std::optional<QueueError> failed = queue->synchronize();
  try {
    if (failed) std::rethrow_exception(failed->error);
  } catch (...) {
    rethrow_with({.device = device.name});
  }
}

DeviceSet::DeviceSet(std::vector<std::shared_ptr<Backend>> backends)
    : backends_(std::move(backends)) {
  for (const auto& backend : backends_) {
    for (int i = 0; i < backend->device_count(); ++i) {
      std::string name =
          fmt::format("/job:localhost/replica:0/task:0/device:{}:{}", backend->type(), i);
      DeviceSpec spec = DeviceSpec::parse(name);
      devices_.push_back({backend.get(), i, std::move(name), std::move(spec)});
    }
  }
}

int DeviceSet::choose(const std::string& asked, bool soft, const ErrorDetail& detail,
                      std::string& why, int worker) const {
  DeviceSpec spec = DeviceSpec::parse(asked, detail.site);
  if (spec.job == "*") spec.job.reset();
  const Device* stand_in = nullptr;
  for (const Device& device : devices_) {
    if (!spec.type || device.spec.type == spec.type) {
      stand_in = nullptr;
      break;
    }
    if (stand_in == nullptr && device.backend->replaces_type(*spec.type)) stand_in = &device;
  }
  const std::string wanted_type = spec.type.value_or("");
  if (stand_in != nullptr) spec.type = stand_in->spec.type;
  if (worker > 0 && spec.type && spec.type != "CPU" && spec.index) {
    const auto count = std::count_if(devices_.begin(), devices_.end(), [&](const Device& device) {
      return device.spec.type == spec.type;
    });
    *spec.index += worker;
    if (count > 0) *spec.index %= static_cast<int>(count);
  }
  const auto matches_spec = [&](const Device& device) {
    const DeviceSpec& own = device.spec;
    return (!spec.job || spec.job == own.job) && (!spec.replica || spec.replica == own.replica) &&
           (!spec.task || spec.task == own.task) && (!spec.type || spec.type == own.type) &&
           (!spec.index || spec.index == own.index);
  };
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (matches_spec(devices_[i])) {
      why = asked.empty() ? "nothing asked: the first device"
            : stand_in != nullptr
                ? fmt::format("{} stands in for the {}", stand_in->backend->kind(), wanted_type)
                : "as asked";
      return static_cast<int>(i);
    }
  }
  // Soft placement and replacement do not apply to devices of other processes.
  const DeviceSpec& first = devices_.at(0).spec;
  const bool elsewhere = (spec.job && spec.job != first.job) ||
                         (spec.replica && spec.replica != first.replica) ||
                         (spec.task && spec.task != first.task) || spec.index.value_or(0) < 0;
  if (!soft || elsewhere) {
    std::string names;
    for (const Device& device : devices_) names += (names.empty() ? "" : ", ") + device.name;
    ErrorDetail full = detail;
    full.hint = elsewhere ? "a session has only the devices of its own process"
                          : "set allow_soft_placement, or ask for a device that exists";
    throw errors::InvalidArgumentError(
        fmt::format("Cannot assign a device for operation {}: Operation was explicitly assigned to "
                    "{} but available devices are [ {} ].",
                    detail.node, asked, names),
        std::move(full));
  }
  int cpus = 0;
  for (const Device& device : devices_) cpus += device.spec.type == "CPU";
  const int wanted = spec.index.value_or(0) % cpus;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (devices_[i].spec.type == "CPU" && devices_[i].index == wanted) {
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

int DeviceSet::first_accelerator() const {
  const auto it = std::find_if(devices_.begin(), devices_.end(),
                               [](const Device& device) { return !device.on_host(); });
  return it == devices_.end() ? host() : static_cast<int>(it - devices_.begin());
}

int DeviceSet::first_device_of(const Backend& backend) const {
  const auto it = std::find_if(devices_.begin(), devices_.end(),
                               [&](const Device& device) { return device.backend == &backend; });
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

#include "core/device/sim/sim_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/device/cpu/cpu_backend.h"
#include "core/device/cpu/thread_pool.h"
#include "core/device/host_event.h"
#include "core/device/sim/sim_queue.h"
#include "core/device/visible_devices.h"

namespace towerflow {
namespace {

/// A CPU kernel that runs on the memory of a simulated device.
class SimKernel final : public PreparedKernel {
 public:
  SimKernel(std::unique_ptr<PreparedKernel> kernel, SimOperands operands)
      : kernel_(std::move(kernel)), operands_(std::move(operands)) {}
  std::size_t workspace_bytes() const override { return kernel_->workspace_bytes(); }
  std::vector<InPlacePair> in_place() const override { return kernel_->in_place(); }
  bool may_fail() const override { return kernel_->may_fail(); }
  void enqueue(Queue& queue, const LaunchArgs& args) const override {
    static_cast<SimQueue&>(queue).launch(*kernel_, args, operands_);
  }

 private:
  std::unique_ptr<PreparedKernel> kernel_;
  SimOperands operands_;
};

KernelRequest on_host(KernelRequest request) {
  for (auto* descs : {&request.inputs, &request.outputs}) {
    for (TensorDesc& desc : *descs) desc.space = kHostSpace;
  }
  return request;
}

/// Wraps the entry of a CPU kernel. Kernels are prepared for the values of an op's static inputs,
/// so these stay on the host.
KernelEntry wrapped(const KernelEntry& entry, const OpDef& op) {
  KernelEntry made = entry;
  made.host_inputs = op.static_inputs;
  std::sort(made.host_inputs.begin(), made.host_inputs.end());
  made.label = "simulated, " + entry.label;
  made.accepts = {};
  made.prepare = [&entry, on_host_inputs = made.host_inputs](
                     const KernelRequest& request) -> std::unique_ptr<PreparedKernel> {
    return std::make_unique<SimKernel>(
        prepare_kernel(entry, on_host(request)),
        SimOperands{request.inputs.size(), request.outputs.size(), on_host_inputs});
  };
  return made;
}

SimulatedDevices restrict_to_visible(SimulatedDevices options, const std::string& list) {
  if (list.empty()) return options;
  const std::vector<int> numbers = visible_devices(list, options.count, "accelerators");
  std::map<int, double> slow;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto it = options.slow.find(numbers[i]);
    if (it != options.slow.end()) slow[static_cast<int>(i)] = it->second;
  }
  options.count = static_cast<int>(numbers.size());
  options.slow = std::move(slow);
  return options;
}

}  // namespace

std::shared_ptr<Backend> make_sim_backend(const ConfigProto& config) {
  check(config.simulated);
  if (config.simulated.count == 0 && config.cuda.count > 0) return nullptr;  // the list is of GPUs
  const SimulatedDevices options =
      restrict_to_visible(config.simulated, config.gpu_options.visible_device_list);
  return options.count > 0 ? std::make_shared<SimBackend>(options) : nullptr;
}

SimBackend::SimBackend(SimulatedDevices options)
    : options_(std::move(options)), pool_(std::make_unique<ThreadPool>(1)) {
  check(options_);
  for (int i = 0; i < options_.count; ++i) {
    memories_.push_back(std::make_shared<SimMemory>(i, options_.memory));
  }
  for (int i = 0; i < options_.count; ++i) {
    devices_.emplace_back(i, options_, memories_, *pool_, threads_);
  }
}

SimBackend::~SimBackend() = default;

std::string SimBackend::description(int device) const {
  const Pace own = pace(device);
  const double mebibytes = static_cast<double>(options_.memory) / 1048576;
  return fmt::format("simulated accelerator, {}, copies at {:.1f} GB/s after {:.0f} us{}",
                     mebibytes < 1024 ? fmt::format("{:.1f} MiB", mebibytes)
                                      : fmt::format("{:.1f} GiB", mebibytes / 1024),
                     own.bytes_per_second / 1e9, own.latency * 1e6,
                     own.slowdown > 1 ? fmt::format(", {:g} times slower", own.slowdown) : "");
}

std::shared_ptr<void> SimBackend::allocate(int device, std::size_t bytes) {
  return memories_[static_cast<std::size_t>(device)]->allocate(bytes);
}

std::unique_ptr<Queue> SimBackend::make_queue(int device, Lane lane) {
  return std::make_unique<SimQueue>(devices_[static_cast<std::size_t>(device)], lane);
}

std::shared_ptr<Event> SimBackend::make_event() { return std::make_shared<HostEvent>(); }

const KernelEntry* SimBackend::find_kernel(const KernelRequest& request) const {
  const Effect effect = request.op->effect;
  const bool on_operands =
      effect == Effect::pure || effect == Effect::random || effect == Effect::writes_variable;
  if (!on_operands || !request.op->name_only_inputs.empty()) return nullptr;
  const auto has_plain_elements = [](const TensorDesc& desc) {
    return desc.dtype != DType::string && desc.dtype != DType::resource;
  };
  if (!std::all_of(request.inputs.begin(), request.inputs.end(), has_plain_elements) ||
      !std::all_of(request.outputs.begin(), request.outputs.end(), has_plain_elements)) {
    return nullptr;
  }
  const KernelEntry* entry = find_cpu_kernel(on_host(request));
  if (entry == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  auto& own = entries_[entry];
  if (own == nullptr) own = std::make_unique<KernelEntry>(wrapped(*entry, *request.op));
  return own.get();
}

}  // namespace towerflow

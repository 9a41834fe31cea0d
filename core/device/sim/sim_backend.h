#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/device/backend.h"
#include "core/device/config.h"
#include "core/device/sim/sim_queue.h"

namespace towerflow {

/// The memory space of the first simulated accelerator; each has its own.
inline constexpr MemorySpace kFirstSimSpace = 16;

/// Simulated accelerators. They run the kernels of the CPU, each on one core by a thread of the
/// device, on memory that the host cannot access. Ops that have state, use strings, or find their
/// shapes at run time have no kernel here.
class SimBackend : public Backend {
 public:
  /// Throws ValueError for invalid options, ResourceExhaustedError if the memory cannot be
  /// reserved.
  explicit SimBackend(SimulatedDevices options);
  ~SimBackend() override;

  const char* type() const override { return "SIM"; }
  const char* kind() const override { return "a simulated accelerator"; }
  bool replaces_type(const std::string& wanted) const override { return wanted == "GPU"; }
  int device_count() const override { return options_.count; }
  MemorySpace space(int device) const override {
    return kFirstSimSpace + static_cast<MemorySpace>(device);
  }
  Pace pace(int device) const override { return pace_of(options_, device); }
  std::string description(int device) const override;
  std::shared_ptr<void> allocate(int device, std::size_t bytes) override;
  std::unique_ptr<Queue> make_queue(int device, Lane lane) override;
  std::shared_ptr<Event> make_event() override;
  const KernelEntry* find_kernel(const KernelRequest& request) const override;
  const SimMemory& memory(int device) const { return *memories_[static_cast<std::size_t>(device)]; }

 private:
  SimulatedDevices options_;
  std::vector<std::shared_ptr<SimMemory>> memories_;
  std::unique_ptr<ThreadPool> pool_;
  SimThreads threads_;
  std::deque<SimDevice> devices_;
  mutable std::mutex mutex_;  // guards entries_
  mutable std::unordered_map<const KernelEntry*, std::unique_ptr<KernelEntry>> entries_;
};

/// Makes the accelerators that `simulated` specifies and `visible_device_list` shows; returns
/// nullptr if there are none. Throws ValueError for invalid options.
std::shared_ptr<Backend> make_sim_backend(const ConfigProto& config);

}  // namespace towerflow

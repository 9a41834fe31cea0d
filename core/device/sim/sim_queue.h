#pragma once

#include <random>
#include <span>
#include <vector>

#include "core/device/cpu/cpu_backend.h"
#include "core/device/sim/sim_memory.h"
#include "core/device/sim/sim_options.h"

namespace towerflow {

/// The queue of one engine of a simulated accelerator, run by the thread that walks it: the device
/// itself. Work takes at least the time that the device is given for it.
class SimQueue final : public Queue {
 public:
  /// `memories` are those of all devices, `device` the one it works for.
  SimQueue(int device, Lane lane, std::span<const std::shared_ptr<SimMemory>> memories,
           const SimulatedDevices& options, ThreadPool& pool);
  void copy(void* to, const void* from, std::size_t bytes) override;
  void record(Event& event) override;
  void wait(Event& event, Cancellation& cancellation) override;
  void synchronize() override {}

  /// Runs `kernel` on operands that all lie in the device's memory. Throws InternalError for one
  /// that does not, as a real device would end the launch.
  void launch(const PreparedKernel& kernel, const LaunchArgs& args, std::size_t inputs,
              std::size_t outputs);

 private:
  void hold_back();

  /// Where the launcher sees an address, of whatever device or the host.
  void* visible(const void* address) const;

  int device_;
  std::span<const std::shared_ptr<SimMemory>> memories_;
  const SimMemory& memory_;  // of its own device
  double slowdown_ = 1;
  double latency_;
  double bandwidth_;
  double jitter_;
  std::mt19937 random_;
  CpuQueue cores_;  // where its kernels really run: one core, which the device's thread is
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
};

}  // namespace towerflow

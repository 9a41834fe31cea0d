#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device/backend.h"
#include "core/device/cuda_devices.h"
#include "cuda/backend/device.h"

namespace towerflow::cuda {

/// The memory space of the first GPU; each has its own. Behind those of simulated accelerators.
inline constexpr MemorySpace kFirstCudaSpace = 2048;

/// GPUs /device:GPU:0 .., or their emulation on the host.
class CudaBackend final : public Backend {
 public:
  /// `numbers` are the cards in the order of the session's devices. Throws what Driver::open does.
  CudaBackend(const CudaDevices& options, std::vector<int> numbers);

  const char* type() const override { return "GPU"; }
  const char* kind() const override { return emulated() ? "an emulated GPU" : "a GPU"; }
  int device_count() const override { return static_cast<int>(devices_.size()); }
  MemorySpace space(int device) const override {
    return kFirstCudaSpace + static_cast<MemorySpace>(device);
  }
  Pace pace(int) const override { return {}; }
  std::string description(int device) const override;
  std::shared_ptr<void> allocate(int device, std::size_t bytes) override;
  std::shared_ptr<void> allocate_staging(std::size_t bytes) override;
  std::unique_ptr<Queue> make_queue(int device, Lane lane) override;
  std::shared_ptr<Event> make_event() override;
  const KernelEntry* find_kernel(const KernelRequest& request) const override;
  Collective collective(const std::vector<int>& devices) const override;

  bool emulated() const { return driver_->emulated(); }
  const std::shared_ptr<Device>& device(int index) const {
    return devices_[static_cast<std::size_t>(index)];
  }

 private:
  void add_entries();

  std::shared_ptr<Driver> driver_;
  std::vector<std::shared_ptr<Device>> devices_;
  const bool graphs_;
  KernelTable kernels_;
};

}  // namespace towerflow::cuda

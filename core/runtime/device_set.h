#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device/backend.h"
#include "core/graph/device_spec.h"
#include "core/graph/error.h"
#include "core/runtime/placement.h"

namespace towerflow {

/// One logical device of a session.
struct Device {
  Backend* backend = nullptr;
  int index = 0;     ///< index among the devices of its backend
  std::string name;  ///< "/job:localhost/replica:0/task:0/device:CPU:0"
  DeviceSpec spec;   ///< `name`, parsed

  MemorySpace space() const { return backend->space(index); }
  bool on_host() const { return space() == kHostSpace; }
};

/// Copies between pinned host memory and a device's memory on a new queue. Waits until the copy has
/// ended and throws its error, if any.
void copy_now(const Device& device, Lane lane, void* to, const void* from, std::size_t bytes);

/// The devices of a session.
class DeviceSet {
 public:
  /// Takes the backends in order of preference.
  explicit DeviceSet(std::vector<std::shared_ptr<Backend>> backends);

  const std::vector<Device>& devices() const { return devices_; }
  const Device& operator[](int index) const { return devices_[static_cast<std::size_t>(index)]; }

  /// Chooses the device for a request and stores the reason in `why`. Devices of one type may
  /// replace those of another; soft placement maps devices that do not exist to /cpu:(index mod
  /// number of CPUs). Worker i gets the device i places further on, unless it asks for a CPU.
  /// Throws InvalidArgumentError without soft placement.
  int choose(const std::string& asked, bool soft, const ErrorDetail& detail, std::string& why,
             int worker = 0) const;

  /// Returns the first device that uses host memory.
  int host() const;
  /// Returns the first device with a memory of its own; `host()` if there is none.
  int first_accelerator() const;
  /// Returns the first device of a backend.
  int first_device_of(const Backend& backend) const;
  /// Lists the devices in the format of TensorFlow's placement log, one per line.
  std::string mapping() const;

 private:
  std::vector<std::shared_ptr<Backend>> backends_;
  std::vector<Device> devices_;
};

}  // namespace towerflow

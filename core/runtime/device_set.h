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
  int index = 0;     ///< among the devices of its backend
  std::string name;  ///< "/job:localhost/replica:0/task:0/device:CPU:0"
  DeviceSpec spec;   ///< the same

  MemorySpace space() const { return backend->space(index); }
  bool on_host() const { return space() == kHostSpace; }
};

/// Copies between the host's memory, where it is pinned, and a device's, on a queue of its own.
/// Returns when the bytes are there; throws what has failed.
void copy_now(const Device& device, Lane lane, void* to, const void* from, std::size_t bytes);

/// The devices of a session.
class DeviceSet {
 public:
  /// Takes the backends in order of preference.
  explicit DeviceSet(std::vector<std::shared_ptr<Backend>> backends);

  const std::vector<Device>& devices() const { return devices_; }
  const Device& operator[](int index) const { return devices_[static_cast<std::size_t>(index)]; }

  /// The device for a request, with the reason in `why`. Devices of one type may stand in for
  /// another; soft placement sends what does not exist to /cpu:(index mod number of CPUs). Throws
  /// InvalidArgumentError in strict mode.
  int choose(const std::string& asked, bool soft, const ErrorDetail& detail,
             std::string& why) const;

  /// The first device with the host's memory.
  int host() const;
  /// The first device of a backend.
  int first_of(const Backend& backend) const;
  /// What there is, in the words of TensorFlow's placement log, one line a device.
  std::string mapping() const;

 private:
  std::vector<std::shared_ptr<Backend>> backends_;
  std::vector<Device> devices_;
};

}  // namespace towerflow

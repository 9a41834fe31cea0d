#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device/backend.h"
#include "core/graph/device_spec.h"
#include "core/graph/error.h"

namespace towerflow {

/// One logical device of a session.
struct Device {
  Backend* backend = nullptr;
  int index = 0;     ///< among the devices of its backend
  std::string name;  ///< "/job:localhost/replica:0/task:0/device:CPU:0"
};

/// Where a node runs and why: an entry of the placement ledger.
struct Placement {
  std::string node;
  std::string op;
  std::string asked;  ///< as the user wrote it
  std::string given;  ///< full device name
  std::string why;
};

/// The devices of a session.
class DeviceSet {
 public:
  /// Takes the backends in order of preference.
  explicit DeviceSet(std::vector<std::shared_ptr<Backend>> backends);

  const std::vector<Device>& devices() const { return devices_; }
  const Device& operator[](int index) const { return devices_[static_cast<std::size_t>(index)]; }

  /// The device for a request, with the reason in `why`. Soft placement sends what does not exist
  /// to /cpu:(index mod number of CPUs). Throws InvalidArgumentError in strict mode.
  int choose(const std::string& asked, bool soft, const ErrorDetail& detail,
             std::string& why) const;

 private:
  std::vector<std::shared_ptr<Backend>> backends_;
  std::vector<Device> devices_;
};

}  // namespace towerflow

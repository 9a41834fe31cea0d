#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/graph/site.h"

namespace towerflow::types {

/// A requested device, each part optional: /job:worker/replica:0/task:1/device:GPU:0.
struct DeviceSpec {
  std::optional<std::string> job;
  std::optional<int> replica;
  std::optional<int> task;
  std::optional<std::string> type;  ///< "CPU", "GPU"
  std::optional<int> index;

  /// Parses every spelling TensorFlow accepts: "cpu:0", "/cpu:0", "/device:GPU:1", "/job:a/task:2".
  /// Throws ValueError for an unknown part.
  static DeviceSpec parse(std::string_view text, Site site = Site::current());

  /// Returns this spec with the parts of `inner` taking precedence.
  DeviceSpec merged(const DeviceSpec& inner) const;
  /// Returns the canonical spelling: "/device:GPU:0"; "" if no part is given.
  std::string text() const;
  bool operator==(const DeviceSpec&) const = default;
};

}  // namespace towerflow::types

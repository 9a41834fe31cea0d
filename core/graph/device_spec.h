#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/graph/site.h"

namespace towerflow::types {

/// A device as a user asks for it, each part optional: /job:worker/replica:0/task:1/device:GPU:0.
struct DeviceSpec {
  std::optional<std::string> job;
  std::optional<int> replica;
  std::optional<int> task;
  std::optional<std::string> type;  ///< "CPU", "GPU"
  std::optional<int> index;

  /// Parses every spelling TensorFlow takes: "cpu:0", "/cpu:0", "/device:GPU:1", "/job:a/task:2".
  /// Throws ValueError for a part it does not know.
  static DeviceSpec parse(std::string_view text, Site site = Site::current());

  /// This spec with the parts of `inner` taking precedence.
  DeviceSpec merged(const DeviceSpec& inner) const;
  /// Canonical spelling: "/device:GPU:0"; "" when nothing is given.
  std::string text() const;
  bool operator==(const DeviceSpec&) const = default;
};

}  // namespace towerflow::types

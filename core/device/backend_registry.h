#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/device/backend.h"
#include "core/device/config.h"

namespace towerflow {

/// A kind of device that sessions may have.
struct BackendEntry {
  std::string type;  ///< of the names of its devices: "CPU"
  /// The backend of a session; nullptr where the options ask for none of its devices. Throws
  /// ValueError for options that do not fit.
  std::function<std::shared_ptr<Backend>(const ConfigProto&)> make;
};

/// Adds a program's own kind of devices behind those there are; sessions made from then on have it.
/// Safe from any thread.
///
/// errors   ValueError: no type, one that another backend has, or nothing to make it
void add_backend(BackendEntry entry);

/// The backends that a session's options ask for, the CPU first. Throws ValueError for options that
/// do not fit.
std::vector<std::shared_ptr<Backend>> make_backends(const ConfigProto& config);

/// Adds the backends of the library; defined above this folder, in ops/register_all.cc.
void register_backends(std::vector<BackendEntry>& entries);

}  // namespace towerflow

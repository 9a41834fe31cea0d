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
  std::string type;  ///< in the names of its devices: "CPU"
  /// Makes the backend of a session; nullptr if the options ask for none of its devices. Throws
  /// ValueError for invalid options.
  std::function<std::shared_ptr<Backend>(const ConfigProto&)> make;
};

/// Registers a kind of device defined by the program, after the existing ones; sessions created
/// later have it. Thread-safe.
///
/// errors   ValueError: the type is empty or already registered, or `make` is empty
void add_backend(BackendEntry entry);

/// Makes the backends that a session's options ask for, the CPU first. Throws ValueError for
/// invalid options.
std::vector<std::shared_ptr<Backend>> make_backends(const ConfigProto& config);

/// Adds the backends of the library. Defined in ops/register_all.cc, a layer above this one.
void register_backends(std::vector<BackendEntry>& entries);

/// Makes the GPUs that `cuda` asks for; nullptr if it asks for none. Defined in cuda/backend, a
/// layer above this one. Throws ValueError for invalid options, UnavailableError if CUDA or the
/// devices are not there.
std::shared_ptr<Backend> make_cuda_backend(const ConfigProto& config);

/// Returns what is missing here for GPUs as one sentence; empty if nothing is.
std::string what_cuda_misses();

}  // namespace towerflow

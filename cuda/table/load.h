#pragma once

#include <functional>
#include <string>

#include "cuda/table/source.h"

namespace towerflow::cuda {

/// How libraries are opened: by the system's loader, or in tests by another.
struct Loader {
  /// Returns a handle of the library, or nullptr.
  std::function<void*(const char* name)> open;
  std::function<void*(void* library, const char* symbol)> symbol;
  /// Returns the path of the file that contains an address.
  std::function<std::string(void* address)> path;
};

/// The system's: dlopen and dlsym. Libraries stay open until the process ends.
Loader system_loader();

/// Looks for a driver, a device and the runtime, in this order, and returns the table of the
/// system's libraries. The other libraries are not touched: cuBLASLt alone takes 150 MB.
SourceOrReason load_table(const Loader& loader = system_loader());

}  // namespace towerflow::cuda

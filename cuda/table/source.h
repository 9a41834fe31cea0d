#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cuda/table/table.h"

namespace towerflow::cuda {

/// A library that was opened.
struct OpenedLibrary {
  Group group = Group::runtime;
  std::string path;     ///< of its file
  std::string version;  ///< "13.0"; empty if the library does not tell
};

/// Where a table comes from: the libraries of the system, or the emulation on the host. A plug-in
/// provides it, which may be of another build, but is of the same compiler.
class Source {
 public:
  virtual ~Source() = default;

  /// The runtime's entries are filled from the start, those of another group once it is open.
  virtual const Table& table() const = 0;
  /// Opens a group, if it is not open. Returns what is missing as one sentence, empty if nothing
  /// is. Threads may call it at once.
  virtual std::string open(Group group) = 0;
  /// Returns the libraries opened so far, in the order of the groups.
  virtual std::vector<OpenedLibrary> opened() const = 0;
};

/// A source, or one sentence that says what is missing.
struct SourceOrReason {
  std::unique_ptr<Source> source;
  std::string missing;
};

/// Changes whenever the table or this file does.
inline constexpr int kSourceInterface = 1;

/// The function that plug-ins export as "towerflow_open_cuda". It returns false to a program with
/// another interface, whose result it does not touch.
using OpenSource = bool (*)(int interface, const char* options, SourceOrReason* result);

}  // namespace towerflow::cuda

#include "core/device/backend_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "core/graph/error.h"

namespace towerflow {
namespace {

struct Backends {
  std::mutex mutex;
  std::vector<BackendEntry> all;
};

Backends& known_backends() {
  static Backends* backends = [] {
    auto* made = new Backends;
    register_backends(made->all);
    return made;
  }();
  return *backends;
}

}  // namespace

void add_backend(BackendEntry entry) {
  if (entry.type.empty()) throw ValueError("a backend needs the type of its devices");
  if (!entry.make) throw ValueError(fmt::format("backend '{}' has no `make`", entry.type));
  Backends& backends = known_backends();
  const std::lock_guard lock(backends.mutex);
  if (std::any_of(backends.all.begin(), backends.all.end(),
                  [&](const BackendEntry& known) { return known.type == entry.type; })) {
    throw ValueError(fmt::format("backend '{}' is registered already", entry.type));
  }
  backends.all.push_back(std::move(entry));
}

std::vector<std::shared_ptr<Backend>> make_backends(const ConfigProto& config) {
  Backends& backends = known_backends();
  std::vector<BackendEntry> entries;
  {
    const std::lock_guard lock(backends.mutex);
    entries = backends.all;
  }
  std::vector<std::shared_ptr<Backend>> made;
  for (const BackendEntry& entry : entries) {
    if (auto backend = entry.make(config)) made.push_back(std::move(backend));
  }
  return made;
}

}  // namespace towerflow

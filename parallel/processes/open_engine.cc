#include "parallel/processes/open_engine.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "core/device/plugin_places.h"
#include "core/graph/error.h"
#include "parallel/processes/group.h"

namespace towerflow::parallel {
namespace {

constexpr const char* kPlugin = "libtowerflow_mpi.so";

void* open_plugin() {
  const std::vector<std::string> places = places_of_plugin(kPlugin, "packaging");
  for (const std::string& place : places) {
    std::error_code unknown;
    if (!std::filesystem::exists(place, unknown)) continue;
    // Open MPI loads components of its own, which look for its symbols among the global ones.
    if (void* plugin = dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL)) return plugin;
    throw errors::UnavailableError(
        fmt::format("the plug-in for MPI cannot be loaded: {}", dlerror()),
        {.hint = "install Open MPI, Debian's package openmpi-bin"});
  }
  // Where the system looks: LD_LIBRARY_PATH, and its own folders.
  if (void* plugin = dlopen(kPlugin, RTLD_NOW | RTLD_GLOBAL)) return plugin;
  throw errors::NotFoundError(
      fmt::format("mpirun has started this process, but there is no {}", kPlugin),
      {.hint = fmt::format("it is built where Debian's libopenmpi-dev is installed; it was looked "
                           "for at {}",
                           fmt::join(places, ", "))});
}

}  // namespace

std::unique_ptr<processes::MessageEngine> processes::open_mpi_engine() {
  void* plugin = open_plugin();
  const auto open = reinterpret_cast<OpenEngine>(dlsym(plugin, kOpenEngine));
  std::unique_ptr<MessageEngine> engine;
  if (open != nullptr) {
    try {
      engine.reset(open(kEngineInterface));
    } catch (const std::exception& error) {
      throw errors::UnavailableError(fmt::format("MPI cannot be started: {}", error.what()));
    }
  }
  if (engine == nullptr) {
    throw errors::UnavailableError(fmt::format("{} belongs to another version", kPlugin));
  }
  return engine;
}

bool started_by_mpirun() { return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr; }

ProcessGroup& process_group() {
  static const auto group = started_by_mpirun()
                                ? std::make_unique<ProcessGroup>(processes::open_mpi_engine)
                                : std::make_unique<ProcessGroup>();
  return *group;
}

}  // namespace towerflow::parallel

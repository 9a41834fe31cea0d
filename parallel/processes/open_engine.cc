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

#include "core/graph/error.h"
#include "parallel/processes/group.h"

namespace towerflow::parallel {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlugin = "libtowerflow_mpi.so";

/// Returns where the plug-in may be. The build puts it in a folder beside the programs; an
/// installation beside the library, which is below the prefix of the command.
std::vector<std::string> places_of_plugin() {
  Dl_info info;
  std::error_code unknown;
  if (dladdr(reinterpret_cast<const void*>(&places_of_plugin), &info) == 0) return {};
  fs::path file = info.dli_fname;  // that contains this code: the library, or a program
  if (!fs::exists(file, unknown)) file = fs::read_symlink("/proc/self/exe", unknown);
  const fs::path beside = fs::weakly_canonical(file, unknown).parent_path();
  const fs::path prefix = beside.parent_path();
  std::vector<fs::path> folders{beside, beside / "packaging", prefix / "packaging", prefix / "lib",
                                prefix / "lib64"};
  for (const auto& below : fs::directory_iterator(prefix / "lib", unknown)) {
    if (below.path().filename().string().ends_with("-linux-gnu")) folders.push_back(below.path());
  }
  std::vector<std::string> places;
  for (const fs::path& folder : folders) places.push_back((folder / kPlugin).string());
  return places;
}

void* open_plugin() {
  const std::vector<std::string> places = places_of_plugin();
  for (const std::string& place : places) {
    std::error_code unknown;
    if (!fs::exists(place, unknown)) continue;
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

#include "core/device/plugin_places.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

namespace towerflow {

std::vector<std::string> places_of_plugin(const char* file, const char* folder) {
  namespace fs = std::filesystem;
  Dl_info info;
  std::error_code unknown;
  if (dladdr(reinterpret_cast<const void*>(&places_of_plugin), &info) == 0) return {};
  fs::path own = info.dli_fname;  // the file with this code: the library, or a program
  if (!fs::exists(own, unknown)) own = fs::read_symlink("/proc/self/exe", unknown);
  const fs::path beside = fs::weakly_canonical(own, unknown).parent_path();
  const fs::path prefix = beside.parent_path();
  std::vector<fs::path> folders{beside, beside / folder, prefix / folder, prefix / "lib",
                                prefix / "lib64"};
  for (const auto& below : fs::directory_iterator(prefix / "lib", unknown)) {
    if (below.path().filename().string().ends_with("-linux-gnu")) folders.push_back(below.path());
  }
  std::vector<std::string> places;
  for (const fs::path& one : folders) places.push_back((one / file).string());
  return places;
}

}  // namespace towerflow

#include "cuda/host/host_compiler.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "cuda/device/header_texts.h"

namespace towerflow::cuda::host {
namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

// As cuda/device/meson.build has them.
constexpr const char* kCompiler[] = {TOWERFLOW_HOST_COMPILER};
constexpr const char* kArguments[] = {TOWERFLOW_HOST_KERNEL_ARGS};

/// A folder that goes with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code none;
    std::string name = (fs::temp_directory_path(none) / "towerflow-kernel-XXXXXX").string();
    if (!none && ::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code stays;
    if (!path_.empty()) fs::remove_all(path_, stays);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// Empty if it could not be made.
  const fs::path& path() const { return path_; }

  std::string read(const char* name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// Returns false if it cannot be written, or the name leads out of the folder.
  bool write(const fs::path& name, const std::string& text) const {
    if (name.is_absolute() || std::find(name.begin(), name.end(), "..") != name.end()) return false;
    std::error_code exists;
    fs::create_directories((path_ / name).parent_path(), exists);
    std::ofstream file(path_ / name, std::ios::binary);
    file << text;
    return file.flush().good();
  }

 private:
  fs::path path_;
};

/// Runs a program in a folder, where the file "log" gets what it says. Returns whether it succeeds.
bool run(const fs::path& folder, Arguments arguments) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  if (::posix_spawn_file_actions_init(&actions) != 0) return false;
  ::posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "log", O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int failed =
      ::posix_spawnp(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return false;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Returns the compiler's command with more arguments.
template <class... Lists>
Arguments compiler(const Lists&... lists) {
  Arguments all(std::begin(kCompiler), std::end(kCompiler));
  (all.insert(all.end(), std::begin(lists), std::end(lists)), ...);
  return all;
}

/// Kernels call the access hooks by names that the plug-in does not export: a program may have
/// ThreadSanitizer's functions of these names. The linker gives them the prefix __wrap_.
Arguments renamed_hooks() {
  Arguments all;
  const auto add = [&](const std::string& hook) { all.push_back("-Wl,--wrap=__tsan_" + hook); };
  for (const char* access : {"read", "write"}) {
    for (const char* bytes : {"1", "2", "4", "8", "16"}) {
      for (const char* kind : {"", "unaligned_", "volatile_"})
        add(std::string(kind) + access + bytes);
    }
    add(std::string(access) + "_range");
  }
  for (const char* other : {"init", "func_entry", "func_exit"}) add(other);
  return all;
}

/// Returns the file with this code, which exports what kernels call.
std::string own_file() {
  Dl_info info{};
  std::error_code unknown;
  if (::dladdr(reinterpret_cast<const void*>(&has_host_compiler), &info) == 0) return "";
  return fs::canonical(info.dli_fname, unknown).string();
}

bool write_sources(const TemporaryFolder& folder, const std::string& text,
                   const std::vector<Header>& headers) {
  if (folder.path().empty() || !folder.write("kernel.cc", text)) return false;
  for (const Header& header : headers) {
    if (!folder.write(header.name, header.text)) return false;
  }
  for (const HeaderText& header : host_headers()) {
    if (!folder.write(header.name, header.text)) return false;
  }
  return true;
}

}  // namespace

bool has_host_compiler() {
  const TemporaryFolder folder;
  return !folder.path().empty() && run(folder.path(), compiler(Arguments{"--version"}));
}

Compilation compile_for_host(const std::string& text, const std::vector<Header>& headers) {
  const TemporaryFolder folder;
  if (!write_sources(folder, text, headers)) return {"", "the text cannot be written to a file"};
  const Arguments input = {"-iquote", ".", "-c", "kernel.cc", "-o", "kernel.o"};
  const Arguments output = {"-shared", "kernel.o", own_file(), "-o", "kernel.so"};
  // Paths are relative, so that ccache knows a text that it has seen before.
  const bool done = run(folder.path(), compiler(kArguments, input)) &&
                    run(folder.path(), compiler(output, renamed_hooks()));
  return {done ? folder.read("kernel.so") : "", folder.read("log")};
}

}  // namespace towerflow::cuda::host

#include "tools/machine.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <thread>

#include "ops/onednn/version.h"
#include "ops/simd/loops.h"

namespace towerflow::tools {
namespace {

/// Returns the number after `key` in a file such as /proc/meminfo; nothing if there is none.
std::optional<std::uint64_t> number_in(const char* path, std::string_view key, int base = 10) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t at = line.find_first_not_of(" \t", key.size());
    if (at == std::string::npos) return std::nullopt;
    std::uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(line.data() + at, line.data() + line.size(), value, base);
    return error == std::errc{} ? std::optional(value) : std::nullopt;
  }
  return std::nullopt;
}

/// Returns whether the process has CAP_IPC_LOCK, which allows it to lock any amount of memory.
bool has_lock_capability() {
  constexpr unsigned kCapIpcLock = 14;
  return (number_in("/proc/self/status", "CapEff:", 16).value_or(0) >> kCapIpcLock & 1) != 0;
}

std::optional<std::uint64_t> lock_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      has_lock_capability())
    return std::nullopt;
  return limit.rlim_cur;
}

std::string compiler_text() {
#if defined(__clang__)
  return fmt::format("clang++ {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
  return "an unknown compiler";
#endif
}

std::string build_text() {
#if defined(__OPTIMIZE__)
  std::string text = "optimised";
#else
  std::string text = "not optimised";
#endif
#if !defined(NDEBUG)
  text += ", with assertions";
#endif
#if defined(TOWERFLOW_VERIFY)
  text += ", with the graph verifier";
#endif
  return text;
}

std::string system_text() {
  utsname name{};
  if (uname(&name) != 0) return "an unknown system";
  return fmt::format("{} {}", name.sysname, name.machine);
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0)
    machine.memory = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
  machine.memory_free = number_in("/proc/meminfo", "MemAvailable:").value_or(0) * 1024;
  machine.lock_limit = lock_limit();
  machine.locked = number_in("/proc/self/status", "VmLck:").value_or(0) * 1024;
  machine.instruction_set = simd::level_name(simd::loops().level);
  machine.onednn = onednn::library_version();
  return machine;
}

std::string version_text() {
  const Machine machine = this_machine();
  return fmt::format("towerflow " TOWERFLOW_VERSION
                     "\n"
                     "compiler:         {}, {}\n"
                     "oneDNN:           {}\n"
                     "instruction set:  {}\n"
                     "system:           {}, {} core{}",
                     compiler_text(), build_text(), machine.onednn, machine.instruction_set,
                     system_text(), machine.cores, machine.cores == 1 ? "" : "s");
}

}  // namespace towerflow::tools

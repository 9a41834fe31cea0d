// The functions that -fsanitize=thread calls at each access of memory. Only the files of kernels
// are compiled with it, and nothing is linked with ThreadSanitizer: these functions take its place.
// They must not throw, since compilers take that for granted; BlockRunner::fail leaves the fiber.

#include <link.h>

#include <cstdint>
#include <cstdio>

#include "cuda/host/launch_trace.h"

namespace towerflow::cuda::host {
namespace {

/// Static storage that is found without a call, as the hooks run for each access.
[[gnu::tls_model("initial-exec")]] thread_local BufferTrace* buffers = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local BlockRunner* runner = nullptr;

/// Returns whether the bytes are constants of this library: tables of the kernels.
bool is_constant(const void* address) {
  static const auto constants = [] {
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> ranges;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
          std::vector<std::pair<std::uintptr_t, std::uintptr_t>> found;
          bool here = false;
          const auto self = reinterpret_cast<std::uintptr_t>(&is_constant);
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            const auto& header = info->dlpi_phdr[i];
            if (header.p_type != PT_LOAD) continue;
            const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
            here |= self >= begin && self - begin < header.p_memsz;
            if ((header.p_flags & PF_W) == 0) found.emplace_back(begin, begin + header.p_memsz);
          }
          if (here) *static_cast<decltype(found)*>(data) = found;
          return here ? 1 : 0;
        },
        &ranges);
    return ranges;
  }();
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const auto& [begin, end] : constants) {
    if (at >= begin && at < end) return true;
  }
  return false;
}

/// Text on the stack of a fiber, which is abandoned with it.
using Text = char[200];

/// Says where an address lies, if that is near a buffer of the launch.
void describe_place(const void* address, Text& text) {
  constexpr std::uintptr_t kNear = 4096;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const auto& entry : buffers->entries()) {
    const auto begin = reinterpret_cast<std::uintptr_t>(entry.buffer.host);
    const std::size_t bytes = entry.buffer.bytes;
    if (at < begin && at + kNear >= begin) {
      std::snprintf(text, sizeof text, "%zu bytes before a buffer of %zu bytes", begin - at, bytes);
      return;
    }
    if (at >= begin && at < begin + bytes + kNear) {
      std::snprintf(text, sizeof text, "at byte %zu of a buffer of %zu bytes", at - begin, bytes);
      return;
    }
  }
  std::snprintf(text, sizeof text, at < kNear ? "near address 0" : "far from every buffer");
}

[[gnu::noinline]] void access_elsewhere(const void* address, std::size_t bytes, bool write) {
  if (runner->on_stack(address)) return;
  if (runner->is_shared(address)) return runner->access_shared(address, bytes, write);
  if (!write && is_constant(address)) return;
  Text place, text;
  describe_place(address, place);
  std::snprintf(text, sizeof text,
                "a %s of %zu bytes outside of every buffer of the launch, %.100s",
                write ? "write" : "read", bytes, place);
  runner->fail(cudaErrorIllegalAddress, text);
}

[[gnu::noinline]] void misaligned(std::size_t bytes) {
  Text text;
  std::snprintf(text, sizeof text, "an access of %zu bytes that is not aligned", bytes);
  runner->fail(cudaErrorMisalignedAddress, text);
}

[[gnu::noinline]] void race(const void* address, std::size_t bytes, bool write) {
  const Buffer& buffer = buffers->find(address, bytes)->buffer;
  Text text;
  std::snprintf(text, sizeof text,
                "a race: a %s of %zu bytes that another %s has written, at byte %zu of a buffer of "
                "%zu bytes",
                write ? "write" : "read", bytes, runner->meets() ? "block" : "thread",
                static_cast<std::size_t>(static_cast<const std::byte*>(address) - buffer.host),
                buffer.bytes);
  runner->fail(cudaErrorLaunchFailure, text);
}

/// `by_many`: other threads may write the same bytes.
inline void access(const void* address, std::size_t bytes, bool write, bool by_many = false) {
  if (buffers == nullptr) return;  // static objects of a file of kernels are made
  if (auto* entry = buffers->find(address, bytes)) {
    buffers->record(*entry, address, bytes, write);
    if (!by_many && !BufferTrace::allows(*entry, address, bytes, write, runner->writer())) {
      race(address, bytes, write);
    }
  } else {
    access_elsewhere(address, bytes, write);
  }
}

template <std::size_t kBytes>
inline void aligned_access(const void* address, bool write, bool by_many = false) {
  if (buffers != nullptr && reinterpret_cast<std::uintptr_t>(address) % kBytes != 0) {
    misaligned(kBytes);
  }
  access(address, kBytes, write, by_many);
}

}  // namespace

ActiveLaunch::ActiveLaunch(BlockRunner& launched, BufferTrace& trace) {
  active_runner() = runner = &launched;
  buffers = &trace;
}

ActiveLaunch::~ActiveLaunch() {
  active_runner() = runner = nullptr;
  buffers = nullptr;
}

}  // namespace towerflow::cuda::host

using towerflow::cuda::host::access;
using towerflow::cuda::host::aligned_access;

/// Exports a function for kernels that are compiled while the program runs (host_compiler.cc).
#define TOWERFLOW_EXPORT(name, ...) \
  [[gnu::alias(#name)]] TOWERFLOW_CUDA_VISIBLE void __wrap_##name(__VA_ARGS__);

#define TOWERFLOW_HOOKS(bytes)                                                           \
  void __tsan_read##bytes(void* at) { aligned_access<bytes>(at, false); }                \
  void __tsan_write##bytes(void* at) { aligned_access<bytes>(at, true); }                \
  void __tsan_unaligned_read##bytes(void* at) { access(at, bytes, false); }              \
  void __tsan_unaligned_write##bytes(void* at) { access(at, bytes, true); }              \
  void __tsan_volatile_read##bytes(void* at) { aligned_access<bytes>(at, false, true); } \
  void __tsan_volatile_write##bytes(void* at) { aligned_access<bytes>(at, true, true); } \
  TOWERFLOW_EXPORT(__tsan_read##bytes, void*)                                            \
  TOWERFLOW_EXPORT(__tsan_write##bytes, void*)                                           \
  TOWERFLOW_EXPORT(__tsan_unaligned_read##bytes, void*)                                  \
  TOWERFLOW_EXPORT(__tsan_unaligned_write##bytes, void*)                                 \
  TOWERFLOW_EXPORT(__tsan_volatile_read##bytes, void*)                                   \
  TOWERFLOW_EXPORT(__tsan_volatile_write##bytes, void*)

extern "C" {
TOWERFLOW_HOOKS(1)
TOWERFLOW_HOOKS(2)
TOWERFLOW_HOOKS(4)
TOWERFLOW_HOOKS(8)
TOWERFLOW_HOOKS(16)
void __tsan_read_range(void* at, std::size_t bytes) { access(at, bytes, false); }
void __tsan_write_range(void* at, std::size_t bytes) { access(at, bytes, true); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
TOWERFLOW_EXPORT(__tsan_read_range, void*, std::size_t)
TOWERFLOW_EXPORT(__tsan_write_range, void*, std::size_t)
TOWERFLOW_EXPORT(__tsan_init)
TOWERFLOW_EXPORT(__tsan_func_entry, void*)
TOWERFLOW_EXPORT(__tsan_func_exit)
}

#include "tests/memory/failing_allocation.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

extern "C" void* __libc_memalign(std::size_t alignment, std::size_t bytes);

namespace {

using towerflow::testing::ResourceKind;

std::atomic<long> counted[3];
std::atomic<long> refused{-1};  // -1: no counting
std::atomic<ResourceKind> refused_kind{ResourceKind::object};

const void* program() {
  static const void* base = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<const void*>(&program), &info);
    return info.dli_fbase;
  }();
  return base;
}

/// Returns whether this program's code requests the memory: whether it is the first on the stack
/// from `caller` on, apart from libraries that only pass requests on.
bool is_called_by_program(const void* caller) {
  void* frames[24];
  const int depth = backtrace(frames, 24);
  int i = 0;
  while (i < depth && frames[i] != caller) ++i;
  for (; i < depth; ++i) {
    Dl_info info{};
    if (dladdr(frames[i], &info) == 0) return false;
    if (info.dli_fbase == program()) return true;
    const bool passes_on = std::strstr(info.dli_fname, "libstdc++") != nullptr ||
                           std::strstr(info.dli_fname, "libfmt") != nullptr;
    if (!passes_on) return false;
  }
  return false;
}

/// Counts a request and returns whether to refuse it.
bool refuses(ResourceKind kind, const void* caller) {
  if (refused.load(std::memory_order_relaxed) < 0) return false;
  thread_local bool inside = false;  // dladdr and backtrace may allocate
  if (inside) return false;
  inside = true;
  bool result = false;
  if (is_called_by_program(caller)) {
    const long number = counted[static_cast<int>(kind)].fetch_add(1) + 1;
    result = kind == refused_kind.load() && number == refused.load();
  }
  inside = false;
  return result;
}

void* object(std::size_t bytes, std::size_t alignment, const void* caller) {
  if (refuses(ResourceKind::object, caller)) return nullptr;
  return alignment == 0 ? std::malloc(bytes == 0 ? 1 : bytes) : __libc_memalign(alignment, bytes);
}

void* object_or_throw(std::size_t bytes, std::size_t alignment, const void* caller) {
  void* memory = object(bytes, alignment, caller);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

namespace towerflow::testing {

void fail_allocation(ResourceKind kind, long number) {
  void* frames[4];
  backtrace(frames, 4);  // loads its libraries now
  program();
  if (number >= 0) {
    for (auto& count : counted) count = 0;
  }
  refused_kind = kind;
  refused = number;
}
long allocation_count(ResourceKind kind) { return counted[static_cast<int>(kind)]; }

}  // namespace towerflow::testing

#define CALLER __builtin_return_address(0)

void* operator new(std::size_t bytes) { return object_or_throw(bytes, 0, CALLER); }
void* operator new[](std::size_t bytes) { return object_or_throw(bytes, 0, CALLER); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return object_or_throw(bytes, static_cast<std::size_t>(alignment), CALLER);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return object_or_throw(bytes, static_cast<std::size_t>(alignment), CALLER);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return object(bytes, 0, CALLER);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return object(bytes, 0, CALLER);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

extern "C" {

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (!refuses(ResourceKind::block, CALLER)) return __libc_memalign(alignment, bytes);
  errno = ENOMEM;
  return nullptr;
}

void* mmap(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  if (refuses(ResourceKind::block, CALLER)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(
      syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return refuses(ResourceKind::thread, CALLER) ? EAGAIN
                                               : create(thread, attributes, body, argument);
}

}  // extern "C"

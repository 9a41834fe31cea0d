#pragma once

// What kernels use on the host in place of CUDA's built-in variables and functions. Only
// cuda/device/kernel.cuh includes this. The plug-in exports it for kernels that are compiled while
// the program runs.

#include <vector_types.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "cuda/host/visible.h"

namespace towerflow::cuda::host {

// Each returns the same value as long as a thread of a kernel runs, so that compilers call it once.
[[gnu::const]] TOWERFLOW_CUDA_VISIBLE uint3 thread_index();
[[gnu::const]] TOWERFLOW_CUDA_VISIBLE uint3 block_index();
[[gnu::const]] TOWERFLOW_CUDA_VISIBLE dim3 block_size();
[[gnu::const]] TOWERFLOW_CUDA_VISIBLE dim3 grid_size();

/// __syncthreads
TOWERFLOW_CUDA_VISIBLE void meet_block();

/// From which lane of its warp a thread gets a value.
enum class Exchange { none, lane, up, down, exclusive_or, ballot };

/// Waits for the lanes of the mask, which call it with the same `kind`. `none` returns `value`.
TOWERFLOW_CUDA_VISIBLE std::uint64_t exchange(Exchange kind, unsigned mask, std::uint64_t value,
                                              unsigned lane, int width);

/// The bits of a number of up to 8 bytes travel between the lanes.
template <class T>
T exchange_value(Exchange kind, unsigned mask, T value, unsigned lane, int width) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
  using Bits = std::conditional_t<
      sizeof(T) == 8, std::uint64_t,
      std::conditional_t<sizeof(T) == 4, std::uint32_t,
                         std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>>;
  const std::uint64_t got = exchange(kind, mask, std::bit_cast<Bits>(value), lane, width);
  return std::bit_cast<T>(static_cast<Bits>(got));
}

TOWERFLOW_CUDA_VISIBLE void* shared_variable(const void* site, std::size_t bytes,
                                             std::size_t alignment);
TOWERFLOW_CUDA_VISIBLE void* dynamic_shared();

/// Registers a kernel when it goes out of scope.
///
/// Files of kernels use no containers of the standard library: their instrumented copies of its
/// functions would replace those that the emulation calls.
class TOWERFLOW_CUDA_VISIBLE KernelRecord {
 public:
  KernelRecord(const char* name, unsigned max_threads, std::size_t static_shared, bool meets,
               void (*thread)(void* const*));
  KernelRecord(const KernelRecord&) = delete;
  KernelRecord& operator=(const KernelRecord&) = delete;
  ~KernelRecord();

  void add_parameter(std::size_t bytes);
  void add_pointer(std::size_t offset);  ///< of the parameter that was added last

 private:
  struct HostKernel* kernel_;
};

/// Adds a parameter of a kernel. A struct lists its pointers with TOWERFLOW_POINTERS.
template <class T>
void add_parameter(KernelRecord& record) {
  static_assert(std::is_trivially_copyable_v<T>);
  record.add_parameter(sizeof(T));
  if constexpr (std::is_pointer_v<T>) {
    record.add_pointer(0);
  } else if constexpr (std::is_class_v<T>) {
    const T probe{};
    probe.visit_pointers([&](const auto* const& pointer) {
      record.add_pointer(static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&pointer) -
                                                  reinterpret_cast<const std::byte*>(&probe)));
    });
  }
}

/// Makes a registered kernel of a function of the host.
template <auto kFunction>
class Registration;

template <class... P, void (*kFunction)(P...)>
class Registration<kFunction> {
 public:
  Registration(const char* name, unsigned max_threads, std::size_t static_shared, bool meets) {
    static_assert((sizeof(P) + ... + 0) <= 4000, "parameters of a kernel have at most 4 KB");
    KernelRecord record(name, max_threads, static_shared, meets, &thread);
    (add_parameter<P>(record), ...);
  }

 private:
  /// Reads the arguments, whose memory is not the kernel's.
  __attribute__((no_sanitize("thread"))) static void thread(void* const* arguments) {
    call(arguments, std::index_sequence_for<P...>());
  }
  template <std::size_t... kIndex>
  __attribute__((no_sanitize("thread"))) static void call([[maybe_unused]] void* const* arguments,
                                                          std::index_sequence<kIndex...>) {
    kFunction(*static_cast<const P*>(static_cast<const void*>(arguments[kIndex]))...);
  }
};

}  // namespace towerflow::cuda::host

#pragma once

// How a kernel is written, once for two compilers: nvcc makes a function of a fatbin from it, and
// g++ a function of the host that the emulation runs (cuda/host/host_kernel.h).
//
//   TOWERFLOW_KERNEL(scale_f32, 256, const float* x, float* y, std::int64_t n) { .. }
//
// Names are unique, since launches find kernels by name alone. The second argument is the largest
// number of threads of a block. A kernel whose threads meet (barriers, warp operations, shared
// memory) is a TOWERFLOW_MEETING_KERNEL, whose third argument is its static shared memory in bytes.
// A struct that is a parameter lists its pointers with TOWERFLOW_POINTERS(a, b), or with none.
//
// TOWERFLOW_SHARED(Type, name)          a variable in static shared memory; Type may be an array
// TOWERFLOW_DYNAMIC_SHARED(Type, name)  a pointer to the shared memory that the launch asked for
// TOWERFLOW_DEVICE                      a function that kernels call

#include <cstddef>
#include <cstdint>

#include "cuda/device/pointers.h"

#if defined(__CUDACC__)

#include <cuda_runtime.h>

#define TOWERFLOW_DEVICE __device__ __forceinline__
#define TOWERFLOW_KERNEL(name, max_threads, ...) \
  extern "C" __global__ void __launch_bounds__(max_threads) name(__VA_ARGS__)
#define TOWERFLOW_MEETING_KERNEL(name, max_threads, static_shared, ...) \
  extern "C" __global__ void __launch_bounds__(max_threads) name(__VA_ARGS__)
#define TOWERFLOW_SHARED(Type, name) __shared__ Type name
#define TOWERFLOW_DYNAMIC_SHARED(Type, name)                                \
  extern __shared__ __align__(16) unsigned char towerflow_dynamic_shared[]; \
  Type* const name = reinterpret_cast<Type*>(towerflow_dynamic_shared)

#else

#include "cuda/host/device_code.h"

#define TOWERFLOW_DEVICE inline
#define TOWERFLOW_KERNEL(name, max_threads, ...)                                    \
  static void name(__VA_ARGS__);                                                    \
  static const ::towerflow::cuda::host::Registration<&name> registration_of_##name( \
      #name, max_threads, 0, false);                                                \
  static void name(__VA_ARGS__)
#define TOWERFLOW_MEETING_KERNEL(name, max_threads, static_shared, ...)             \
  static void name(__VA_ARGS__);                                                    \
  static const ::towerflow::cuda::host::Registration<&name> registration_of_##name( \
      #name, max_threads, static_shared, true);                                     \
  static void name(__VA_ARGS__)
#define TOWERFLOW_SHARED(Type, name)                             \
  static const char name##_site = 0;                             \
  Type& name = reinterpret_cast<Type&>(*static_cast<std::byte*>( \
      ::towerflow::cuda::host::shared_variable(&name##_site, sizeof(Type), alignof(Type))))
#define TOWERFLOW_DYNAMIC_SHARED(Type, name) \
  Type* const name = static_cast<Type*>(::towerflow::cuda::host::dynamic_shared())

#define threadIdx ::towerflow::cuda::host::thread_index()
#define blockIdx ::towerflow::cuda::host::block_index()
#define blockDim ::towerflow::cuda::host::block_size()
#define gridDim ::towerflow::cuda::host::grid_size()

inline void __syncthreads() { ::towerflow::cuda::host::meet_block(); }
inline void __syncwarp(unsigned mask = 0xffffffffU) {
  ::towerflow::cuda::host::exchange(::towerflow::cuda::host::Exchange::none, mask, 0, 0, 32);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return static_cast<unsigned>(::towerflow::cuda::host::exchange(
      ::towerflow::cuda::host::Exchange::ballot, mask, predicate != 0, 0, 32));
}
template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {
  return ::towerflow::cuda::host::exchange_value(::towerflow::cuda::host::Exchange::lane, mask,
                                                 value, static_cast<unsigned>(lane), width);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32) {
  return ::towerflow::cuda::host::exchange_value(::towerflow::cuda::host::Exchange::up, mask, value,
                                                 distance, width);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32) {
  return ::towerflow::cuda::host::exchange_value(::towerflow::cuda::host::Exchange::down, mask,
                                                 value, distance, width);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32) {
  return ::towerflow::cuda::host::exchange_value(::towerflow::cuda::host::Exchange::exclusive_or,
                                                 mask, value, static_cast<unsigned>(lanes), width);
}

#endif

#pragma once

// How structs that kernels take are written for nvcc, for the emulation and for the code that
// launches kernels: TOWERFLOW_BOTH marks functions that kernels call too, TOWERFLOW_POINTERS lists
// the fields that are or contain pointers to device memory (or nothing).
// TOWERFLOW_SHARED_BY_THREADS is the type of what several threads of a launch may write: the
// emulation takes that for no race.

#include <type_traits>

#if defined(__CUDACC__)
#define TOWERFLOW_BOTH __host__ __device__ __forceinline__
#define TOWERFLOW_SHARED_BY_THREADS(Type) Type
#define TOWERFLOW_POINTERS(...)
#else
#define TOWERFLOW_BOTH inline
#define TOWERFLOW_SHARED_BY_THREADS(Type) volatile Type
#define TOWERFLOW_POINTERS(...)                                              \
  template <class Visit>                                                     \
  void visit_pointers([[maybe_unused]] Visit visit) const {                  \
    ::towerflow::cuda::device::visit_each(visit __VA_OPT__(, ) __VA_ARGS__); \
  }

namespace towerflow::cuda::device {

template <class Visit, class T>
void visit_field(Visit& visit, const T& field) {
  if constexpr (std::is_array_v<T>) {
    for (const auto& element : field) visit_field(visit, element);
  } else if constexpr (std::is_class_v<T>) {
    field.visit_pointers(visit);
  } else {
    visit(field);
  }
}
template <class Visit, class... T>
void visit_each([[maybe_unused]] Visit& visit, const T&... fields) {
  (visit_field(visit, fields), ...);
}

}  // namespace towerflow::cuda::device
#endif

#pragma once

// nccl.h brings overloads of the runtime's functions, after which their types cannot be asked for.
#if defined(__CUDA_RUNTIME_H__) && !defined(__CUDACC__)
#error "include cuda/table/table.h before nccl.h and cuda_runtime.h"
#endif
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <nvrtc.h>

#include <string_view>
#include <type_traits>
#include <vector>

#include "cuda/table/entries.h"

namespace towerflow::cuda {

/// The types of the runtime's entries, taken before nccl.h overloads their names.
namespace types {
#define TOWERFLOW_ENTRY(name) using name = decltype(&::name);
TOWERFLOW_CUDA_RUNTIME(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY
}  // namespace types

}  // namespace towerflow::cuda

#include <nccl.h>

namespace towerflow::cuda {

namespace types {
#define TOWERFLOW_ENTRY(name) using name = decltype(&::name);
TOWERFLOW_CUDA_CUBLASLT(TOWERFLOW_ENTRY)
TOWERFLOW_CUDA_CUDNN(TOWERFLOW_ENTRY)
TOWERFLOW_CUDA_NCCL(TOWERFLOW_ENTRY)
TOWERFLOW_CUDA_NVRTC(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY
}  // namespace types

/// The libraries that the entries belong to. All but the runtime are opened when they are needed.
enum class Group { runtime, cublaslt, cudnn, nccl, nvrtc };
inline constexpr Group kGroups[] = {Group::runtime, Group::cublaslt, Group::cudnn, Group::nccl,
                                    Group::nvrtc};

/// Returns the name that people use: "CUDA", "cuBLASLt".
constexpr const char* name_of(Group group) {
  constexpr const char* names[] = {"CUDA", "cuBLASLt", "cuDNN", "NCCL", "NVRTC"};
  return names[static_cast<int>(group)];
}

/// All functions of NVIDIA's libraries that Towerflow calls, under their own names. The entries of
/// a group are null until the group is open (cuda/table/source.h).
struct Table {
#define TOWERFLOW_ENTRY(name) types::name name = nullptr;
  TOWERFLOW_CUDA_ENTRIES(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY
};

/// Calls `use` with the name and the function of each entry of a group, in the order of the list.
template <class AnyTable, class Use>
void for_each_entry(AnyTable& table, Group group, const Use& use) {
#define TOWERFLOW_ENTRY(name) use(#name, table.name);
  switch (group) {
    case Group::runtime:
      TOWERFLOW_CUDA_RUNTIME(TOWERFLOW_ENTRY)
      break;
    case Group::cublaslt:
      TOWERFLOW_CUDA_CUBLASLT(TOWERFLOW_ENTRY)
      break;
    case Group::cudnn:
      TOWERFLOW_CUDA_CUDNN(TOWERFLOW_ENTRY)
      break;
    case Group::nccl:
      TOWERFLOW_CUDA_NCCL(TOWERFLOW_ENTRY)
      break;
    case Group::nvrtc:
      TOWERFLOW_CUDA_NVRTC(TOWERFLOW_ENTRY)
      break;
  }
#undef TOWERFLOW_ENTRY
}

/// Returns the names of the entries of a group that are null.
inline std::vector<std::string_view> empty_entries(const Table& table, Group group) {
  std::vector<std::string_view> names;
  for_each_entry(table, group, [&](const char* name, const auto& entry) {
    if (entry == nullptr) names.emplace_back(name);
  });
  return names;
}

}  // namespace towerflow::cuda

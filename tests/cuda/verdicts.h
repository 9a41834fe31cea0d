#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "tests/cuda/libraries.h"

namespace towerflow::cuda::testing {

/// Returns the table of the real library, or nullptr where it is not installed.
inline const Table* real_cudnn() {
  static Table table;
  static void* const library = [] {
    void* const opened = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_GLOBAL);
    if (opened == nullptr) return opened;
#define TOWERFLOW_ENTRY(name) table.name = reinterpret_cast<types::name>(dlsym(opened, #name));
    TOWERFLOW_CUDA_CUDNN(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY
    return opened;
  }();
  return library == nullptr ? nullptr : &table;
}

/// Returns the table of the real library, or nullptr where it is not installed.
inline const Table* real_cublaslt() {
  static Table table;
  static void* const library = [] {
    void* const opened = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_GLOBAL);
    if (opened == nullptr) return opened;
#define TOWERFLOW_ENTRY(name) table.name = reinterpret_cast<types::name>(dlsym(opened, #name));
    TOWERFLOW_CUDA_CUBLASLT(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY
    return opened;
  }();
  return library == nullptr ? nullptr : &table;
}

/// What one table says of one case: the first status that is no success.
using Verdict = std::function<int(const Table&)>;

struct Case {
  std::string what;
  Verdict verdict;
  /// What the emulation says where it is stricter than the library; 0 if they agree.
  int stricter = 0;
};

/// Compares all cases, and returns how many both refuse.
inline int compare(const std::vector<Case>& cases, const Table* real, const char* library) {
  if (real == nullptr) {
    std::printf("%s is not installed: its verdicts are not compared\n", library);
    CHECK(real == nullptr);
    return -1;
  }
  int refused = 0;
  for (const Case& one : cases) {
    CAPTURE(one.what);
    const int expected = one.verdict(*real), found = one.verdict(emulation());
    if (one.stricter == 0) {
      CHECK(found == expected);
    } else {
      CHECK(expected == 0);
      CHECK(found == one.stricter);
    }
    if (expected != 0) ++refused;
  }
  return refused;
}

}  // namespace towerflow::cuda::testing

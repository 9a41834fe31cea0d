// NVRTC. It compiles without a driver, so that the emulation hands out the real library where it is
// installed: programs are checked for what nvcc's front end accepts, and become PTX or machine code
// of a card. What comes out cannot be loaded or run here. A kernel that is made at run time has to
// be compiled for the host by other means before the emulation can run it.
#include <dlfcn.h>

#include "cuda/host/coverage.h"
#include "cuda/host/libraries.h"

namespace towerflow::cuda::host {

std::string fill_nvrtc(Table& table) {
  // Kept open: the entries of tables point into it.
  static void* const library = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return "libnvrtc.so.13 is not installed";
  std::string missing;
#define TOWERFLOW_ENTRY(name)                                        \
  table.name = reinterpret_cast<types::name>(dlsym(library, #name)); \
  if (table.name == nullptr) missing = "libnvrtc.so.13 has no function " #name;
  TOWERFLOW_CUDA_NVRTC(TOWERFLOW_ENTRY)
#undef TOWERFLOW_ENTRY
  if (missing.empty()) count_calls(table);
  return missing;
}

}  // namespace towerflow::cuda::host

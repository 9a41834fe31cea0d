#include "cuda/device/fatbins.h"

// embed_fatbin.S puts the addresses of each fatbin into this section, whose bounds the linker
// names.
extern "C" {
extern const towerflow::cuda::Fatbin __start_towerflow_fatbins[]
    __attribute__((visibility("hidden")));
extern const towerflow::cuda::Fatbin __stop_towerflow_fatbins[]
    __attribute__((visibility("hidden")));

const towerflow::cuda::Fatbin* towerflow_cuda_fatbins(std::size_t* count) {
  *count = static_cast<std::size_t>(__stop_towerflow_fatbins - __start_towerflow_fatbins);
  return __start_towerflow_fatbins;
}
}

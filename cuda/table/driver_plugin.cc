// The plug-in for NVIDIA's libraries: opens them when it is asked to and links none.
#include "cuda/table/load.h"

extern "C" __attribute__((visibility("default"))) bool towerflow_open_cuda(
    int interface, const char*, towerflow::cuda::SourceOrReason* result) {
  if (interface != towerflow::cuda::kSourceInterface) return false;
  *result = towerflow::cuda::load_table();
  return true;
}

#pragma once

/// The only list of families with kernels for CUDA: each add_NAME_kernels(entries) is defined in
/// cuda/ops/NAME.cc.
#define TOWERFLOW_CUDA_FAMILIES(FAMILY) \
  FAMILY(binary)                        \
  FAMILY(matmul)                        \
  FAMILY(unary)                         \
  FAMILY(view)

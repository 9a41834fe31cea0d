#pragma once

/// The only list of families with kernels for CUDA: each add_NAME_kernels(entries) is defined in
/// cuda/ops/NAME.cc.
#define TOWERFLOW_CUDA_FAMILIES(FAMILY) \
  FAMILY(add_n)                         \
  FAMILY(bias_add)                      \
  FAMILY(binary)                        \
  FAMILY(conv2d)                        \
  FAMILY(elementwise)                   \
  FAMILY(fill)                          \
  FAMILY(l2_loss)                       \
  FAMILY(matmul)                        \
  FAMILY(pool)                          \
  FAMILY(reduce)                        \
  FAMILY(softmax)                       \
  FAMILY(unary)                         \
  FAMILY(view)

#pragma once

/// The only list of families with kernels for CUDA: each add_NAME_kernels(entries) is defined in
/// cuda/ops/NAME.cc.
#define TOWERFLOW_CUDA_FAMILIES(FAMILY) \
  FAMILY(activations)                   \
  FAMILY(add_n)                         \
  FAMILY(argmax)                        \
  FAMILY(batch_matmul)                  \
  FAMILY(bias_add)                      \
  FAMILY(binary)                        \
  FAMILY(broadcast_to)                  \
  FAMILY(cast)                          \
  FAMILY(concat)                        \
  FAMILY(conv2d)                        \
  FAMILY(cumsum)                        \
  FAMILY(diagonal)                      \
  FAMILY(elementwise)                   \
  FAMILY(fill)                          \
  FAMILY(gather)                        \
  FAMILY(l2_loss)                       \
  FAMILY(matmul)                        \
  FAMILY(one_hot)                       \
  FAMILY(pad)                           \
  FAMILY(pool)                          \
  FAMILY(reduce)                        \
  FAMILY(reverse)                       \
  FAMILY(segment)                       \
  FAMILY(select)                        \
  FAMILY(slice)                         \
  FAMILY(softmax)                       \
  FAMILY(space_to_batch)                \
  FAMILY(space_to_depth)                \
  FAMILY(split)                         \
  FAMILY(stack)                         \
  FAMILY(strided_slice)                 \
  FAMILY(sum_to_shape)                  \
  FAMILY(tensor_scatter)                \
  FAMILY(top_k)                         \
  FAMILY(transpose)                     \
  FAMILY(unary)                         \
  FAMILY(view)

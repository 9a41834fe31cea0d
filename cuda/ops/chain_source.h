#pragma once

#include "cuda/backend/compiled_kernels.h"
#include "cuda/device/arguments.h"

namespace towerflow::cuda {

/// Writes the kernel of one chain, whose steps stand one after the other, so that their values are
/// in registers: Chain_float32 (cuda/device/chain.cu) looks them up in an array, which is memory.
///
/// The kernel takes the same arguments and gives the same bits. Sizes, strides and addresses are
/// still read from these, so that chains of other shapes have the same text as long as their inputs
/// are read in the same way.
KernelSource chain_source(const device::Chain& chain);

}  // namespace towerflow::cuda

#pragma once

#include "core/device/kernel.h"
#include "cuda/device/arguments.h"

namespace towerflow::cuda {

/// Returns whether a chain (_Elementwise) can be told to the kernels of chains. Its shapes may be
/// unknown.
bool accepts_chain(const KernelRequest& request);
/// Returns what these kernels take of a chain with known shapes, but for the addresses. Throws
/// UnimplementedError if it has 2^31 elements or more.
device::Chain chain_of(const KernelRequest& request);

}  // namespace towerflow::cuda

#pragma once

#include <span>

namespace towerflow::cuda {

/// A header that kernels include, for compilers that run where the source is not.
struct HeaderText {
  const char* name;  ///< as it is included: "cuda/device/chain.cuh"
  const char* text;
};

/// Returns what NVRTC reads. The library has these texts.
std::span<const HeaderText> rtc_headers();
/// Returns what a compiler for the host reads besides. The plug-in of the emulation has them.
std::span<const HeaderText> host_headers();

}  // namespace towerflow::cuda

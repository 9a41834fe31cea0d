#pragma once

#include <cstddef>

namespace towerflow::cuda::host {

// The limits of compute capability 9.0, as docs/cuda.md saw them on an H200.
inline constexpr int kMultiprocessors = 132;
inline constexpr unsigned kMaxThreads = 1024;                       // of a block
inline constexpr unsigned kMaxBlock[] = {1024, 1024, 64};           // threads by dimension
inline constexpr unsigned kMaxGrid[] = {2147483647, 65535, 65535};  // blocks by dimension
inline constexpr unsigned kThreadsOfMultiprocessor = 2048;
inline constexpr unsigned kBlocksOfMultiprocessor = 32;
inline constexpr std::size_t kShared = std::size_t{48} << 10;            // bytes of a block
inline constexpr std::size_t kSharedOnRequest = std::size_t{227} << 10;  // with the attribute
inline constexpr std::size_t kSharedReserved = std::size_t{1} << 10;     // of each block besides
inline constexpr std::size_t kSharedOfMultiprocessor = std::size_t{228} << 10;

}  // namespace towerflow::cuda::host

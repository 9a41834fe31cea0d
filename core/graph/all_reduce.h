#pragma once

#include <cstddef>

namespace towerflow::types {

/// How accelerators average the gradients of mirrored variables (VariableHome::mirrored). N devices
/// have gradients of S bytes each; what a device sends at most is given.
enum class AllReduce {
  automatic,     ///< nccl between GPUs that are different cards, otherwise gather
  gather,        ///< each device gets the gradients of all others and adds them itself: (N - 1) S
  shuffle,       ///< each device adds one part of all gradients and sends it back: 2 (N - 1) / N S
  ring,          ///< parts pass all devices in turn, growing, and then again with the sum: 2 S
  tree,          ///< pairs of devices add theirs, then pairs of pairs: log2(N) S
  hierarchical,  ///< the devices of a group add theirs, then the first devices of the groups
  nccl,          ///< NVIDIA's library does it, between GPUs that are different cards
};

struct AllReduceOptions {
  AllReduce algorithm = AllReduce::automatic;
  /// Gradients are sent together until they have this size, in the order in which they are ready.
  std::size_t bucket_bytes = 4 << 20;
  int group_size = 2;  ///< devices of a group, for AllReduce::hierarchical
};

}  // namespace towerflow::types

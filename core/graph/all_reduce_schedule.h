#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/graph/all_reduce.h"
#include "core/graph/types.h"

namespace towerflow {

/// All algorithms with their words on the command line and in reports, in the enumeration's order.
inline constexpr std::array<std::pair<AllReduce, const char*>, 7> kAllReduceNames{
    {{AllReduce::automatic, "auto"},
     {AllReduce::gather, "gather"},
     {AllReduce::shuffle, "shuffle"},
     {AllReduce::ring, "ring"},
     {AllReduce::tree, "tree"},
     {AllReduce::hierarchical, "hierarchical"},
     {AllReduce::nccl, "nccl"}}};

/// Returns "ring" and the like.
constexpr const char* all_reduce_name(AllReduce algorithm) {
  return kAllReduceNames[static_cast<std::size_t>(algorithm)].second;
}

/// Returns whether an algorithm is one of messages between devices, which a schedule lists.
constexpr bool has_schedule(AllReduce algorithm) {
  return algorithm != AllReduce::automatic && algorithm != AllReduce::nccl;
}

/// A message between two devices of an all-reduce, which are numbered from 0.
struct AllReduceMove {
  enum class What {
    gradient,  ///< the sender's own gradients, which the receiver adds to its own
    sum,       ///< the sender's and all that it has received, which the receiver adds to its own
    result,    ///< the finished sum, which the receiver keeps
  };
  int from = 0, to = 0;
  What what = What::gradient;

  bool operator==(const AllReduceMove&) const = default;
};

/// Who sends what to whom in an all-reduce. The pass that plans it and the simulation of many
/// towers (report/scale) follow the same schedule.
struct AllReduceSchedule {
  int ranges = 1;  ///< equal parts into which gradients are divided; fewer if they are few
  /// The moves of range i are those of range 0 with each device `i * turn` further on.
  int turn = 0;
  std::vector<AllReduceMove> moves;  ///< of range 0, each after those that bring what it sends
};

/// Returns the schedule of an algorithm that has one, on `devices` devices; `group_size` is that of
/// AllReduceOptions.
AllReduceSchedule all_reduce_schedule(AllReduce algorithm, int devices, int group_size);

/// Returns the elements of each range but the last when `elements` are divided into at most
/// `ranges`.
std::int64_t all_reduce_range(std::int64_t elements, int ranges);

}  // namespace towerflow

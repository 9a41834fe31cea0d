#include "core/graph/all_reduce_schedule.h"

#include <algorithm>

namespace towerflow {
namespace {

using What = AllReduceMove::What;

/// Every device sends its gradients to every other.
AllReduceSchedule gather_schedule(int devices) {
  AllReduceSchedule schedule;
  for (int from = 0; from < devices; ++from) {
    for (int to = 0; to < devices; ++to) {
      if (from != to) schedule.moves.push_back({from, to, What::gradient});
    }
  }
  return schedule;
}

/// Device i adds range i of all gradients and sends the sum back.
AllReduceSchedule shuffle_schedule(int devices) {
  AllReduceSchedule schedule{.ranges = devices, .turn = 1};
  for (int from = 1; from < devices; ++from) schedule.moves.push_back({from, 0, What::gradient});
  for (int to = 1; to < devices; ++to) schedule.moves.push_back({0, to, What::result});
  return schedule;
}

/// The sum of each range grows from the first device to the last, so that it is added in the order
/// of the devices, and then goes round as it is.
AllReduceSchedule ring_schedule(int devices) {
  AllReduceSchedule schedule{.ranges = devices};
  for (int i = 0; i + 1 < devices; ++i) schedule.moves.push_back({i, i + 1, What::sum});
  for (int i = 0; i + 1 < devices; ++i) {
    schedule.moves.push_back({i == 0 ? devices - 1 : i - 1, i, What::result});
  }
  return schedule;
}

/// Device i adds the sum of device i + 1, then that of i + 2, of i + 4, ..; the result goes the
/// same way back.
AllReduceSchedule tree_schedule(int devices) {
  AllReduceSchedule schedule;
  int step = 1;
  for (; step < devices; step *= 2) {
    for (int i = 0; i + step < devices; i += 2 * step) {
      schedule.moves.push_back({i + step, i, What::sum});
    }
  }
  while ((step /= 2) > 0) {
    for (int i = 0; i + step < devices; i += 2 * step) {
      schedule.moves.push_back({i, i + step, What::result});
    }
  }
  return schedule;
}

/// The first device of each group adds the gradients of its group, the first of all those of the
/// groups.
AllReduceSchedule hierarchical_schedule(int devices, int group) {
  AllReduceSchedule schedule;
  for (int first = 0; first < devices; first += group) {
    const int end = std::min(first + group, devices);
    for (int i = first + 1; i < end; ++i) schedule.moves.push_back({i, first, What::sum});
    if (first > 0) schedule.moves.push_back({first, 0, What::sum});
  }
  for (int first = 0; first < devices; first += group) {
    const int end = std::min(first + group, devices);
    if (first > 0) schedule.moves.push_back({0, first, What::result});
    for (int i = first + 1; i < end; ++i) schedule.moves.push_back({first, i, What::result});
  }
  return schedule;
}

}  // namespace

AllReduceSchedule all_reduce_schedule(AllReduce algorithm, int devices, int group_size) {
  switch (algorithm) {
    case AllReduce::shuffle:
      return shuffle_schedule(devices);
    case AllReduce::ring:
      return ring_schedule(devices);
    case AllReduce::tree:
      return tree_schedule(devices);
    case AllReduce::hierarchical:
      return hierarchical_schedule(devices, std::max(group_size, 1));
    case AllReduce::automatic:
    case AllReduce::gather:
    case AllReduce::nccl:
      break;
  }
  return gather_schedule(devices);
}

std::int64_t all_reduce_range(std::int64_t elements, int ranges) {
  constexpr std::int64_t kUnit = 16;  // a multiple of a cache line
  return ((elements + ranges - 1) / ranges + kUnit - 1) / kUnit * kUnit;
}

}  // namespace towerflow

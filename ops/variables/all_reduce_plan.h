#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/graph/plan_graph.h"
#include "ops/variables/gradient_form.h"

namespace towerflow {

/// A sum of the gradients of one variable in several towers.
struct TowerSum {
  int node = -1;                   ///< the node that computes it
  GradientForm form;               ///< how it is computed
  std::vector<ValueId> gradients;  ///< of the towers, in order
  std::vector<ValueId> scalars;    ///< the other inputs of the form
  std::vector<int> devices;        ///< of the gradients
  int ready = 0;                   ///< the node that computes the first tower's gradient
  int last_input = 0;              ///< the last of the nodes that compute the gradients
};

/// Adds the nodes that exchange gradients between devices to a plan.
class AllReducePlan {
 public:
  explicit AllReducePlan(PlanGraph& graph);

  /// Lets the devices of a bucket compute its sums. All sums have the same devices, form and
  /// scalars. Returns whether it did: not if a device lacks a kernel, or if NCCL, which nobody
  /// asked for, cannot do it. Throws InvalidArgumentError if it was asked for.
  bool add(const std::vector<TowerSum>& bucket);

  /// Lets the devices also compute what follows from the sums, such as clipped averages, where
  /// `leads` says that an update needs it, and puts the new nodes in their places.
  void finish(const std::vector<bool>& leads);

 private:
  /// Consecutive parts of a bucket's elements that lie in the memory of one device.
  struct Parts {
    std::vector<ValueId> values;
    std::vector<std::int64_t> sizes;
  };
  struct Range {
    std::int64_t begin = 0, size = 0;
  };
  struct Bucket;

  std::map<int, Parts> exchange(const Bucket& bucket);
  std::map<int, Parts> shuffle(const Bucket& bucket);
  std::map<int, Parts> along_schedule(const Bucket& bucket);
  std::map<int, Parts> collectively(const Bucket& bucket);

  ValueId device_sum(const Bucket& bucket, int device, Range range);
  ValueId divided(const Bucket& bucket, ValueId sum, int device);
  std::vector<Range> ranges(const Bucket& bucket, std::size_t count) const;

  ValueId regroup(const Bucket& bucket, const Parts& from, Range range, const Shape& shape,
                  int device, int place);
  ValueId add_node(const Bucket& bucket, const char* op, Attrs attrs, std::vector<ValueId> inputs,
                   const Shape& shape, int device, int place);

  PlanGraph& graph_;
  const std::size_t tape_;                 // the nodes before the pass
  std::map<int, std::vector<int>> added_;  // new nodes, by the node before which they are placed
  bool complete_ = true;                   // whether every new node has a kernel
  int meetings_ = 0;
};

}  // namespace towerflow

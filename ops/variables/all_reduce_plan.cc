#include "ops/variables/all_reduce_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/graph/all_reduce_schedule.h"
#include "core/graph/error.h"
#include "ops/variables/all_reduce_attrs.h"
#include "ops/variables/regroup_attrs.h"

namespace towerflow {

/// The sums that travel together, each flattened, one behind the other.
struct AllReducePlan::Bucket {
  explicit Bucket(const PlanGraph& graph, const std::vector<TowerSum>& all) : sums(all) {
    const TowerSum& one = sums.front();
    origin = graph.nodes[static_cast<std::size_t>(one.node)].origin;
    dtype = graph.nodes[static_cast<std::size_t>(one.node)].outputs[0].dtype;
    place = one.node;
    for (std::size_t tower = 0; tower < one.devices.size(); ++tower) {
      const int device = one.devices[tower];
      if (std::find(devices.begin(), devices.end(), device) == devices.end()) {
        devices.push_back(device);
      }
      Parts parts;
      int ready = 0;
      for (const TowerSum& sum : sums) {
        const ValueId gradient = sum.gradients[tower];
        parts.values.push_back(gradient);
        parts.sizes.push_back(graph.spec(gradient).shape.elements());
        ready = std::max(ready, gradient.node + 1);
      }
      towers.push_back(std::move(parts));
      ready_at.push_back(ready);
    }
    for (const TowerSum& sum : sums) place = std::min(place, sum.node);
    for (const std::int64_t size : towers.front().sizes) elements += size;
  }

  const GradientForm& form() const { return sums.front().form; }
  const std::vector<int>& device_of_tower() const { return sums.front().devices; }

  const std::vector<TowerSum>& sums;
  const Node* origin = nullptr;
  DType dtype = DType::invalid;
  std::vector<int> devices;   // in the order of their first towers
  std::vector<Parts> towers;  // the gradients of each tower
  std::vector<int> ready_at;  // per tower: the first node after its gradients
  std::int64_t elements = 0;
  int place = 0;  // the first of the sums, before which all new nodes stand
};

AllReducePlan::AllReducePlan(PlanGraph& graph) : graph_(graph), tape_(graph.nodes.size()) {}

bool AllReducePlan::add(const std::vector<TowerSum>& sums) {
  const Bucket bucket(graph_, sums);
  const std::size_t nodes = graph_.nodes.size();
  const auto added = added_;
  complete_ = true;
  const std::map<int, Parts> results = exchange(bucket);
  std::int64_t begin = 0;
  std::vector<std::pair<int, PlanNode>> replaced;
  for (const TowerSum& sum : sums) {
    const PlanNode node = graph_.nodes[static_cast<std::size_t>(sum.node)];  // the list will grow
    const Shape shape = node.outputs[0].shape;
    const Range range{begin, shape.elements()};
    begin += range.size;
    const auto here = results.find(node.device);
    const Parts& nearest = here == results.end() ? results.begin()->second : here->second;
    const ValueId own = regroup(bucket, nearest, range, shape, node.device, sum.node);
    for (const auto& [device, parts] : results) {
      if (device == node.device) continue;
      graph_.twins[{{sum.node, 0}, device}] =
          regroup(bucket, parts, range, shape, device, bucket.place);
    }
    // The node itself takes the place of the one that was made for it.
    PlanNode made = graph_.nodes[static_cast<std::size_t>(own.node)];
    made.origin = node.origin;
    made.control = node.control;
    replaced.emplace_back(sum.node, std::move(made));
    graph_.nodes[static_cast<std::size_t>(own.node)].dead = true;
  }
  if (!complete_) {
    graph_.nodes.resize(nodes);
    added_ = added;
    for (const TowerSum& sum : sums) {
      for (const int device : bucket.devices) graph_.twins.erase({{sum.node, 0}, device});
    }
    return false;
  }
  for (auto& [node, made] : replaced) {
    graph_.nodes[static_cast<std::size_t>(node)] = std::move(made);
  }
  return true;
}

std::map<int, AllReducePlan::Parts> AllReducePlan::exchange(const Bucket& bucket) {
  switch (graph_.all_reduce.algorithm) {
    case AllReduce::ring:
    case AllReduce::tree:
    case AllReduce::hierarchical:
      return along_schedule(bucket);
    case AllReduce::nccl:
      return collectively(bucket);
    case AllReduce::automatic:
    case AllReduce::gather:
    case AllReduce::shuffle:
      break;
  }
  return shuffle(bucket);
}

/// Each device adds one range of all towers' gradients, in tower order.
std::map<int, AllReducePlan::Parts> AllReducePlan::shuffle(const Bucket& bucket) {
  Parts sums;
  const std::vector<Range> all = ranges(bucket, bucket.devices.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<ValueId> inputs;
    for (std::size_t tower = 0; tower < bucket.towers.size(); ++tower) {
      inputs.push_back(regroup(bucket, bucket.towers[tower], all[i], Shape{all[i].size},
                               bucket.device_of_tower()[tower], bucket.ready_at[tower]));
    }
    const std::vector<ValueId>& scalars = bucket.sums.front().scalars;
    inputs.insert(inputs.end(), scalars.begin(), scalars.end());
    sums.values.push_back(add_node(bucket, "_MeanOfN", bucket.form(), std::move(inputs),
                                   Shape{all[i].size}, bucket.devices[i], bucket.place));
    sums.sizes.push_back(all[i].size);
  }
  std::map<int, Parts> results;
  for (const int device : bucket.devices) results[device] = sums;
  return results;
}

/// Sums and results go from device to device as the schedule says.
std::map<int, AllReducePlan::Parts> AllReducePlan::along_schedule(const Bucket& bucket) {
  const AllReduceSchedule schedule =
      all_reduce_schedule(graph_.all_reduce.algorithm, static_cast<int>(bucket.devices.size()),
                          graph_.all_reduce.group_size);
  std::map<int, Parts> results;
  for (const Range range : ranges(bucket, static_cast<std::size_t>(schedule.ranges))) {
    const Shape shape{range.size};
    std::vector<ValueId> held(bucket.devices.size());  // what each device has of the range
    const auto sum_of = [&](int device) {
      ValueId& sum = held[static_cast<std::size_t>(device)];
      if (sum.node < 0) {
        sum = device_sum(bucket, bucket.devices[static_cast<std::size_t>(device)], range);
      }
      return sum;
    };
    const auto keep = [&](int device, ValueId value) {
      held[static_cast<std::size_t>(device)] = value;
      Parts& parts = results[bucket.devices[static_cast<std::size_t>(device)]];
      parts.values.push_back(value);
      parts.sizes.push_back(range.size);
    };
    bool finished = false;
    for (const AllReduceMove& move : schedule.moves) {
      const int to = bucket.devices[static_cast<std::size_t>(move.to)];
      if (move.what == AllReduceMove::What::sum) {
        const ValueId sent = sum_of(move.from), own = sum_of(move.to);
        held[static_cast<std::size_t>(move.to)] =
            add_node(bucket, "AddV2", {}, {sent, own}, shape, to, bucket.place);
        continue;
      }
      if (!std::exchange(finished, true)) {  // the first to send a result is the one that made it
        const int root = bucket.devices[static_cast<std::size_t>(move.from)];
        keep(move.from, divided(bucket, sum_of(move.from), root));
      }
      keep(move.to, add_node(bucket, "_Regroup", RegroupAttrs{0, shape}, {sum_of(move.from)}, shape,
                             to, bucket.place));
    }
  }
  return results;
}

/// One call of a library sums the gradients on all devices. Each node of the call waits for the
/// gradients of all devices, so that all can start at once: they form a meeting.
std::map<int, AllReducePlan::Parts> AllReducePlan::collectively(const Bucket& bucket) {
  const Collective collective = graph_.collective(bucket.devices);
  if (!collective.refusal.empty()) {
    complete_ = false;
    if (graph_.chose_all_reduce) return {};
    throw errors::InvalidArgumentError(
        fmt::format("NCCL cannot average the gradients: {}", collective.refusal),
        {.site = bucket.origin->site,
         .node = bucket.origin->name,
         .hint = "leave the choice to AllReduce::automatic, or use AllReduce::shuffle"});
  }
  const Range all{0, bucket.elements};
  std::vector<ValueId> sums;
  for (const int device : bucket.devices) sums.push_back(device_sum(bucket, device, all));
  const int meeting = meetings_++;
  std::map<int, Parts> results;
  for (std::size_t rank = 0; rank < sums.size(); ++rank) {
    const int device = bucket.devices[rank];
    const AllReduceAttrs attrs{bucket.origin->name, collective.members, static_cast<int>(rank)};
    const ValueId sum =
        add_node(bucket, "_AllReduce", attrs, {sums[rank]}, Shape{all.size}, device, bucket.place);
    PlanNode& node = graph_.node(sum);
    node.meeting = meeting;
    for (const ValueId other : sums) {
      if (other != sums[rank]) node.control.push_back(other.node);
    }
    results[device] = {{divided(bucket, sum, device)}, {all.size}};
  }
  return results;
}

/// Returns a range of the sum of the gradients of the towers of one device.
ValueId AllReducePlan::device_sum(const Bucket& bucket, int device, Range range) {
  ValueId sum;
  const Shape shape{range.size};
  for (std::size_t tower = 0; tower < bucket.towers.size(); ++tower) {
    if (bucket.device_of_tower()[tower] != device) continue;
    const int place = bucket.ready_at[tower];
    ValueId part = regroup(bucket, bucket.towers[tower], range, shape, device, place);
    if (bucket.form().weighted) {
      const ValueId weight = bucket.sums.front().scalars[tower];
      part = add_node(bucket, "Mul", {}, {part, weight}, shape, device, bucket.place);
    }
    sum = sum.node < 0 ? part
                       : add_node(bucket, "AddV2", {}, {sum, part}, shape, device, bucket.place);
  }
  return sum;
}

/// Returns a sum divided as the form wants it.
ValueId AllReducePlan::divided(const Bucket& bucket, ValueId sum, int device) {
  GradientForm form = bucket.form();
  if (!form.divided && !form.from_zero && form.divisor == 1) return sum;
  form.towers = 1;
  form.weighted = false;
  std::vector<ValueId> inputs{sum};
  if (form.divided) inputs.push_back(bucket.sums.front().scalars.back());
  return add_node(bucket, "_MeanOfN", form, std::move(inputs), Shape{graph_.spec(sum).shape},
                  device, bucket.place);
}

/// Divides the elements of a bucket into at most `count` ranges.
std::vector<AllReducePlan::Range> AllReducePlan::ranges(const Bucket& bucket,
                                                        std::size_t count) const {
  // No range has one element, whose sum has another order.
  const std::int64_t size = all_reduce_range(bucket.elements, static_cast<int>(count));
  std::vector<Range> all;
  for (std::int64_t begin = 0; begin < bucket.elements; begin += size) {
    all.push_back({begin, std::min(size, bucket.elements - begin)});
  }
  if (all.back().size == 1 && all.size() > 1) {
    --all[all.size() - 2].size;
    --all.back().begin;
    ++all.back().size;
  }
  return all;
}

void AllReducePlan::finish(const std::vector<bool>& leads) {
  for (std::size_t i = 0; i < tape_; ++i) {
    const PlanNode node = graph_.nodes[i];
    const bool follows = leads[i] && !node.dead && node.feed < 0 && node.guards.empty() &&
                         node.control.empty() && node.op->effect == Effect::pure &&
                         node.outputs.size() == 1 && !node.is_known(0);
    if (!follows) continue;
    std::set<int> devices;
    for (const ValueId input : node.inputs) {
      for (auto at = graph_.twins.lower_bound({input, -1});
           at != graph_.twins.end() && at->first.first == input; ++at) {
        devices.insert(at->first.second);
      }
    }
    for (const int device : devices) {
      if (device == node.device) continue;
      PlanNode twin = node;
      bool available = true;
      for (ValueId& input : twin.inputs) {
        if (graph_.node(input).is_known(static_cast<std::size_t>(input.output))) continue;
        const auto at = graph_.twins.find({input, device});
        available = available && at != graph_.twins.end();
        if (available) input = at->second;
      }
      twin.device = device;
      twin.urgent = true;
      graph_.update_input_variable(twin);
      if (!available || !graph_.has_kernel(twin)) continue;
      const auto made = static_cast<int>(graph_.nodes.size());
      graph_.nodes.push_back(std::move(twin));
      added_[static_cast<int>(i) + 1].push_back(made);
      graph_.twins[{{static_cast<int>(i), 0}, device}] = {made, 0};
    }
  }
  std::vector<int> order;
  for (std::size_t i = 0; i <= tape_; ++i) {
    if (const auto here = added_.find(static_cast<int>(i)); here != added_.end()) {
      order.insert(order.end(), here->second.begin(), here->second.end());
    }
    if (i < tape_) order.push_back(static_cast<int>(i));
  }
  graph_.reorder(order);
}

/// Returns a range of the elements of `from`, in a shape, on a device; the value itself if it is
/// one.
ValueId AllReducePlan::regroup(const Bucket& bucket, const Parts& from, Range range,
                               const Shape& shape, int device, int place) {
  RegroupAttrs attrs{range.begin, shape};
  std::vector<ValueId> inputs;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < from.values.size(); ++i) {
    const std::int64_t end = begin + from.sizes[i];
    if (end <= range.begin) attrs.begin -= from.sizes[i];
    const bool overlaps = end > range.begin && begin < range.begin + range.size;
    if (overlaps) inputs.push_back(from.values[i]);
    begin = end;
  }
  return add_node(bucket, "_Regroup", attrs, std::move(inputs), shape, device, place);
}

ValueId AllReducePlan::add_node(const Bucket& bucket, const char* op, Attrs attrs,
                                std::vector<ValueId> inputs, const Shape& shape, int device,
                                int place) {
  PlanNode made;
  made.op = &OpRegistry::global().get(op);
  made.attrs = attrs.empty() ? made.op->attrs.defaults() : std::move(attrs);
  made.inputs = std::move(inputs);
  made.outputs = {{bucket.dtype, shape, false}};
  made.values.resize(1);
  made.origin = bucket.origin;
  made.device = device;
  // In the compute queue, it would wait for the kernels that the device runs while the gradients of
  // the others travel.
  if (graph_.accelerators[static_cast<std::size_t>(device)]) made.lane = Lane::exchange;
  made.urgent = true;
  graph_.update_input_variable(made);
  complete_ = complete_ && graph_.has_kernel(made);
  const auto id = static_cast<int>(graph_.nodes.size());
  graph_.nodes.push_back(std::move(made));
  added_[place].push_back(id);
  return {id, 0};
}

}  // namespace towerflow

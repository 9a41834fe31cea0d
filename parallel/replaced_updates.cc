#include "parallel/replaced_updates.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "core/graph/scopes.h"
#include "layers/batch_moments.h"
#include "ops/array/fill.h"
#include "ops/math/binary.h"
#include "ops/variables/assign.h"
#include "train/moving_average.h"

namespace towerflow::parallel {
namespace {

using layers::BatchMoments;

/// The calls of batch normalizations by the ops that they added.
using CallsByUpdate = std::unordered_map<const Node*, const BatchMoments*>;

CallsByUpdate calls_by_update() {
  CallsByUpdate calls;
  for (const BatchMoments& call : layers::all_batch_moments()) {
    calls.emplace(&call.mean_update.node(), &call);
    calls.emplace(&call.variance_update.node(), &call);
  }
  return calls;
}

bool assigns(const Operation& op) {
  return op.type() == "AssignSub" || op.type() == "AssignAdd" || op.type() == "Assign";
}

/// Returns the distance by which a call moves an average in a run that trains, else zeros.
Tensor distance_of(const BatchMoments& call, const Variable& average, const Tensor& value,
                   Site site) {
  return layers::in_training(
      call.training,
      [&]() -> Tensor {
        const Tensor distance = Operand(average, site) - Operand(value, site);
        return Operand(distance, site) * Operand(1.0 - call.momentum, site);
      },
      [&]() -> Tensor { return zeros_like(Operand(average, site), {}, site); }, site);
}

/// A write to a variable, of a value that is computed before any of the writes.
struct PostponedWrite {
  Operation update{};  ///< the assignment to repeat, or
  Variable average{};  ///< the variable from which to subtract
  Tensor value;
};

PostponedWrite postponed_write(const Operation& update, const CallsByUpdate& calls, Site site) {
  if (assigns(update)) return {.update = update, .value = update.input(1)};
  const auto found = calls.find(&update.node());
  if (found == calls.end()) {
    throw ValueError(fmt::format("the update {} cannot be postponed: its op is {}, not Assign, "
                                 "AssignAdd or AssignSub",
                                 update.name(), update.type()),
                     {.site = site,
                      .node = update.name(),
                      .hint = "UpdateOpsPolicy::in_order runs it as it is"});
  }
  const BatchMoments& call = *found->second;
  const bool of_mean = update == call.mean_update;
  const Variable& average = of_mean ? call.moving_mean : call.moving_variance;
  const Tensor& value = of_mean ? call.sample.mean : call.sample.variance;
  return {.average = average, .value = distance_of(call, average, value, site)};
}

/// The calls of one layer in the towers: of each tower the k-th.
struct LayerCalls {
  std::size_t ordinal = 0;
  std::vector<const BatchMoments*> of_towers;
};

/// Returns the calls whose updates a tower lists, in the order in which they were made.
std::vector<const BatchMoments*> calls_of(const std::vector<Fetch>& updates,
                                          const CallsByUpdate& known, Site site) {
  std::vector<const BatchMoments*> calls;
  for (const Fetch& update : updates) {
    const Operation op = update.operation();
    const auto found = known.find(&op.node());
    if (found == known.end()) {
      throw ValueError(
          fmt::format("the update {} cannot be merged: no batch normalization recorded its moments",
                      op.name()),
          {.site = site,
           .node = op.name(),
           .hint = "a layer of your own records them with tf::layers::add_batch_moments; "
                   "UpdateOpsPolicy::in_order needs no moments"});
    }
    if (std::find(calls.begin(), calls.end(), found->second) == calls.end()) {
      calls.push_back(found->second);
    }
  }
  std::sort(calls.begin(), calls.end());  // addresses in one vector
  return calls;
}

std::vector<LayerCalls> calls_by_layer(const std::vector<std::vector<Fetch>>& tower_updates,
                                       Site site) {
  const CallsByUpdate known = calls_by_update();
  std::vector<LayerCalls> layers;
  for (const auto& updates : tower_updates) {
    std::unordered_map<const Node*, std::size_t> earlier;  // calls of each layer in this tower
    for (const BatchMoments* call : calls_of(updates, known, site)) {
      const std::size_t ordinal = earlier[&call->moving_mean.op().node()]++;
      const auto found = std::find_if(layers.begin(), layers.end(), [&](const LayerCalls& layer) {
        return layer.ordinal == ordinal && layer.of_towers[0]->moving_mean == call->moving_mean;
      });
      if (found != layers.end()) {
        found->of_towers.push_back(call);
      } else {
        layers.push_back({ordinal, {call}});
      }
    }
  }
  return layers;
}

/// Throws if the towers decide by different tensors whether they train.
void check_training(const LayerCalls& layer, Site site) {
  const layers::Training& first = layer.of_towers[0]->training;
  for (const BatchMoments* call : layer.of_towers) {
    if (call->training.value() == first.value() && call->training.tensor() == first.tensor()) {
      continue;
    }
    throw ValueError(fmt::format("the towers decide in different ways whether {} trains",
                                 layer.of_towers[0]->moving_mean.name()),
                     {.site = site,
                      .node = call->mean_update.name(),
                      .hint = "make the tensor `training` before the loop over the towers"});
  }
}

/// Adds an assignment of the same type and attributes to the same variable.
Operation repeated(const Operation& update, const Tensor& value, Site site) {
  const Operand ref(update.input(0), site);
  return OpBuilder(update.node().op->name.c_str(), "", site, {&ref})
      .input(ref, "ref", "T")
      .input(Operand(value, site), "value", "T")
      .attrs(update.attrs())
      .build();
}

}  // namespace

std::vector<Fetch> postponed_updates(const std::vector<Fetch>& updates, Site site) {
  const CallsByUpdate calls = calls_by_update();
  std::vector<PostponedWrite> writes;
  for (const Fetch& update : updates) {
    writes.push_back(postponed_write(update.operation(), calls, site));
  }
  std::vector<Fetch> postponed;
  for (const auto& [update, average, value] : writes) {
    const Tensor variable = update.valid() ? update.input(0) : average.ref();
    const auto on = device(variable.device(), site);
    postponed.push_back(update.valid()
                            ? Fetch(repeated(update, value, site))
                            : Fetch(assign_sub(average, Operand(value, site), {}, site).op()));
  }
  return postponed;
}

std::vector<Fetch> merged_updates(const std::vector<std::vector<Fetch>>& tower_updates, Site site) {
  std::vector<Fetch> merged;
  for (const LayerCalls& layer : calls_by_layer(tower_updates, site)) {
    check_training(layer, site);
    const BatchMoments& first = *layer.of_towers[0];
    const auto on = device(first.moving_mean.op().device(), site);
    std::vector<layers::SampleMoments> samples;
    for (const BatchMoments* call : layer.of_towers) samples.push_back(call->sample);
    const nn::Moments moments = layers::merged_moments(samples, site).moments;
    const auto move = [&](const Variable& average, const Tensor& value) {
      const Tensor moved = layers::in_training(
          first.training,
          [&] {
            return train::assign_moving_average(average, Operand(value, site),
                                                Operand(first.momentum, site),
                                                {.zero_debias = false}, site);
          },
          [&] { return Tensor(average); }, site);
      merged.emplace_back(moved.op());
    };
    move(first.moving_mean, moments.mean);
    move(first.moving_variance, moments.variance);
  }
  return merged;
}

}  // namespace towerflow::parallel

// The towers and their step: the text's loop, or towers side by side, then one of the ways.
#include "models/batch_norm/batch_norm.h"
#include "towerflow/tf.h"

namespace towerflow::models::batch_norm {
namespace {

Tensor loss_of(const Tensor& logits, const Tensor& labels) {
  const Tensor cross_entropy =
      tf::nn::sparse_softmax_cross_entropy_with_logits({.labels = labels, .logits = logits});
  return tf::reduce_mean(cross_entropy, {.name = "loss"});
}

/// Returns UPDATE_OPS so far, or those of a tower.
std::vector<Fetch> collected(const std::string& scope = "") {
  return tf::get_collection<Fetch>(tf::GraphKeys::UPDATE_OPS, scope);
}

/// What the towers leave to the step.
struct Built {
  std::vector<Tensor> losses;
  std::vector<GradAndVar> grads;                     // averaged
  std::vector<std::vector<Fetch>> tower_updates;     // in each tower's scope
  std::vector<Fetch> extended_updates, last_so_far;  // the text's lists
};

/// Builds the towers one after another, as the text does.
Built build_in_turn(const TowersOptions& options, const BatchFunction& next_batch,
                    tf::train::Optimizer& optimizer) {
  Built built;
  std::vector<std::vector<GradAndVar>> tower_grads;
  {
    const auto vars = tf::variable_scope(tf::get_variable_scope());
    for (int i = 0; i < options.num_gpus; ++i) {
      const auto device = tf::device("/gpu:" + std::to_string(i));
      const auto name_scope = tf::name_scope(std::string(kTowerName) + "_" + std::to_string(i));
      const Batch batch = next_batch();
      built.losses.push_back(loss_of(inference(batch.features, true), batch.labels));
      tf::get_variable_scope().reuse_variables();
      tower_grads.push_back(optimizer.compute_gradients(built.losses.back()));
      built.tower_updates.push_back(collected(name_scope));
      built.last_so_far = collected();
      built.extended_updates.insert(built.extended_updates.end(), built.last_so_far.begin(),
                                    built.last_so_far.end());
    }
  }
  built.grads = tf::average_gradients(tower_grads);
  return built;
}

/// Builds the towers side by side, layer by layer, and differentiates the mean of their losses.
Built build_in_lockstep(const TowersOptions& options, const BatchFunction& next_batch,
                        tf::train::Optimizer& optimizer) {
  const tf::parallel::Lockstep towers({.num_towers = options.num_gpus, .name = kTowerName});
  std::vector<Batch> batches;
  const std::vector<Tensor> images = towers.each([&](int) {
    batches.push_back(next_batch());
    return batches.back().features;
  });
  const std::vector<Tensor> logits = synchronised_inference(towers, images);
  Built built;
  built.losses = towers.each([&](int tower) {
    const auto at = static_cast<std::size_t>(tower);
    return loss_of(logits[at], batches[at].labels);
  });
  const Tensor mean = tf::add_n(built.losses) / static_cast<double>(options.num_gpus);
  built.grads = optimizer.compute_gradients(mean, {.colocate_gradients_with_ops = true});
  return built;
}

/// Returns the updates that a way collects.
std::vector<Fetch> updates_of(Collecting collecting, const Built& built) {
  const auto combined = [&](UpdateOpsPolicy policy) {
    return tf::combine_update_ops(built.tower_updates, policy);
  };
  switch (collecting) {
    case Collecting::extended:
      return built.extended_updates;
    case Collecting::replaced:
      return built.last_so_far;
    case Collecting::first:
      return combined(UpdateOpsPolicy::first);
    case Collecting::last:
      return combined(UpdateOpsPolicy::last);
    case Collecting::all:
      return combined(UpdateOpsPolicy::all);
    case Collecting::in_order:
      return combined(UpdateOpsPolicy::in_order);
    case Collecting::merged:
      return combined(UpdateOpsPolicy::merged);
    case Collecting::after:
    case Collecting::synchronised:
      break;
  }
  return collected();
}

/// Returns the pairs of the convolutions, or of the other layers.
std::vector<GradAndVar> pairs_of(const std::vector<GradAndVar>& pairs, bool convolutions) {
  std::vector<GradAndVar> chosen;
  for (const GradAndVar& pair : pairs) {
    if (pair.var.name().starts_with("conv") == convolutions) chosen.push_back(pair);
  }
  return chosen;
}

}  // namespace

const std::vector<std::pair<std::string, Collecting>>& ways() {
  static const std::vector<std::pair<std::string, Collecting>> all{
      {"extended", Collecting::extended},
      {"after", Collecting::after},
      {"replaced", Collecting::replaced},
      {"first", Collecting::first},
      {"last", Collecting::last},
      {"all", Collecting::all},
      {"in_order", Collecting::in_order},
      {"merged", Collecting::merged},
      {"synchronised", Collecting::synchronised}};
  return all;
}

Collecting way(const std::string& name) {
  for (const auto& [known, collecting] : ways()) {
    if (known == name) return collecting;
  }
  throw ValueError("there is no way '" + name + "' of collecting updates");
}

Towers build_towers(const TowersOptions& options, const BatchFunction& next_batch) {
  Towers towers;
  const auto cpu = tf::device("/cpu:0");
  towers.global_step = tf::train::get_or_create_global_step();
  tf::train::MomentumOptimizer opt_conv(options.learning_rate, 0.9);
  tf::train::GradientDescentOptimizer opt_fc(options.learning_rate);
  const Built built = options.collecting == Collecting::synchronised
                          ? build_in_lockstep(options, next_batch, opt_conv)
                          : build_in_turn(options, next_batch, opt_conv);
  towers.losses = built.losses;
  towers.grads = built.grads;
  if (options.ordered) towers.updates = updates_of(options.collecting, built);
  {
    const auto after = tf::control_dependencies(towers.updates);  // none yet in the text's order
    const Operation train_op_conv =
        opt_conv.apply_gradients(pairs_of(towers.grads, true), {.global_step = towers.global_step});
    const Operation train_op_fc = opt_fc.apply_gradients(pairs_of(towers.grads, false));
    towers.apply_gradient_op =
        options.forget_fc ? tf::group({train_op_conv}) : tf::group({train_op_conv, train_op_fc});
  }
  {
    std::vector<Operation> before;
    if (options.ordered) before = {towers.apply_gradient_op};
    const auto after = tf::control_dependencies(before);
    tf::train::ExponentialMovingAverage variable_averages(kMovingAverageDecay, towers.global_step);
    towers.variables_averages_op = variable_averages.apply(tf::trainable_variables());
  }
  if (!options.ordered) towers.updates = updates_of(options.collecting, built);
  if (options.collecting == Collecting::replaced) {
    const Operation batchnorm_updates_op = tf::group(towers.updates);
    towers.train_op =
        tf::group({towers.apply_gradient_op, towers.variables_averages_op, batchnorm_updates_op});
  } else {
    const auto after = tf::control_dependencies(towers.updates);
    towers.train_op = tf::group({towers.apply_gradient_op, towers.variables_averages_op});
  }
  return towers;
}

}  // namespace towerflow::models::batch_norm

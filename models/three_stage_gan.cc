#include "models/three_stage_gan.h"

#include "towerflow/tf.h"

namespace towerflow::models::three_stage_gan {
namespace {

Tensor conv(const std::string& name, const Tensor& x, std::int64_t inputs, std::int64_t outputs,
            int stride) {
  return tf::with(tf::variable_scope(name), [&](auto&) {
    const Variable weights = tf::get_variable("weights", Shape{3, 3, inputs, outputs});
    const Variable biases =
        tf::get_variable("biases", Shape{outputs}, {.initializer = tf::zeros_initializer()});
    return tf::nn::bias_add(tf::nn::conv2d(x, weights, {1, stride, stride, 1}, "SAME"), biases);
  });
}

/// The mean cross entropy of logits that should all say `label`.
Tensor entropy(const Tensor& label, const Tensor& logits) {
  return tf::reduce_mean(
      tf::nn::sigmoid_cross_entropy_with_logits({.labels = label, .logits = logits}));
}

struct Logits {
  Tensor real, fake;
};

/// One discriminator for both kinds of images.
Logits shared_discriminator(const Tensor& images, const Tensor& generated) {
  Logits logits;
  {
    const auto scope = tf::variable_scope("discriminator");
    logits.real = build_discriminator(images);
  }
  const auto scope = tf::variable_scope("discriminator", {.reuse = true});
  logits.fake = build_discriminator(generated);
  return logits;
}

/// The source text's: two scopes, which share nothing.
Logits separate_discriminators(const Tensor& images, const Tensor& generated) {
  Logits logits;
  const auto outer = tf::variable_scope("discriminator");
  {
    const auto scope = tf::variable_scope("real_discriminator");
    logits.real = build_discriminator(images);
  }
  const auto scope = tf::variable_scope("fake_discriminator", {.reuse = true});
  logits.fake = build_discriminator(generated);
  return logits;
}

Tower build_tower(const TowersOptions& options) {
  Tower tower;
  const Shape shape{None, kImageSize, kImageSize, 1};
  tower.images = tf::placeholder(tf::float32, {.shape = shape, .name = "images"});
  tower.mask = tf::placeholder(tf::float32, {.shape = shape, .name = "mask"});
  const Tensor masked = tower.images * tower.mask;
  const Tensor generated =
      tf::with(tf::variable_scope("generator"), [&](auto&) { return build_generator(masked); });
  const Logits logits = options.separate_scopes ? separate_discriminators(tower.images, generated)
                                                : shared_discriminator(tower.images, generated);
  tower.losses = build_loss(tower.images, generated, logits.real, logits.fake);
  return tower;
}

/// What `discriminator` in a variable's name says, whatever tower asks: name scopes, such as
/// Tower_1, are no part of the names of variables.
std::vector<Variable> discriminator_variables() {
  std::vector<Variable> variables =
      tf::get_collection<Variable>(tf::GraphKeys::TRAINABLE_VARIABLES, "discriminator");
  const auto more =
      tf::get_collection<Variable>(tf::GraphKeys::TRAINABLE_RESOURCE_VARIABLES, "discriminator");
  variables.insert(variables.end(), more.begin(), more.end());
  return variables;
}

void apply(Stage& stage, tf::train::Optimizer& opt, const Variable& global_step) {
  // An average is of the gradients that are there; where no tower has one the variable stays as
  // it is.
  stage.grads = tf::average_gradients(stage.tower_grads);
  stage.train_op = opt.apply_gradients(stage.grads, {.global_step = global_step});
}

}  // namespace

Tensor build_generator(const Tensor& images) {
  const Tensor features = tf::nn::relu(conv("conv1", images, 1, 4, 1));
  return tf::sigmoid(conv("conv2", features, 4, 1, 1));
}

Tensor build_discriminator(const Tensor& images) {
  const Tensor features = tf::nn::relu(conv("conv1", images, 1, 4, 2));
  const std::int64_t size = kImageSize / 2 * kImageSize / 2 * 4;
  return tf::with(tf::variable_scope("fc"), [&](auto&) {
    const Variable weights = tf::get_variable("weights", Shape{size, 1});
    const Variable biases =
        tf::get_variable("biases", Shape{1}, {.initializer = tf::zeros_initializer()});
    return tf::matmul(tf::reshape(features, {-1, size}), weights) + biases;
  });
}

Losses build_loss(const Tensor& images, const Tensor& generated, const Tensor& real_logits,
                  const Tensor& fake_logits) {
  Losses losses;
  losses.gen_only = tf::reduce_mean(tf::square(generated - images), {.name = "gen_only_loss"});
  const Tensor real = entropy(tf::ones_like(real_logits), real_logits);
  const Tensor fake = entropy(tf::zeros_like(fake_logits), fake_logits);
  losses.discm_only = tf::add(real, fake, {.name = "discm_only_loss"});
  const Tensor fooling = entropy(tf::ones_like(fake_logits), fake_logits);
  losses.full = tf::add(losses.gen_only, 0.25 * fooling, {.name = "full_loss"});
  return losses;
}

Towers build_towers(const TowersOptions& options) {
  Towers towers;
  towers.global_step = tf::train::get_or_create_global_step();
  tf::train::AdamOptimizer gen_only_opt(0.01), discm_only_opt(0.01), full_opt(0.01);
  for (tf::train::Optimizer* opt :
       std::initializer_list<tf::train::Optimizer*>{&gen_only_opt, &discm_only_opt, &full_opt}) {
    opt->set_strict_slots(options.strict_slots);
  }
  const auto build_all = [&] {
    for (int i = 0; i < options.num_gpus; ++i) {
      const auto device = tf::device("/gpu:" + std::to_string(i));
      const auto scope = tf::name_scope("Tower_" + std::to_string(i));
      towers.towers.push_back(build_tower(options));
      const Losses& losses = towers.towers.back().losses;
      tf::get_variable_scope().reuse_variables();
      towers.gen_only.tower_grads.push_back(gen_only_opt.compute_gradients(losses.gen_only));
      towers.discm_only.tower_grads.push_back(discm_only_opt.compute_gradients(
          losses.discm_only, {.var_list = discriminator_variables()}));
      towers.full.tower_grads.push_back(full_opt.compute_gradients(losses.full));
    }
  };
  if (options.leave_reuse_on) {
    build_all();
  } else {
    // Entering the scope again keeps reuse_variables() from outliving the loop.
    const auto vars = tf::variable_scope(tf::get_variable_scope());
    build_all();
  }
  apply(towers.gen_only, gen_only_opt, towers.global_step);
  apply(towers.discm_only, discm_only_opt, towers.global_step);
  apply(towers.full, full_opt, towers.global_step);
  return towers;
}

}  // namespace towerflow::models::three_stage_gan

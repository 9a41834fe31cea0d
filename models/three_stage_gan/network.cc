#include "models/three_stage_gan/three_stage_gan.h"
#include "towerflow/tf.h"

namespace towerflow::models::three_stage_gan {
namespace {

Tensor conv(const std::string& name, const Tensor& x, int filters, int size, int stride) {
  return tf::layers::conv2d(
      x, filters, size,
      {.strides = stride, .padding = "same", .activation = tf::nn::elu, .name = name});
}

Tensor deconv(const std::string& name, const Tensor& x, int filters) {
  return tf::layers::conv2d_transpose(
      x, filters, 4, {.strides = 2, .padding = "same", .activation = tf::nn::elu, .name = name});
}

/// Returns the mean cross entropy of logits that should all predict `label`.
Tensor entropy(const Tensor& label, const Tensor& logits) {
  return tf::reduce_mean(
      tf::nn::sigmoid_cross_entropy_with_logits({.labels = label, .logits = logits}));
}

/// Returns x; its gradient is that of the result times -share.
Tensor turn_gradient(const Tensor& x, double share) {
  const Tensor all = tf::stop_gradient((1.0 + share) * x);
  return all - share * x;
}

struct Logits {
  Tensor real, fake;
};

/// Applies one discriminator to both kinds of images; with `separate`, uses the original program's
/// two scopes, which share no variables.
Logits discriminate(const Tensor& images, const Tensor& completed, bool separate) {
  const auto in_scope = [&](const char* own, bool reuse, const Tensor& x) {
    const std::string name = separate ? std::string("discriminator/") + own : "discriminator";
    return tf::with(tf::variable_scope(name, {.reuse = reuse}),
                    [&](auto&) { return build_discriminator(x); });
  };
  return {in_scope("real_discriminator", false, images),
          in_scope("fake_discriminator", true, turn_gradient(completed, kAdversarialShare))};
}

Losses build_loss(const Input& input, const Tensor& completed, const Logits& logits) {
  Losses losses;
  const Tensor errors = tf::square(completed - input.images);
  losses.gen_only = tf::reduce_mean(tf::reduce_sum(errors, {1, 2, 3}) / (kHoleSize * kHoleSize),
                                    {.name = "gen_only_loss"});
  const Tensor real = entropy(tf::ones_like(logits.real), logits.real);
  const Tensor fake = entropy(tf::zeros_like(logits.fake), logits.fake);
  losses.discm_only = tf::add(real, fake, {.name = "discm_only_loss"});
  losses.full = tf::add(losses.gen_only, losses.discm_only, {.name = "full_loss"});
  return losses;
}

Input placeholders() {
  const Shape shape{None, kImageSize, kImageSize, 1};
  return {tf::placeholder(tf::float32, {.shape = shape, .name = "images"}),
          tf::placeholder(tf::float32, {.shape = shape, .name = "mask"})};
}

/// Returns the trainable variables whose names begin with `scope`. With `discriminator` they are
/// the same for every tower: name scopes such as Tower_1 are not part of variable names.
Collected<Variable> trainable_variables(const std::string& scope) {
  auto variables = tf::get_collection<Variable>(tf::GraphKeys::TRAINABLE_VARIABLES, scope);
  const auto more =
      tf::get_collection<Variable>(tf::GraphKeys::TRAINABLE_RESOURCE_VARIABLES, scope);
  variables.insert(variables.end(), more.begin(), more.end());
  return variables;
}

/// The averager of the CIFAR-10 tutorial.
std::vector<GradAndVar> average_all(const std::vector<std::vector<GradAndVar>>& tower_grads) {
  std::vector<GradAndVar> average_grads;
  for (std::size_t i = 0; i < tower_grads[0].size(); ++i) {
    std::vector<Tensor> grads;
    for (const auto& tower : tower_grads) grads.push_back(tf::expand_dims(tower[i].grad, 0));
    average_grads.push_back({tf::reduce_mean(tf::concat(grads, 0), 0), tower_grads[0][i].var});
  }
  return average_grads;
}

void apply(Stage& stage, tf::train::Optimizer& opt, const TowersOptions& options,
           const Variable& global_step) {
  // The library averages only the gradients that exist; a variable without any stays unchanged.
  stage.grads = options.tutorial_averager ? average_all(stage.tower_grads)
                                          : tf::average_gradients(stage.tower_grads);
  stage.train_op = opt.apply_gradients(stage.grads, {.global_step = global_step});
}

}  // namespace

Tensor build_generator(const Tensor& masked, const Tensor& mask) {
  // The mask tells a hole from black pixels.
  Tensor x = tf::concat({masked, tf::ones_like(masked) * mask}, 3);
  x = conv("conv1", x, 32, 5, 1);
  x = conv("conv2", x, 64, 3, 2);
  x = conv("conv3", x, 128, 3, 2);
  x = conv("conv4", x, 128, 3, 1);
  x = deconv("deconv1", x, 64);
  x = deconv("deconv2", x, 32);
  return tf::layers::conv2d(x, 1, 3,
                            {.padding = "same", .activation = tf::sigmoid, .name = "image"});
}

Tensor build_discriminator(const Tensor& images) {
  Tensor x = conv("conv1", images, 32, 5, 2);
  x = conv("conv2", x, 64, 5, 2);
  x = conv("conv3", x, 128, 3, 2);
  return tf::layers::dense(tf::layers::flatten(x), 1, {.name = "fc"});
}

Tensor complete(const Input& input) {
  const Tensor masked = input.images * input.mask;
  const Tensor generated = tf::with(tf::variable_scope("generator"),
                                    [&](auto&) { return build_generator(masked, input.mask); });
  return masked + generated * (1.0 - input.mask);
}

Tower build_tower(const TowersOptions& options) {
  const Input input = options.next_input ? options.next_input() : placeholders();
  const Tensor completed = complete(input);
  const Logits logits = discriminate(input.images, completed, options.separate_scopes);
  return {input.images, input.mask, completed, build_loss(input, completed, logits)};
}

Towers build_towers(const TowersOptions& options) {
  Towers towers;
  towers.global_step = tf::train::get_or_create_global_step();
  tf::train::AdamOptimizer gen_only_opt(options.learning_rate),
      discm_only_opt(options.learning_rate), full_opt(options.learning_rate);
  for (tf::train::Optimizer* opt :
       std::initializer_list<tf::train::Optimizer*>{&gen_only_opt, &discm_only_opt, &full_opt}) {
    opt->set_strict_slots(options.leave_reuse_on);
  }
  const auto build_all = [&] {
    for (int i = 0; i < options.num_gpus; ++i) {
      const auto device = tf::device("/gpu:" + std::to_string(i));
      const auto scope = tf::name_scope(std::string(kTowerName) + "_" + std::to_string(i));
      Tower tower = build_tower(options);
      Losses& losses = tower.losses;
      if (i >= options.num_gpus - options.towers_without_discriminator) {
        losses.full = losses.gen_only;
      }
      tf::get_variable_scope().reuse_variables();
      towers.gen_only.tower_grads.push_back(gen_only_opt.compute_gradients(losses.gen_only));
      const std::string prefix = options.collect_by_tower ? scope.name() : "";
      towers.discm_only.tower_grads.push_back(discm_only_opt.compute_gradients(
          losses.discm_only, {.var_list = trainable_variables(prefix + "discriminator")}));
      towers.full.tower_grads.push_back(full_opt.compute_gradients(losses.full));
      towers.towers.push_back(std::move(tower));
    }
  };
  if (options.leave_reuse_on) {
    build_all();
  } else {
    // Entering the scope again keeps reuse_variables() from outliving the loop.
    const auto vars = tf::variable_scope(tf::get_variable_scope());
    build_all();
  }
  apply(towers.gen_only, gen_only_opt, options, towers.global_step);
  apply(towers.discm_only, discm_only_opt, options, towers.global_step);
  apply(towers.full, full_opt, options, towers.global_step);
  return towers;
}

}  // namespace towerflow::models::three_stage_gan

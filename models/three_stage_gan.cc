#include "models/three_stage_gan.h"

#include <fmt/format.h>

#include "models/digits.h"
#include "models/models.h"
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

/// Returns the mean cross entropy of logits that should all predict `label`.
Tensor entropy(const Tensor& label, const Tensor& logits) {
  return tf::reduce_mean(
      tf::nn::sigmoid_cross_entropy_with_logits({.labels = label, .logits = logits}));
}

struct Logits {
  Tensor real, fake;
};

/// Applies one discriminator to both kinds of images; with `separate`, uses the original program's
/// two scopes, which share no variables.
Logits discriminate(const Tensor& images, const Tensor& generated, bool separate) {
  const auto in_scope = [&](const char* own, bool reuse, const Tensor& x) {
    const std::string name = separate ? std::string("discriminator/") + own : "discriminator";
    return tf::with(tf::variable_scope(name, {.reuse = reuse}),
                    [&](auto&) { return build_discriminator(x); });
  };
  return {in_scope("real_discriminator", false, images),
          in_scope("fake_discriminator", true, generated)};
}

Input placeholders() {
  const Shape shape{None, kImageSize, kImageSize, 1};
  return {tf::placeholder(tf::float32, {.shape = shape, .name = "images"}),
          tf::placeholder(tf::float32, {.shape = shape, .name = "mask"})};
}

Tower build_tower(const TowersOptions& options) {
  Tower tower;
  const auto [images, mask] = options.next_input ? options.next_input() : placeholders();
  tower.images = images;
  tower.mask = mask;
  const Tensor masked = tower.images * tower.mask;
  const Tensor generated =
      tf::with(tf::variable_scope("generator"), [&](auto&) { return build_generator(masked); });
  const Logits logits = discriminate(tower.images, generated, options.separate_scopes);
  tower.losses = build_loss(tower.images, generated, logits.real, logits.fake);
  return tower;
}

/// Returns the trainable variables whose names begin with `discriminator`, the same for every
/// tower: name scopes such as Tower_1 are not part of variable names.
std::vector<Variable> discriminator_variables() {
  std::vector<Variable> variables =
      tf::get_collection<Variable>(tf::GraphKeys::TRAINABLE_VARIABLES, "discriminator");
  const auto more =
      tf::get_collection<Variable>(tf::GraphKeys::TRAINABLE_RESOURCE_VARIABLES, "discriminator");
  variables.insert(variables.end(), more.begin(), more.end());
  return variables;
}

void apply(Stage& stage, tf::train::Optimizer& opt, const Variable& global_step) {
  // Averages only the gradients that exist; a variable without any stays unchanged.
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
  tf::train::AdamOptimizer gen_only_opt(options.learning_rate),
      discm_only_opt(options.learning_rate), full_opt(options.learning_rate);
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

namespace {

constexpr std::int64_t kHoleSize = 2;

/// Returns digits of 28 x 28 pixels as images of 8 x 8, each pixel the mean of 4 x 4 pixels of the
/// padded image, and a mask that is 0 in a square in the middle.
Input downscaled_input(const Batch& batch) {
  const Tensor images = tf::reshape(batch.features + 0.5, {-1, 28, 28, 1});
  const Tensor framed = tf::pad(images, {{0, 0}, {2, 2}, {2, 2}, {0, 0}});
  constexpr std::int64_t kAround = (kImageSize - kHoleSize) / 2;
  return {tf::nn::avg_pool(framed, {1, 4, 4, 1}, {1, 4, 4, 1}, "VALID"),
          tf::pad(tf::zeros({kHoleSize, kHoleSize, 1}),
                  {{kAround, kAround}, {kAround, kAround}, {0, 0}}, "CONSTANT",
                  {.constant_values = 1.0})};
}

TrainingGraph build(const BuildOptions& options, const InputFunction& input) {
  const BatchFunction next_batch = input();
  const Towers towers = build_towers(
      {.num_gpus = options.num_towers, .learning_rate = options.learning_rate, .next_input = [&] {
         return downscaled_input(next_batch());
       }});
  const auto stage = [&](const Stage& of, Tensor Losses::*loss) {
    StageOps ops{of.train_op, {}};
    for (const Tower& tower : towers.towers) ops.losses.push_back(tower.losses.*loss);
    return ops;
  };
  return {
      .global_step = towers.global_step,
      .stages = {stage(towers.gen_only, &Losses::gen_only),
                 stage(towers.discm_only, &Losses::discm_only), stage(towers.full, &Losses::full)},
      .grads = towers.full.grads};
}

EvaluationGraph build_evaluation(const Batch& batch, const OptionValues&) {
  const Input input = downscaled_input(batch);
  const Tensor masked = input.images * input.mask, hole = 1.0 - input.mask;
  const Tensor generated =
      tf::with(tf::variable_scope("generator"), [&](auto&) { return build_generator(masked); });
  const auto square_error = [&](const Tensor& filled) {
    return tf::reduce_sum(tf::square((filled - input.images) * hole));
  };
  return {{square_error(generated), square_error(masked)}};
}

Score score(std::int64_t examples, const std::vector<double>& sums) {
  constexpr std::int64_t kPixels = kHoleSize * kHoleSize;
  const double filled = sums[0] / static_cast<double>(examples * kPixels);
  const double black = sums[1] / static_cast<double>(examples * kPixels);
  return {fmt::format("mean squared error of the pixels filled in {:.4f}, of black ones {:.4f}, "
                      "over {} test digits",
                      filled, black, examples),
          {{"mean_squared_error", filled}, {"mean_squared_error_of_black", black}}};
}

}  // namespace

const Model kModel{
    .name = "three_stage_gan",
    .title = "GAN",
    .about = "fills in a hole in small digits, trained in three stages",
    .training =
        "Of the steps the first 40 % train the generator, the next 20 % the discriminator, "
        "the\nothers both, each stage by an Adam optimizer of its own.",
    .evaluation =
        "how far the pixels that it fills in are from the digits' own, beside how\n"
        "far black ones are.",
    .tower = "Tower",
    .learning_rate = 0.01,
    .stages = {{.name = "generator", .end_percent = 40},
               {.name = "discriminator", .end_percent = 60},
               {.name = "both"}},
    .options = {},
    .data = &kDigits,
    .input = digits_of_towers,
    .test_input = ordered_inputs,
    .batch_in_memory = batch_in_memory,
    .build = build,
    .build_evaluation = build_evaluation,
    .score = score};

}  // namespace towerflow::models::three_stage_gan

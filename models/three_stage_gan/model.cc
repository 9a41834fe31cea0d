#include <fmt/format.h>

#include "models/digits.h"
#include "models/models.h"
#include "models/three_stage_gan/three_stage_gan.h"
#include "towerflow/tf.h"

namespace towerflow::models::three_stage_gan {
namespace {

bool flag(const OptionValues& values, const char* name) {
  return std::get<bool>(option_value(kModel, values, name));
}

TrainingGraph build(const BuildOptions& options, const InputFunction& input) {
  const BatchFunction next_batch = input();
  const bool random_hole = flag(options.values, "random-hole");
  const Towers towers =
      build_towers({.num_gpus = options.num_towers,
                    .learning_rate = options.learning_rate,
                    .next_input = [&] { return holed_digits(next_batch(), random_hole); },
                    .separate_scopes = flag(options.values, "separate-scopes"),
                    .leave_reuse_on = flag(options.values, "leave-reuse-on"),
                    .collect_by_tower = flag(options.values, "collect-by-tower"),
                    .tutorial_averager = flag(options.values, "tutorial-averager")});
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

/// Returns a PNG of up to 48 images in bands of 16: originals, below them what the generator sees,
/// and what it makes of it.
///
/// shapes   [N, 28, 28, 1] -> []
Tensor picture(const Tensor& images, const Tensor& masked, const Tensor& completed) {
  const Tensor count = tf::shape(images)[0];
  const Tensor columns = tf::minimum(count, 16);
  const Tensor bands = tf::minimum(tf::floordiv(count, columns), 3);
  const Tensor all = tf::stack({images, masked, completed});
  const Tensor shown = tf::slice(all, {0, 0, 0, 0, 0}, tf::stack({3, bands * columns, -1, -1, -1}));
  const Tensor placed = tf::transpose(
      tf::reshape(shown, tf::stack({3, bands, columns, int{kImageSize}, int{kImageSize}})),
      {1, 0, 3, 2, 4});
  const Tensor grid =
      tf::reshape(placed, tf::stack({bands * (3 * kImageSize), columns * kImageSize, 1}));
  return tf::image::encode_png(tf::cast(grid * 255.0 + 0.5, tf::uint8));
}

EvaluationGraph build_evaluation(const Batch& batch, const OptionValues& values) {
  tf::set_random_seed(1);  // the same holes each time
  const auto [images, mask] = holed_digits(batch, flag(values, "random-hole"));
  const Tensor completed = complete({images, mask});
  const Tensor masked = images * mask;
  const auto square_error = [&, images = images](const Tensor& filled) {
    return tf::reduce_sum(tf::square(filled - images));
  };
  return {.sums = {square_error(completed), square_error(masked)},
          .picture = picture(images, masked, completed)};
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

ModelOption steps_option(const char* name, const char* about) {
  return {.name = name,
          .about = about,
          .value = std::int64_t{0},
          .most = 1'000'000'000,
          .least = 0,
          .of_training = true};
}

}  // namespace

const Model kModel{
    .name = "three_stage_gan",
    .title = "GAN",
    .about = "fills in a hole in digits, trained in three stages",
    .training =
        "Of the steps the first 40 % train the generator, the next 20 % the discriminator, "
        "the\nothers both, each stage by an Adam optimizer of its own. Options give a stage a "
        "number of\nsteps; the others share what is left.",
    .evaluation =
        "how far the pixels that it fills in are from the digits' own, beside how\n"
        "far black ones are.",
    .tower = kTowerName,
    .learning_rate = 0.001,
    .log_every = 10,
    .stages = {{.name = "generator", .end_percent = 40, .steps_option = "generator-steps"},
               {.name = "discriminator", .end_percent = 60, .steps_option = "discriminator-steps"},
               {.name = "both", .steps_option = "full-steps"}},
    .options = {steps_option("generator-steps", "steps of the first stage; 0: 40 % of all"),
                steps_option("discriminator-steps", "steps of the second stage; 0: 20 % of all"),
                steps_option("full-steps", "steps of the third stage; 0: 40 % of all"),
                {.name = "random-hole",
                 .about = "put the hole at a random place in each image",
                 .value = false,
                 .kept = true},
                {.name = "separate-scopes",
                 .about = "give the discriminator of filled images a scope of its own, a mistake "
                          "of the source text: it finds no variables to reuse",
                 .value = false,
                 .of_training = true},
                {.name = "leave-reuse-on",
                 .about = "leave the root scope in reuse mode, a mistake of the source text: the "
                          "optimizers, strict as TensorFlow's, cannot create their slots",
                 .value = false,
                 .of_training = true},
                {.name = "tutorial-averager",
                 .about =
                     "average as the CIFAR-10 tutorial does, a mistake of the source text: the "
                     "averager fails on gradients that are absent",
                 .value = false,
                 .of_training = true},
                {.name = "collect-by-tower",
                 .about = "collect Tower_i/discriminator, a mistake that the source text asks "
                          "about: no variable has the name of a tower",
                 .value = false,
                 .of_training = true}},
    .data = &kDigits,
    .input = digits_of_towers,
    .test_input = ordered_inputs,
    .batch_in_memory = batch_in_memory,
    .build = build,
    .build_evaluation = build_evaluation,
    .score = score,
    .samples_file = "samples.png",
    .samples = "digits, their holes, and what the network fills in"};

}  // namespace towerflow::models::three_stage_gan

#include <fmt/format.h>

#include <cmath>

#include "models/models.h"
#include "models/vaegan/vaegan.h"
#include "towerflow/tf.h"

namespace towerflow::models::vaegan {
namespace {

bool flag(const OptionValues& values, const std::string& name) {
  return std::get<bool>(option_value(kModel, values, name));
}

Sizes sizes_of(const OptionValues& values) {
  return flag(values, "full-size") ? full_sizes() : Sizes{};
}

/// Enlarges or reduces flattened images if the networks take others.
Tensor resized(const Tensor& x, const Sizes& sizes) {
  const std::int64_t side = sizes.image_size;
  const auto given = static_cast<std::int64_t>(
      std::lround(std::sqrt(static_cast<double>(x.shape().size(1) / kChannels))));
  if (given == side) return x;
  const Tensor images = tf::reshape(x, {-1, given, given, kChannels});
  const auto method =
      given < side ? tf::image::ResizeMethod::BILINEAR : tf::image::ResizeMethod::AREA;
  return tf::reshape(tf::image::resize_images(images, {side, side}, method),
                     {-1, side * side * kChannels});
}

/// Summarizes the losses of the last tower, and the rates.
std::vector<Tensor> summaries_of(const Towers& towers) {
  const Losses& losses = towers.towers.back().losses;
  return {tf::summary::scalar("SSE_loss", losses.sse), tf::summary::scalar("KL_loss", losses.kl),
          tf::summary::scalar("D_loss", losses.d),     tf::summary::scalar("G_loss", losses.g),
          tf::summary::scalar("LL_loss", losses.ll),   tf::summary::scalar("lr_E", towers.lr_e),
          tf::summary::scalar("lr_G", towers.lr_g),    tf::summary::scalar("lr_D", towers.lr_d)};
}

TrainingGraph build(const BuildOptions& options, const InputFunction& input) {
  const Sizes sizes = sizes_of(options.values);
  const auto resized_input = [&]() -> BatchFunction {
    return [next_batch = input(), sizes] {
      const Batch batch = next_batch();
      return Batch{resized(batch.features, sizes), batch.labels};
    };
  };
  const Towers towers = build_towers({.num_towers = options.num_towers,
                                      .learning_rate = options.learning_rate,
                                      .sizes = sizes,
                                      .unordered = flag(options.values, "unordered"),
                                      .mean_losses = flag(options.values, "mean-losses"),
                                      .unclipped = flag(options.values, "unclipped"),
                                      .leave_reuse_on = flag(options.values, "leave-reuse-on"),
                                      .across_processes = options.across_processes},
                                     resized_input);
  StageOps ops{towers.train_op, {}};
  TrainedLoss e{"L_e", {}, towers.train_e}, g{"L_g", {}, towers.train_g},
      d{"L_d", {}, towers.train_d};
  for (const Tower& tower : towers.towers) {
    ops.losses.push_back(tf::add_n({tower.l_e, tower.l_g, tower.l_d}));
    e.losses.push_back(tower.l_e);
    g.losses.push_back(tower.l_g);
    d.losses.push_back(tower.l_d);
  }
  const Losses& last = towers.towers.back().losses;
  ops.parts = {{"SSE", last.sse}, {"KL", last.kl}, {"LL", last.ll}, {"D", last.d}, {"G", last.g}};
  TrainingGraph graph{.global_step = towers.global_step,
                      .stages = {ops},
                      .grads = towers.grads,
                      .trained = {e, g, d},
                      .counts_per_step = towers.counts_per_step};
  if (options.tb_logging) graph.summaries = summaries_of(towers);
  return graph;
}

/// Returns a picture of images in `rows` rows, as PNG bytes.
Tensor grid(const Tensor& images, int rows, std::int64_t side) {
  const Tensor cells = tf::reshape(images, {rows, -1, side, side, kChannels});
  const Tensor lines = tf::transpose(cells, {0, 2, 1, 3, 4});
  const Tensor columns = tf::shape(cells)[1];
  const Tensor picture = tf::reshape(lines, {rows * side, columns * side, kChannels});
  return tf::image::encode_png(tf::cast(tf::round(picture * 255.0), tf::uint8));
}

/// Normalizes by the moving averages of the pass that does the same in training.
EvaluationGraph build_evaluation(const Batch& batch, const OptionValues& values) {
  constexpr std::int64_t kShown = 12;
  const Sizes sizes = sizes_of(values);
  const auto pass = [&](const char* name) -> Pass {
    return {.name = flag(values, "unordered") ? "moments" : name, .training = false};
  };
  const auto generated = [&](const Tensor& z, bool reuse, const char* name) {
    const auto scope = tf::variable_scope("gen", {.reuse = reuse});
    return generator(z, sizes, pass(name));
  };
  const Tensor x = resized(batch.features, sizes);
  const Code z_x =
      tf::with(tf::variable_scope("enc"), [&](auto&) { return encoder(x, sizes, pass("x")); });
  const Tensor x_tilde = generated(z_x.z_mean, false, "z_x");
  const Tensor error = tf::reduce_mean(tf::square(x - x_tilde), 1);

  const Tensor shown = x[{{0, kShown}, tf::all}], count = tf::shape(shown)[0];
  const Tensor z_p = tf::random_normal({count * 2, sizes.hidden_size}, {.seed = 1});
  const Tensor picture =
      grid(tf::concat({shown, x_tilde[{{0, kShown}, tf::all}], generated(z_p, true, "z_p")}, 0), 4,
           sizes.image_size);
  EvaluationGraph graph{.sums = {tf::reduce_sum(error), tf::reduce_sum(divergence(z_x))},
                        .picture = picture};
  for (const Variable& variable : tf::global_variables()) {
    graph.restored.emplace(variable.op().name(), variable);  // the moving averages too
  }
  return graph;
}

Score score(std::int64_t examples, const std::vector<double>& sums) {
  const double error = sums[0] / static_cast<double>(examples);
  const double divergence = sums[1] / static_cast<double>(examples);
  return {fmt::format("mean squared error of reconstructions {:.4f}, KL divergence {:.2f} nats, "
                      "over {} test images",
                      error, divergence, examples),
          {{"mean_squared_error", error}, {"kl_divergence", divergence}}};
}

}  // namespace

const Model kModel{
    .name = "vaegan",
    .title = "VAE-GAN",
    .about = "an autoencoder whose generator is trained against a discriminator",
    .training =
        "The encoder, the generator and the discriminator have an Adam optimizer each, whose rate\n"
        "falls where its side wins. The published rate of the full size is 0.001.",
    .evaluation =
        "how far images are from what is generated from their codes, a mean of\n"
        "squares, and how far the distributions of the codes are from a normal one.",
    .tower = kTowerName,
    .learning_rate = 0.01,
    .own_schedule = true,
    .batch_size = 32,
    .log_every = 100,
    .stages = {{}},
    .options = {{.name = "full-size",
                 .about = "train the published networks, of 123.6 million parameters, on images "
                          "of 64 x 64 pixels",
                 .value = false,
                 .kept = true},
                {.name = "unordered",
                 .about = "leave the three updates and those of the moments in no order, and count "
                          "three steps for each, mistakes of the published program kept for "
                          "teaching; checkpoints are then numbered by that count",
                 .value = false,
                 .kept = true},
                {.name = "mean-losses",
                 .about = "divide KL and LL by the batch; the published program sums them, so that "
                          "they grow with a tower's batch and two towers do not train as one with "
                          "twice the batch",
                 .value = false,
                 .kept = true},
                {.name = "unclipped",
                 .about = "minimize the losses as they are; the published program clips them to "
                          "-100 .. 100, and a loss beyond that trains nothing",
                 .value = false,
                 .kept = true},
                {.name = "leave-reuse-on",
                 .about = "leave the root scope in reuse mode, a mistake of the published program: "
                          "the optimizers, strict as TensorFlow's, cannot create their slots",
                 .value = false,
                 .of_training = true}},
    .data = &kImages,
    .one_pipeline = true,
    .input = shuffled_inputs,
    .test_input = inputs,
    .batch_in_memory = batch_in_memory,
    .build = build,
    .build_evaluation = build_evaluation,
    .score = score,
    .samples_file = "samples.png",
    .samples =
        "rows of test images, of what is generated from their codes, and of images "
        "generated from random codes"};

}  // namespace towerflow::models::vaegan

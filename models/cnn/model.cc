#include "models/cnn/cnn.h"

namespace towerflow::models::cnn {
namespace {

/// Returns the cross entropy. The last tower's has the weight decay of all towers, which the
/// average divides by their number.
Tensor build_loss(const Network& network, const Batch& batch, int tower, int num_towers) {
  // As the tower reads them: of staged variables, the decay is that of the copies.
  std::vector<Variable> weights;
  const auto noted = [&](const VariableGetter& get, const std::string& name,
                         const std::optional<Shape>& shape, const GetVariableOptions& how) {
    weights.push_back(get(name, shape, how));
    return weights.back();
  };
  const auto scope = tf::variable_scope("v", {.custom_getter = noted});
  const Tensor logits = inference(network, batch.features, /*training=*/true);
  const Tensor entropy = tf::losses::sparse_softmax_cross_entropy(batch.labels, logits);
  if (tower + 1 < num_towers) return entropy;
  std::vector<Tensor> squares;
  for (const Variable& variable : weights) {
    if (!variable.trainable() || variable.name().find("batchnorm") != std::string::npos) continue;
    squares.push_back(tf::nn::l2_loss(variable));
  }
  return entropy + num_towers * kWeightDecay * tf::add_n(squares);
}

/// Returns the optimizer of an option, with the constants that tf_cnn_benchmarks gives it.
std::unique_ptr<tf::train::Optimizer> optimizer_of(const OptionValues& values,
                                                   const Operand& rate) {
  const auto given = values.find("optimizer");
  const std::string name = given == values.end() ? "sgd" : std::get<std::string>(given->second);
  if (name == "momentum") return std::make_unique<tf::train::MomentumOptimizer>(rate, 0.9);
  if (name == "rmsprop") {
    return std::make_unique<tf::train::RMSPropOptimizer>(
        rate, tf::train::RMSPropOptions{.decay = 0.9, .momentum = 0.9, .epsilon = 1.0});
  }
  return std::make_unique<tf::train::GradientDescentOptimizer>(rate);
}

template <const Network& network>
TrainingGraph build(const BuildOptions& options, const InputFunction& input) {
  return build_towers(network, options, input);
}

/// Returns noise around grey, scaled as images are, and random labels.
template <const Network& network>
Batch batch_in_memory(std::int64_t batch_size) {
  const auto cpu = tf::device("/cpu:0");
  const std::int64_t size = network.image_size;
  const Variable images(
      tf::truncated_normal({batch_size, size, size, 3}, {.stddev = 60.0 / 127.5, .seed = 1}),
      {.trainable = false, .name = "images"});
  const Variable labels(
      tf::random_uniform({batch_size},
                         {.minval = 0, .maxval = int{kClasses}, .dtype = tf::int32, .seed = 2}),
      {.trainable = false, .name = "labels"});
  return {images, labels};
}

template <const Network& network>
Model model_of() {
  return {.name = network.name,
          .title = network.name,
          .about = network.about,
          .training = "",
          .evaluation = "",
          .tower = "tower",
          .learning_rate = network.learning_rate,
          .batch_size = network.batch_size,
          .stages = {{}},
          .options = {{.name = "optimizer",
                       .about = "sgd, momentum (0.9) or rmsprop",
                       .value = std::string("sgd"),
                       .choices = {"sgd", "momentum", "rmsprop"}}},
          .data = nullptr,
          .one_pipeline = true,
          .can_stage_variables = true,
          .input = nullptr,
          .test_input = nullptr,
          .batch_in_memory = batch_in_memory<network>,
          .build = build<network>,
          .build_evaluation = nullptr,
          .score = nullptr};
}

}  // namespace

TrainingGraph build_towers(const Network& network, const BuildOptions& options,
                           const InputFunction& input) {
  const BatchFunction next_batch = input();
  const auto cpu = tf::device("/cpu:0");
  const Variable global_step = tf::train::get_or_create_global_step();
  const auto optimizer = optimizer_of(options.values, options.learning_rate);
  const tf::parallel::Towers towers(*optimizer,
                                    [&](int tower, const std::string&) {
                                      return build_loss(network, next_batch(), tower,
                                                        options.num_towers);
                                    },
                                    {.num_towers = options.num_towers,
                                     .apply_gradients = {.global_step = global_step},
                                     .update_ops = UpdateOpsPolicy::first,
                                     .staged_variables = options.staged_variables});
  return {.global_step = global_step,
          .stages = {{towers.train_op, towers.losses}},
          .grads = towers.grads};
}

const std::vector<const Model*>& all() {
  static const Model trivial = model_of<kTrivial>(), lenet5 = model_of<kLenet5>(),
                     alexnet = model_of<kAlexnet>(), vgg16 = model_of<kVgg16>(),
                     resnet50 = model_of<kResnet50>();
  static const std::vector<const Model*> models{&trivial, &lenet5, &alexnet, &vgg16, &resnet50};
  return models;
}

}  // namespace towerflow::models::cnn

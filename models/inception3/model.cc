#include <fmt/format.h>

#include "models/inception3/inception3.h"
#include "models/inception3/slim.h"
#include "models/models.h"
#include "models/score.h"
#include "towerflow/tf.h"

namespace towerflow::models::inception3 {
namespace {

template <class T>
T value_of(const OptionValues& values, const char* name) {
  return std::get<T>(option_value(kModel, values, name));
}

std::int64_t classes_of(const OptionValues& values) {
  return value_of<std::int64_t>(values, "classes");
}

TrainingGraph build(const BuildOptions& options, const InputFunction& input) {
  const Towers towers = build_towers(
      {.num_towers = options.num_towers,
       .learning_rate = options.learning_rate,
       .batch_size = options.batch_size,
       .examples = options.examples,
       .classes = classes_of(options.values),
       .update_ops = tf::update_ops_policy(value_of<std::string>(options.values, "update-ops")),
       .ordered_averages = value_of<bool>(options.values, "ordered-averages"),
       .own_decay = value_of<bool>(options.values, "own-decay")},
      input);
  return {.global_step = towers.global_step,
          .stages = {{towers.train_op, towers.losses}},
          .grads = towers.grads,
          .summaries = towers.summaries,
          .learning_rate = towers.learning_rate,
          .update_collections = {slim::UPDATE_OPS_COLLECTION}};
}

/// Counts the images whose class has the highest logit, and one of the five highest, with the
/// averages of the variables.
EvaluationGraph build_evaluation(const Batch& batch, const OptionValues& values) {
  const Tensor logits = inference(batch.features, {.num_classes = classes_of(values) + 1}).logits;
  const tf::train::ExponentialMovingAverage variable_averages(kMovingAverageDecay);
  return {.sums = {count_right(logits, batch.labels), count_right(logits, batch.labels, 5)},
          .restored = variable_averages.variables_to_restore()};
}

Score score(std::int64_t examples, const std::vector<double>& sums) {
  const auto top_5 = static_cast<std::int64_t>(sums[1]);
  const double recall = sums[1] / static_cast<double>(examples);
  Score score = score_of_right(examples, sums[0]);
  score.text += fmt::format(", {} among the best five, recall @ 5 = {:.4f}", top_5, recall);
  score.fields.emplace_back("among_five", top_5);
  score.fields.emplace_back("recall_at_5", recall);
  return score;
}

}  // namespace

const Model kModel{
    .name = "inception3",
    .title = "Inception v3",
    .about = "Inception v3 on images of 299 x 299 pixels, as published for ImageNet",
    .training =
        "RMSProp; the rate is multiplied by 0.16 every 30 epochs.\n"
        "Moving averages of all variables are kept for the evaluation, and of the\n"
        "averages of the batch normalizations, which by default the last tower updates.",
    .evaluation =
        "how many are recognised by the moving averages of the variables:\n"
        "precision @ 1 is the share whose highest score is the right class,\n"
        "recall @ 5 that where it is among the five highest.",
    .tower = kTowerName,
    .learning_rate = 0.1,
    .own_schedule = true,
    .batch_size = 32,
    .split_batch = true,
    .log_every = 10,
    .reader_threads = 4,
    .stages = {{}},
    .options = {{.name = "classes",
                 .about = "classes of the data; the network has one more, 0, for the background",
                 .value = kClasses,
                 .kept = true,
                 .most = 1000000},
                {.name = "update-ops",
                 .about = "towers whose moments update the averages of the batch normalizations: "
                          "the first, the last, as in the published program, all, each from the "
                          "value before the step, in_order, one after another, or merged, taken as "
                          "one batch",
                 .value = std::string("last"),
                 .kept = true,
                 .choices = {"first", "last", "all", "in_order", "merged"}},
                {.name = "ordered-averages",
                 .about = "let the averages of the variables wait for the updates of a step; the "
                          "published program leaves them in no order",
                 .value = false,
                 .kept = true},
                {.name = "own-decay",
                 .about = "let each tower compute the decay of the weights; in the published "
                          "program all add that of the first tower",
                 .value = false,
                 .kept = true}},
    .data = &kImages,
    .one_pipeline = true,
    .random_input = true,
    .input = distorted_inputs,
    .test_input = inputs,
    .batch_in_memory = batch_in_memory,
    .build = build,
    .build_evaluation = build_evaluation,
    .score = score};

}  // namespace towerflow::models::inception3

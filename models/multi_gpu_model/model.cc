#include <fmt/format.h>

#include "models/digits.h"
#include "models/models.h"
#include "models/multi_gpu_model/multi_gpu_model.h"
#include "models/score.h"
#include "towerflow/tf.h"

namespace towerflow::models::multi_gpu_model {
namespace {

Config config_of(const OptionValues& values) {
  return {.hidden = std::get<std::int64_t>(option_value(kModel, values, "hidden")),
          .embedding = std::get<bool>(option_value(kModel, values, "embedding"))};
}

TrainingGraph build_training(const BuildOptions& options, const InputFunction& input) {
  const auto value = [&](const char* name) { return option_value(kModel, options.values, name); };
  const Program program =
      build({.num_gpus = options.num_towers,
             .config = config_of(options.values),
             .learning_rate = options.learning_rate,
             .next_batch = input(),
             .reuse = !std::get<bool>(value("forget-reuse")),
             .updates_wait = !std::get<bool>(value("updates-at-once")),
             .second_averager = std::get<std::string>(value("averager")) == "second"});
  return {.global_step = program.global_step,
          .stages = {{program.train_op, tf::get_collection("loss", program.train_scope)}},
          .grads = program.grads,
          .summaries = tf::get_collection("merge_summary", program.train_scope)};
}

/// Counts the digits that a model in scope `test` predicts, and sums its losses.
EvaluationGraph build_evaluation(const Batch& batch, const OptionValues& values) {
  const auto test_scope = tf::name_scope("test");
  const Model model(false, config_of(values), batch);
  const Tensor hits = tf::equal(model.predict, tf::cast(model.y, tf::int64));
  const Tensor count = tf::cast(tf::shape(model.y)[0], tf::float32);
  return {.sums = {tf::reduce_sum(tf::cast(hits, tf::float32)), model.loss * count}};
}

Score score(std::int64_t examples, const std::vector<double>& sums) {
  const double loss = sums[1] / static_cast<double>(examples);
  Score score = score_of_right(examples, sums[0], {.examples = "digits"});
  score.text += fmt::format(", loss {:.4f}", loss);
  score.fields.emplace_back("loss", loss);
  return score;
}

}  // namespace

const models::Model kModel{
    .name = "multi_gpu_model",
    .title = "multi-GPU",
    .about = "a classifier of digits whose towers are found through collections",
    .training =
        "Towers in scope train/ share their\n"
        "variables with a model in scope test/; each can be fed with a batch of its own.",
    .evaluation =
        "how many are recognised by the model in scope test/: precision @ 1 is the\n"
        "share whose highest score is the right digit.",
    .tower = "train/tower",
    .learning_rate = 0.1,
    .stages = {{}},
    .options = {{.name = "averager",
                 .about = "the text's first averager, or its second, which packs the list of "
                          "gradients and fails with --embedding",
                 .value = std::string("first"),
                 .choices = {"first", "second"},
                 .of_training = true},
                {.name = "embedding",
                 .about = "look up the hidden layer in a table of patches of the digits",
                 .value = false,
                 .kept = true},
                {.name = "hidden",
                 .about = "units of the hidden layer",
                 .value = std::int64_t{64},
                 .kept = true,
                 .most = 4096},
                {.name = "forget-reuse",
                 .about = "build every model without reuse, a mistake of the source text: the "
                          "variables of the second tower, or of the model in scope test/, exist "
                          "already",
                 .value = false,
                 .of_training = true},
                {.name = "updates-at-once",
                 .about = "update a variable as soon as its own gradient is averaged, as the "
                          "source text does: in TensorFlow another gradient may still read it",
                 .value = false,
                 .of_training = true}},
    .data = &kDigits,
    .input = digits_of_towers,
    .test_input = ordered_inputs,
    .batch_in_memory = batch_in_memory,
    .build = build_training,
    .build_evaluation = build_evaluation,
    .score = score};

}  // namespace towerflow::models::multi_gpu_model

#include <fmt/format.h>

#include "models/batch_norm/batch_norm.h"
#include "models/digits.h"
#include "models/models.h"
#include "models/score.h"
#include "towerflow/tf.h"

namespace towerflow::models::batch_norm {
namespace {

TrainingGraph build(const BuildOptions& options, const InputFunction& input) {
  const auto value = [&](const char* name) { return option_value(kModel, options.values, name); };
  const Towers towers = build_towers({.num_gpus = options.num_towers,
                                      .collecting = way(std::get<std::string>(value("collecting"))),
                                      .learning_rate = options.learning_rate,
                                      .forget_fc = std::get<bool>(value("forget-fc")),
                                      .ordered = std::get<bool>(value("ordered"))},
                                     input());
  return {.global_step = towers.global_step,
          .stages = {{towers.train_op, towers.losses}},
          .grads = towers.grads};
}

/// Counts the digits that are recognised with the moving averages, and with the moments of each
/// batch.
EvaluationGraph build_evaluation(const Batch& batch, const OptionValues&) {
  const auto count = [&](bool by_batch) {
    const auto vars = tf::variable_scope(tf::get_variable_scope(), {.reuse = by_batch});
    const Tensor logits = inference(batch.features, by_batch);
    return count_right(logits, batch.labels);
  };
  EvaluationGraph graph{.sums = {count(false), count(true)}};
  for (const Variable& variable : tf::global_variables()) {
    graph.restored.emplace(variable.op().name(), variable);
  }
  return graph;
}

Score score(std::int64_t examples, const std::vector<double>& sums) {
  const auto by_batch = static_cast<std::int64_t>(sums[1]);
  Score score = score_of_right(examples, sums[0], {.examples = "digits"});
  score.text += fmt::format("; with the moments of each batch {} right", by_batch);
  score.fields.emplace_back("correct_by_batch", by_batch);
  return score;
}

std::string explanation(int num_towers, const OptionValues&) { return table_of_ways(num_towers); }

}  // namespace

const Model kModel{
    .name = "batch_norm",
    .title = "batch normalization",
    .about = "a classifier of digits with batch normalization, updated in several ways",
    .training =
        "One optimizer\n"
        "updates the convolutions, another the other layers.",
    .evaluation =
        "how many are recognised with the moving averages of the moments, and how many\n"
        "with the moments of each batch.",
    .tower = kTowerName,
    .learning_rate = 0.05,
    .stages = {{}},
    .options = {{.name = "collecting",
                 .about = "how the moving averages are updated: as the text collects its list, "
                          "extended by the whole collection in each tower, once after the loop, or "
                          "replaced in each tower; as a policy of combine_update_ops, first, last, "
                          "all, in_order or merged; or synchronised with the layer",
                 .value = std::string("after"),
                 .kept = true,
                 .choices = names_of(ways())},
                {.name = "forget-fc",
                 .about = "leave the optimizer of the fully connected layers out of the step, as "
                          "the source text does by mistake with extended and after: nothing trains "
                          "them",
                 .value = false,
                 .of_training = true},
                {.name = "ordered",
                 .about = "run the updates of the moving averages first, then the optimizers, then "
                          "the averages of the variables; the source text orders none of them",
                 .value = false,
                 .of_training = true}},
    .data = &kDigits,
    .input = digits_of_towers,
    .test_input = ordered_inputs,
    .batch_in_memory = batch_in_memory,
    .build = build,
    .build_evaluation = build_evaluation,
    .score = score,
    .explanation = explanation};

}  // namespace towerflow::models::batch_norm

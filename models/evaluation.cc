#include <fmt/format.h>

#include <filesystem>

#include "models/run_record.h"
#include "models/training.h"
#include "towerflow/tf.h"

namespace towerflow::models {

EvalResult evaluate(const Model& model, const EvalOptions& options) {
  if (options.batch_size < 1) {
    throw ValueError(fmt::format("the batch size must be at least 1, got {}", options.batch_size));
  }
  const std::vector<std::string> files = model.data->files_of(options.data_dir, Part::test);
  EvalResult result;
  result.checkpoint = tf::train::latest_checkpoint(options.train_dir).value_or("");
  if (result.checkpoint.empty()) {
    throw errors::NotFoundError(
        fmt::format("no checkpoint in '{}'", options.train_dir),
        {.hint = fmt::format("`towerflow train {} --train-dir T` writes one", model.name)});
  }
  OptionValues values = options.values;
  if (const auto record = read_run_record(model, options.train_dir)) {
    values.insert(record->values.begin(), record->values.end());  // keeps the caller's values
  }

  Graph graph;
  const auto default_graph = graph.as_default();
  const auto cpu = tf::device("/cpu:0");
  const Batch batch = model.test_input(files, options.batch_size);
  const EvaluationGraph built = model.build_evaluation(batch, values);
  std::vector<Fetch> fetches{tf::size(batch.labels)};
  fetches.insert(fetches.end(), built.sums.begin(), built.sums.end());
  tf::train::Saver saver({.var_list = built.restored.empty()
                                          ? tf::train::VarList(tf::trainable_variables())
                                          : tf::train::VarList(built.restored)});

  tf::Session sess;
  sess.run(tf::local_variables_initializer());
  saver.restore(sess, result.checkpoint);
  tf::train::Coordinator coord;
  auto threads = tf::train::start_queue_runners(sess, {.coord = &coord});
  std::vector<double> sums(built.sums.size());
  try {
    while (!coord.should_stop()) {
      const std::vector<Array> values_of_batch = sess.run(std::span<const Fetch>(fetches));
      result.examples += values_of_batch[0].item<std::int32_t>();
      for (std::size_t i = 0; i < sums.size(); ++i) {
        sums[i] += values_of_batch[i + 1].item<float>();
      }
    }
  } catch (const tf::errors::OutOfRangeError&) {
    // All test examples were read.
  } catch (...) {
    coord.request_stop(std::current_exception());
  }
  coord.request_stop();
  coord.join(threads);
  sess.close();
  if (result.examples == 0) {
    throw errors::OutOfRangeError(fmt::format("'{}' holds no examples", files[0]));
  }
  result.score = model.score(result.examples, sums);
  const auto dash = result.checkpoint.rfind('-');
  if (dash != std::string::npos) result.step = std::atoll(result.checkpoint.c_str() + dash + 1);
  return result;
}

}  // namespace towerflow::models

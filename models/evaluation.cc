#include <fmt/format.h>

#include <filesystem>

#include "models/mnist_train.h"
#include "models/run_record.h"
#include "towerflow/tf.h"

namespace towerflow::models::mnist {

EvalResult evaluate(const EvalOptions& options) {
  if (options.batch_size < 1) {
    throw ValueError(fmt::format("the batch size must be at least 1, got {}", options.batch_size));
  }
  const std::string file = record_file(options.data_dir, "test");
  EvalResult result;
  result.checkpoint = tf::train::latest_checkpoint(options.train_dir).value_or("");
  if (result.checkpoint.empty()) {
    throw errors::NotFoundError(fmt::format("no checkpoint in '{}'", options.train_dir),
                                {.hint = "`towerflow train mnist --train-dir T` writes one"});
  }
  const bool relu_logits = options.relu_logits.value_or(
      read_run_record(options.train_dir).value_or(RunRecord{}).relu_logits);

  Graph graph;
  const auto default_graph = graph.as_default();
  const auto cpu = tf::device("/cpu:0");
  const Batch batch = ordered_inputs(file, options.batch_size);
  const Tensor logits = inference(batch.images, {.relu_logits = relu_logits});
  const Tensor hits = tf::equal(tf::argmax(logits, 1), tf::cast(batch.labels, tf::int64));
  const Tensor correct = tf::reduce_sum(tf::cast(hits, tf::int64));
  const Tensor count = tf::size(batch.labels);
  tf::train::Saver saver({.var_list = tf::trainable_variables()});

  tf::Session sess;
  sess.run(tf::local_variables_initializer());
  saver.restore(sess, result.checkpoint);
  tf::train::Coordinator coord;
  auto threads = tf::train::start_queue_runners(sess, {.coord = &coord});
  try {
    while (!coord.should_stop()) {
      const auto [right, seen] = sess.run({correct, count});
      result.correct += right.item<std::int64_t>();
      result.examples += seen.item<std::int32_t>();
    }
  } catch (const tf::errors::OutOfRangeError&) {
    // Every test digit was read.
  } catch (...) {
    coord.request_stop(std::current_exception());
  }
  coord.request_stop();
  coord.join(threads);
  sess.close();
  if (result.examples == 0) {
    throw errors::OutOfRangeError(fmt::format("'{}' holds no examples", file));
  }
  result.precision_at_1 =
      static_cast<double>(result.correct) / static_cast<double>(result.examples);
  const auto dash = result.checkpoint.rfind('-');
  if (dash != std::string::npos) result.step = std::atoll(result.checkpoint.c_str() + dash + 1);
  return result;
}

}  // namespace towerflow::models::mnist

#include <fmt/format.h>

#include <functional>
#include <optional>

#include "data/file.h"
#include "models/run_record.h"
#include "models/training.h"
#include "towerflow/tf.h"

namespace towerflow::models {

namespace {

/// The evaluation graph of a training's newest checkpoint, restored, with its input running.
class Restored {
 public:
  Restored(const Model& model, const EvalOptions& options)
      : checkpoint_(newest_checkpoint(model, options)), default_graph_(graph_.as_default()) {
    const std::vector<std::string> files = model.data->files_of(options.data_dir, Part::test);
    const auto cpu = tf::device("/cpu:0");
    const Batch batch = model.test_input(files, options.batch_size);
    built_ = model.build_evaluation(batch, trained_values(model, options));
    count_ = tf::shape(batch.features)[0];
    tf::train::Saver saver({.var_list = built_.restored.empty()
                                            ? tf::train::VarList(tf::trainable_variables())
                                            : tf::train::VarList(built_.restored)});
    session_.emplace(graph_);
    session_->run(tf::local_variables_initializer());
    saver.restore(*session_, checkpoint_);
    if (has_queues()) threads_ = tf::train::start_queue_runners(*session_, {.coord = &coord_});
  }

  /// Runs `work` until it ends or the input does, and joins the input's threads.
  void run(const std::function<void()>& work) {
    try {
      work();
    } catch (const tf::errors::OutOfRangeError&) {
      // All test examples were read.
    } catch (...) {
      coord_.request_stop(std::current_exception());
    }
    coord_.request_stop();
    coord_.join(threads_);
    session_->close();
  }

  const std::string& checkpoint() const { return checkpoint_; }
  const EvaluationGraph& built() const { return built_; }
  Session& session() { return *session_; }
  bool should_stop() const { return coord_.should_stop(); }

  /// Adds the sums of the next batch; returns its number of examples. Stores the picture of the
  /// batch if `picture` is not null.
  std::int64_t add_batch(std::vector<double>& sums, std::string* picture) {
    std::vector<Fetch> fetches{*count_};
    fetches.insert(fetches.end(), built_.sums.begin(), built_.sums.end());
    if (picture != nullptr) fetches.emplace_back(*built_.picture);
    const std::vector<Array> values = session_->run(std::span<const Fetch>(fetches));
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += values[i + 1].item<float>();
    if (picture != nullptr) *picture = values.back().item<std::string>();
    return values[0].item<std::int32_t>();
  }

 private:
  /// Returns whether the input needs threads; a dataset's does not.
  static bool has_queues() {
    return !tf::get_collection<tf::train::QueueRunner>(GraphKeys::QUEUE_RUNNERS).empty();
  }

  static std::string newest_checkpoint(const Model& model, const EvalOptions& options) {
    if (options.batch_size < 1) {
      throw ValueError(
          fmt::format("the batch size must be at least 1, got {}", options.batch_size));
    }
    const auto found = tf::train::latest_checkpoint(options.train_dir);
    if (!found) {
      throw errors::NotFoundError(
          fmt::format("no checkpoint in '{}'", options.train_dir),
          {.hint = fmt::format("`towerflow train {} --train-dir T` writes one", model.name)});
    }
    return *found;
  }

  static OptionValues trained_values(const Model& model, const EvalOptions& options) {
    OptionValues values = options.values;
    if (const auto record = read_run_record(model, options.train_dir)) {
      values.insert(record->values.begin(), record->values.end());  // keeps the caller's values
    }
    return values;
  }

  std::string checkpoint_;
  Graph graph_;
  DefaultGraphGuard default_graph_;
  EvaluationGraph built_;
  std::optional<Tensor> count_;
  std::optional<tf::Session> session_;
  tf::train::Coordinator coord_;
  std::vector<tf::train::Thread> threads_;
};

}  // namespace

EvalResult evaluate(const Model& model, const EvalOptions& options) {
  Restored restored(model, options);
  EvalResult result;
  result.checkpoint = restored.checkpoint();
  std::vector<double> sums(restored.built().sums.size());
  std::string samples;
  restored.run([&] {
    const bool wanted = !options.samples.empty();
    if (wanted && !restored.built().picture) {
      samples = restored.built().samples(restored.session());
    }
    while (!restored.should_stop()) {
      const bool shown = wanted && samples.empty();
      result.examples += restored.add_batch(sums, shown ? &samples : nullptr);
    }
  });
  if (result.examples == 0) {
    throw errors::OutOfRangeError(fmt::format("'{}' holds no examples", options.data_dir));
  }
  result.score = model.score(result.examples, sums);
  const auto dash = result.checkpoint.rfind('-');
  if (dash != std::string::npos) result.step = std::atoll(result.checkpoint.c_str() + dash + 1);
  if (!options.samples.empty()) {
    AtomicFile file(options.samples);
    file.append(samples);
    file.commit();
  }
  return result;
}

}  // namespace towerflow::models

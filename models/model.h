#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/runtime/session.h"
#include "models/data_set.h"
#include "models/option_values.h"
#include "train/optimizer.h"
#include "train/who_trains.h"

namespace towerflow::models {

/// The interface of a model for training, evaluation, benchmarks and `explain`. The list of models
/// is in models/models.h.

/// An option of one model only: `--relu-logits`.
struct ModelOption {
  std::string name;  ///< "relu-logits"
  std::string about;
  OptionValue value;  ///< the default
  /// Whether the option changes the trained network. Such an option is stored beside the
  /// checkpoints, where later runs find it.
  bool kept = false;
  std::int64_t most = 0;               ///< the largest value of an integer option
  std::vector<std::string> choices{};  ///< the values of a string option; any if empty
  std::int64_t least = 1;              ///< the smallest value of an integer option
  /// Whether a training takes the option although it is not kept: it may differ between the runs of
  /// one training, as the number of steps may. An option that is neither kept nor of a training is
  /// for commands that do not train, such as `bench`; its text says so.
  bool of_training = false;

  /// Returns whether `train` and `explain` take the option.
  bool taken_by_training() const { return kept || of_training; }
};

/// Returns the names in a list of named values, for ModelOption::choices.
template <class Value>
std::vector<std::string> names_of(const std::vector<std::pair<std::string, Value>>& named) {
  std::vector<std::string> names;
  for (const auto& [name, value] : named) names.push_back(name);
  return names;
}

/// Returns an option as it stands in a command: "--relu-logits", "--depth 20"; "without
/// --relu-logits" for a flag that is off.
std::string option_text(const std::string& name, const OptionValue& value);

/// One stage of the training; stages run one after another.
struct StageInfo {
  std::string name;        ///< empty if the model's stages have no names
  int end_percent = 100;   ///< the share of all steps after which the stage ends
  double rate_factor = 1;  ///< factor of the learning rate
  /// The flag that sets the factor to 1; empty if there is none.
  std::string constant_option{};
  /// The integer option with the number of its steps. Stages whose option is 0, or that have none,
  /// divide the other steps by their shares.
  std::string steps_option{};
};

struct BuildOptions {
  int num_towers = 1;
  /// A number, or a tensor that is fed with the rate of each step.
  Operand learning_rate = 0.0;
  std::int64_t batch_size = 64;  ///< per tower
  /// Of an epoch, for schedules that count epochs. The default, as many as CIFAR-10 has, is for
  /// batches in memory, which have no epochs: short runs have the first rate of the schedule.
  std::int64_t examples = 50000;
  bool tb_logging = false;  ///< whether each tower creates summaries of its losses
  OptionValues values{};
  /// Whether towers read variables as of before the latest update; see Model::can_stage_variables.
  bool staged_variables = false;
  /// Whether the processes of `process_group()` train together. Their gradients are averaged, but
  /// what else changes the variables of a step, the model itself must make the same in all.
  bool across_processes = false;
};

/// The operations that a step of a stage runs.
struct StageOps {
  Operation train_op;
  std::vector<Tensor> losses;  ///< one per tower
  /// Other values of the last tower that the log shows, with their names there: {"KL", ..}.
  std::vector<std::pair<std::string, Tensor>> parts{};
};

/// The training graph of a model, in the default graph.
struct TrainingGraph {
  Variable global_step;
  std::vector<StageOps> stages;   ///< one for each of Model::stages
  std::vector<GradAndVar> grads;  ///< averaged, for summaries
  std::vector<Tensor> summaries;  ///< of the last tower; if empty, its losses are summarized
  /// Whether `summaries` include the histograms of the gradients and of the variables.
  bool has_histograms = false;
  /// The rate of the step, for summaries, if the graph computes it.
  std::optional<Tensor> learning_rate{};
  /// The losses and what each of them trains, for `who_trains`; if empty, those of the stages.
  std::vector<TrainedLoss> trained{};
  std::int64_t counts_per_step = 1;  ///< by which a step increases global_step
  /// The collections in which the model lists the updates of its moving averages, for `who_trains`.
  std::vector<std::string> update_collections{GraphKeys::UPDATE_OPS};
};

/// The evaluation graph of a model, in the default graph: values that are summed over all batches.
struct EvaluationGraph {
  std::vector<Tensor> sums;
  /// Which variables to restore from which names in a checkpoint; if empty, the trainable ones from
  /// their own.
  std::map<std::string, Variable> restored{};
  /// The content of Model::samples_file, where it shows a batch.
  std::optional<Tensor> picture{};
  /// Returns the content of Model::samples_file, where the network makes it without a batch, with
  /// the restored variables.
  std::function<std::string(Session& session)> samples{};
};

/// The result of an evaluation, computed from the sums.
struct Score {
  std::string text;  ///< "1960 of 2000 test digits right"
  std::vector<std::pair<std::string, std::variant<std::int64_t, double>>> fields;  ///< for JSON
};

struct StepReport;    // models/training.h
struct TrainOptions;  // models/training.h
/// Returns the lines of a training's log after a step, without the last line end.
using StepLog = std::function<std::string(const StepReport& report)>;

/// The description of one model.
struct Model {
  std::string name;        ///< name on the command line
  std::string title;       ///< name in a sentence
  std::string about;       ///< a short description
  std::string training;    ///< how its training proceeds, in a sentence or two; for the help
  std::string evaluation;  ///< what an evaluation reports; for the help
  std::string tower;       ///< prefix of the towers' name scopes, followed by "_0", "_1", ..
  double learning_rate;
  /// Whether the graph computes the rate of a step, from `learning_rate` and the global step. If
  /// not, it is fed, changed by the stages.
  bool own_schedule = false;
  std::int64_t batch_size = 64;  ///< by default, per tower
  /// Whether the towers divide a batch: `batch_size` and --batch-size are those of a step.
  bool split_batch = false;
  int log_every = 100;     ///< by default, steps between two lines of a training's log
  int reader_threads = 2;  ///< by default, for each input pipeline
  std::vector<StageInfo> stages;
  std::vector<ModelOption> options;
  const DataSet* data;
  /// Whether one pipeline deals batches to all towers. If not, each tower reads all examples.
  bool one_pipeline = false;
  /// Whether the input draws random numbers, which several reader threads take in any order.
  bool random_input = false;
  /// Whether `build` obeys BuildOptions::staged_variables.
  bool can_stage_variables = false;
  /// Whether the loss of a step is the mean of the towers' losses. If not, it is the last tower's.
  bool mean_loss = false;
  /// Builds the input of a training, and returns what each tower calls.
  BatchFunction (*input)(const InputOptions& options);
  /// Builds the input of an evaluation: each example once.
  Batch (*test_input)(const std::vector<std::string>& files, std::int64_t batch_size);
  /// Returns a batch that is stored in two variables, for benchmarks.
  Batch (*batch_in_memory)(std::int64_t batch_size);
  TrainingGraph (*build)(const BuildOptions& options, const InputFunction& input);
  EvaluationGraph (*build_evaluation)(const Batch& batch, const OptionValues& values);
  Score (*score)(std::int64_t examples, const std::vector<double>& sums);
  /// Returns what writes the lines of a training's log, every `log_every` steps; null for those of
  /// the CIFAR-10 tutorial.
  StepLog (*log)(const TrainOptions& options) = nullptr;
  /// The file in which an evaluation shows what the network makes, "samples.png"; empty if nothing.
  std::string samples_file{};
  std::string samples{};  ///< what it shows, for the help
  /// Returns what `explain` says of the model before its step; null if nothing.
  std::string (*explanation)(int num_towers, const OptionValues& values) = nullptr;
};

/// Returns which loss of a model trains which variable (tf::who_trains_what).
WhoTrains who_trains(const Model& model, const TrainingGraph& graph);

/// Returns the examples of a tower, for a batch size as a command has it. Throws ValueError if
/// towers that divide a batch cannot do so evenly.
std::int64_t tower_batch_size(const Model& model, std::int64_t batch_size, int num_towers);

/// Returns the value of an option; the model's default if `values` does not have it.
const OptionValue& option_value(const Model& model, const OptionValues& values,
                                const std::string& name);

/// Returns the sum of the steps that options give to the stages; nothing if a stage has only a
/// share.
std::optional<std::int64_t> steps_of_stages(const Model& model, const OptionValues& values);

/// Returns the factor of the learning rate in a stage.
double rate_factor(const Model& model, const OptionValues& values, const StageInfo& stage);

/// Returns the number of steps after which each stage ends, of `steps` in all.
std::vector<std::int64_t> ends_of_stages(const Model& model, const OptionValues& values,
                                         std::int64_t steps);

}  // namespace towerflow::models

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "models/digits.h"
#include "train/optimizer.h"

namespace towerflow::models {

/// What a model is to those who train, evaluate, time and explain it. The list of models is in
/// models/models.h.

/// A flag, a whole number or a text.
using OptionValue = std::variant<bool, std::int64_t, std::string>;
/// The values of a model's own options, by name.
using OptionValues = std::map<std::string, OptionValue>;

/// An option that one model alone has: `--relu-logits`.
struct ModelOption {
  std::string name;  ///< "relu-logits"
  std::string about;
  OptionValue value;  ///< its default
  /// Whether it says what network is trained: a flag that is kept beside the checkpoints, and that
  /// whoever uses them goes by. The others are for `bench` alone.
  bool kept = false;
  std::int64_t most = 0;  ///< of a number, from 1
};

/// A part of the training, which comes after the part before it.
struct StageInfo {
  std::string name;        ///< empty where a model has no stages by name
  int end_percent = 100;   ///< how much of the steps is done when it ends
  double rate_factor = 1;  ///< of the learning rate
};

struct BuildOptions {
  int num_towers = 1;
  Operand learning_rate = 0.0;
  bool tb_logging = false;  ///< whether each tower makes summaries of its losses
  OptionValues values{};
};

/// What a step of a stage runs.
struct StageOps {
  Operation train_op;
  std::vector<Tensor> losses;  ///< one a tower
};

/// A model's training, in the default graph.
struct TrainingGraph {
  Variable global_step;
  std::vector<StageOps> stages;   ///< one for each of Model::stages
  std::vector<GradAndVar> grads;  ///< averaged, for summaries
  std::vector<Tensor> summaries;  ///< that the last tower made; those of its losses when empty
};

/// A model's evaluation, in the default graph: numbers that are summed over all batches.
struct EvaluationGraph {
  std::vector<Tensor> sums;
};

/// What the sums mean.
struct Score {
  std::string text;  ///< "1960 of 2000 test digits right"
  std::vector<std::pair<std::string, std::variant<std::int64_t, double>>> fields;  ///< for JSON
};

/// One model, as the list has it.
struct Model {
  std::string name;        ///< on the command line
  std::string title;       ///< what it is called in a sentence
  std::string about;       ///< what it is, in a few words
  std::string training;    ///< a sentence or two on how its training goes, for the help
  std::string evaluation;  ///< what evaluating it says, for the help
  std::string tower;       ///< the towers' name scopes are this and "_0", "_1", ..
  double learning_rate;
  std::vector<StageInfo> stages;
  std::vector<ModelOption> options;
  TrainingGraph (*build)(const BuildOptions& options, const BatchFunction& next_batch);
  EvaluationGraph (*build_evaluation)(const Batch& batch, const OptionValues& values);
  Score (*score)(std::int64_t examples, const std::vector<double>& sums);
};

/// The value of an option: the model's default where `values` has none.
const OptionValue& option_value(const Model& model, const OptionValues& values,
                                const std::string& name);

}  // namespace towerflow::models

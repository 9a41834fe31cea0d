#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"
#include "core/runtime/session.h"
#include "train/optimizer.h"

namespace towerflow::models::collected_towers {

/// Towers that are looked up through collections: whole model objects for feeding, losses and
/// predictions by name scope, with `train/` and `test/` in one graph.

struct Config {
  int features = 4;
  int hidden = 5;
  int classes = 3;
  double learning_rate = 0.5;
};

/// One copy of the model, a classifier with one hidden layer: its inputs and outputs. The
/// constructor adds its loss, prediction and merged summary to collections.
class Model {
 public:
  Model(bool is_training, const Config& config);

  Tensor x;  ///< placeholder [N, features]
  Tensor y;  ///< placeholder [N], int64
  Tensor loss;
  Tensor predict;        ///< [N]
  Tensor merge_summary;  ///< a serialized summary
  /// Per trainable variable, in their order; empty for a model that is only tested.
  std::vector<OptionalGradient> grad;
};

/// Returns the means over towers of gradients[tower][variable], by concatenation along a new first
/// dimension.
std::vector<Tensor> average_gradients(const std::vector<std::vector<OptionalGradient>>& gradients);
/// The same by passing the list itself to `reduce_mean`, which packs it. Works for dense gradients
/// only: IndexedSlices throw TypeError, since `reduce_mean` packs tensors.
std::vector<Tensor> average_packed(const std::vector<std::vector<OptionalGradient>>& gradients);

struct TowersOptions {
  int num_gpus = 1;
  Config config{};
  /// Whether towers after the first reuse its variables. The original program forgot this, so that
  /// its second tower failed with ValueError.
  bool reuse = true;
  bool packed = false;  ///< averages with average_packed
};

/// Builds one model per GPU, in collection `train_model`; averages and applies their gradients on
/// the CPU.
Operation multi_gpu_model(const TowersOptions& options);

/// The graph for training and testing, in the default graph.
struct Program {
  Operation train_op;
  std::string train_scope;  ///< "train/"
  std::string test_scope;   ///< "test/"
};
Program build(const TowersOptions& options);

/// Returns the next batch: x [N, features] and y [N].
using BatchFunction = std::function<std::pair<Array, Array>()>;

/// Runs one step with a batch for each model in collection `models`, and `train_op` if given.
/// Returns the losses in name scope `scope`.
std::vector<float> run_step(Session& session, const std::string& models, const std::string& scope,
                            const BatchFunction& next_batch,
                            const std::optional<Operation>& train_op = std::nullopt);

}  // namespace towerflow::models::collected_towers

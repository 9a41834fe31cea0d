#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"
#include "core/runtime/session.h"
#include "train/optimizer.h"

namespace towerflow::models::collected_towers {

/// Towers that are found again through collections: whole model objects for feeding, losses and
/// predictions by name scope, `train/` and `test/` beside each other in one graph.

struct Config {
  int features = 4;
  int hidden = 5;
  int classes = 3;
  double learning_rate = 0.5;
};

/// One copy of the model: what to feed it, what to fetch from it. A classifier with one hidden
/// layer; it lists its own loss, prediction and merged summary in collections.
class Model {
 public:
  Model(bool is_training, const Config& config);

  Tensor x;  ///< placeholder [N, features]
  Tensor y;  ///< placeholder [N], int64
  Tensor loss;
  Tensor predict;        ///< [N]
  Tensor merge_summary;  ///< a serialized summary
  /// By the trainable variables in their order; empty for a model that is only tested.
  std::vector<OptionalGradient> grad;
};

/// The means over towers of gradients[tower][variable], by way of a new first dimension.
std::vector<Tensor> average_gradients(const std::vector<std::vector<OptionalGradient>>& gradients);
/// The same by handing `reduce_mean` the list itself, which packs it. Works for dense gradients;
/// slices are refused with TypeError, for what `reduce_mean` packs are tensors.
std::vector<Tensor> average_packed(const std::vector<std::vector<OptionalGradient>>& gradients);

struct TowersOptions {
  int num_gpus = 1;
  Config config{};
  /// Whether towers after the first find its variables. The source text forgot it: then the second
  /// tower fails with ValueError.
  bool reuse = true;
  bool packed = false;  ///< average_packed
};

/// A model a GPU in collection `train_model`, their gradients averaged and applied on the CPU.
Operation multi_gpu_model(const TowersOptions& options);

/// The graph that trains and tests, in the default graph.
struct Program {
  Operation train_op;
  std::string train_scope;  ///< "train/"
  std::string test_scope;   ///< "test/"
};
Program build(const TowersOptions& options);

/// The next batch: x [N, features] and y [N].
using BatchFunction = std::function<std::pair<Array, Array>()>;

/// One run with a batch for each model of `models`, a collection: updates the variables where
/// there is a `train_op`. Returns the losses below `scope`.
std::vector<float> run_step(Session& session, const std::string& models, const std::string& scope,
                            const BatchFunction& next_batch,
                            const std::optional<Operation>& train_op = std::nullopt);

}  // namespace towerflow::models::collected_towers

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/graph/operand.h"
#include "models/data_set.h"
#include "train/optimizer.h"

namespace towerflow::models::mnist {

/// The MNIST network on towers: a line-by-line port of the program from which many learned
/// multi-GPU TensorFlow, with the names of its variables and nodes.

inline constexpr const char* kTowerName = "tower";

struct NetOptions {
  /// Whether to keep the original program's ReLU on the ten units of local4, which can make classes
  /// unlearnable (dead units); the corrected network has none.
  bool relu_logits = false;
  std::int64_t kernel = 5;  ///< height and width of the convolution kernels
  std::string prefix{};     ///< prefix of the layers' names
  bool tb_logging = false;  ///< whether each tower creates summaries of its losses
};

/// Builds two convolutions with pooling, two fully connected layers and a linear one.
///
/// shapes   images [N, 784] in -0.5 .. 0.5 -> logits [N, 10]
Tensor inference(const Tensor& images, NetOptions options = {});

/// Adds the mean cross entropy of the batch to collection `losses`; returns the sum of the
/// collection.
///
/// shapes   logits [N, 10], labels [N] (int32) -> []
Tensor loss(const Tensor& logits, const Tensor& labels);

/// Returns the loss of one tower: the sum of the losses in its name scope.
Tensor tower_loss(const std::string& scope, const BatchFunction& next_batch, NetOptions options);

/// Averages the towers' gradients.
using Averager =
    std::function<std::vector<GradAndVar>(const std::vector<std::vector<GradAndVar>>&)>;

/// The averager of the original program, which requires every gradient to exist: expand_dims in
/// each tower, concat, reduce_mean.
std::vector<GradAndVar> average_by_hand(const std::vector<std::vector<GradAndVar>>& tower_grads);

struct TowersOptions {
  int num_towers = 1;
  NetOptions net{};
  Operand learning_rate = 0.005;
  double momentum = 0.9;
  Averager average{};  ///< the library's average_gradients if empty
};

/// The training graph in the default graph.
struct Towers {
  Variable global_step;
  std::vector<Tensor> losses;  ///< one per tower
  std::vector<std::vector<GradAndVar>> tower_grads;
  std::vector<GradAndVar> grads;  ///< averaged
  std::vector<Tensor> summaries;  ///< created by the last tower
  Operation train_op;
  Operation init;
};

/// Builds the variables on the CPU and one tower per device (/gpu:0, /gpu:1, ..., which soft
/// placement may replace by logical CPUs); averages and applies the gradients on the CPU.
Towers build_towers(const TowersOptions& options, const BatchFunction& next_batch);

}  // namespace towerflow::models::mnist

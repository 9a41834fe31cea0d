#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/graph/operand.h"
#include "models/digits.h"
#include "train/optimizer.h"

namespace towerflow::models::mnist {

/// The MNIST network on towers: the program many learned multi-GPU TensorFlow from, line by line.
/// Names of variables and nodes are those of the TensorFlow program.

inline constexpr const char* kTowerName = "tower";

struct NetOptions {
  /// The source text's ReLU on the ten units of local4, which kills classes; off is the corrected
  /// net.
  bool relu_logits = false;
  std::int64_t kernel = 5;  ///< height and width of the convolutions' windows
  std::string prefix{};     ///< of the layers' names
  bool tb_logging = false;  ///< whether each tower makes summaries of its losses
};

/// Two convolutions with pooling, two fully connected layers and a linear one.
///
/// shapes   images [N, 784] in -0.5 .. 0.5 -> logits [N, 10]
Tensor inference(const Tensor& images, NetOptions options = {});

/// Mean cross entropy of the batch, added to collection `losses`; returns the sum of all of
/// `losses`.
///
/// shapes   logits [N, 10], labels [N] (int32) -> []
Tensor loss(const Tensor& logits, const Tensor& labels);

/// The loss of one tower, from the losses made under its name scope.
Tensor tower_loss(const std::string& scope, const BatchFunction& next_batch, NetOptions options);

/// How the towers' gradients become one.
using Averager =
    std::function<std::vector<GradAndVar>(const std::vector<std::vector<GradAndVar>>&)>;

/// The averager of the program this is a port of, which takes every gradient to be there:
/// expand_dims in each tower, concat, reduce_mean.
std::vector<GradAndVar> average_by_hand(const std::vector<std::vector<GradAndVar>>& tower_grads);

struct TowersOptions {
  int num_towers = 1;
  NetOptions net{};
  Operand learning_rate = 0.005;
  double momentum = 0.9;
  Averager average{};  ///< the library's average_gradients unless given
};

/// The whole training graph in the default graph.
struct Towers {
  Variable global_step;
  std::vector<Tensor> losses;  ///< one a tower
  std::vector<std::vector<GradAndVar>> tower_grads;
  std::vector<GradAndVar> grads;  ///< averaged
  std::vector<Tensor> summaries;  ///< that the last tower made
  Operation train_op;
  Operation init;
};

/// Variables on the CPU, one tower a device (/gpu:0, /gpu:1, ...; soft placement sends them to
/// logical CPUs), gradients averaged and applied on the CPU.
Towers build_towers(const TowersOptions& options, const BatchFunction& next_batch);

}  // namespace towerflow::models::mnist

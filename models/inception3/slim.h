#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow::models::inception3::slim {

/// The layers that Inception v3 was published with: the first slim, whose names and collections
/// differ from those of tf::slim. Variables are on the CPU and listed in MODEL_VARIABLES and
/// VARIABLES_TO_RESTORE, and have the inputs' dtype. The defaults are what the program's arg_scopes
/// set.

inline constexpr const char* LOSSES_COLLECTION = "_losses";
inline constexpr const char* UPDATE_OPS_COLLECTION = "_update_ops_";
inline constexpr const char* MODEL_VARIABLES = "_model_variables_";
inline constexpr const char* VARIABLES_TO_RESTORE = "_variables_to_restore_";

using Kernel = std::array<int, 2>;  ///< height and width

struct ConvOptions {
  int stride = 1;
  std::string padding = "SAME";
  double stddev = 0.1;  ///< of the initial weights
  std::string scope{};  ///< by default "Conv", made unique
};

struct PoolOptions {
  int stride = 1;
  std::string padding = "SAME";
  std::string scope{};  ///< by default "MaxPool" or "AvgPool"
};

struct FcOptions {
  double stddev = 0.01;
  std::string scope{};  ///< by default "FC", made unique
};

/// relu(batch_norm(convolution)), without biases. (ops.conv2d)
/// shapes   inputs [N,H,W,C] -> [N,P,Q,filters]
Tensor conv2d(const Tensor& inputs, int filters, Kernel kernel, bool is_training,
              const ConvOptions& options = {});

/// Normalizes by the moments of the batch and adds the updates of their averages to
/// UPDATE_OPS_COLLECTION, or normalizes by the averages; then adds `beta`. (ops.batch_norm)
Tensor batch_norm(const Tensor& inputs, bool is_training);

/// Returns the decay of the weights of all layers, with nodes in the open name scope and on the
/// open device. REGULARIZATION_LOSSES holds those that the variables were created with.
std::vector<Tensor> weight_decays();

/// inputs * weights + biases. (ops.fc)
/// shapes   inputs [N, n] -> [N, units]
Tensor fc(const Tensor& inputs, std::int64_t units, const FcOptions& options = {});

/// shapes   inputs [N,H,W,C] -> [N,P,Q,C]
Tensor max_pool(const Tensor& inputs, Kernel kernel, const PoolOptions& options = {});
Tensor avg_pool(const Tensor& inputs, Kernel kernel, const PoolOptions& options = {});

/// shapes   inputs [N, ..] -> [N, n]
Tensor flatten(const Tensor& inputs, const std::string& scope = "Flatten");

/// Adds weight * the mean cross entropy of labels that are smoothed by 0.1 to LOSSES_COLLECTION.
/// (losses.cross_entropy_loss)
/// shapes   logits, one_hot_labels [N, classes]
void cross_entropy_loss(const Tensor& logits, const Tensor& one_hot_labels, double weight,
                        const std::string& scope = "CrossEntropyLoss");

}  // namespace towerflow::models::inception3::slim

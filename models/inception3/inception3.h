#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/data_set.h"
#include "parallel/update_ops.h"
#include "train/optimizer.h"

namespace towerflow::models::inception3 {

/// Inception v3 (Szegedy et al. 2015) on towers as TensorFlow's published program trains it, with
/// the names of its variables, nodes, collections and summaries: 96 convolutions with batch
/// normalization and a second head, whose loss counts 0.4. With 1,001 classes, 27,145,970 trained
/// parameters.

inline constexpr const char* kTowerName = "tower";
inline constexpr int kImageSize = 299;  ///< the side of the images that the network sees
inline constexpr std::int64_t kClasses = 1000;
inline constexpr double kMovingAverageDecay = 0.9999;
inline constexpr double kEpochsPerDecay = 30;
inline constexpr double kDecayFactor = 0.16;

/// JPEGs in TFRecords of ImageNet's schema. Its small set has stripes.
extern const DataSet kImages;

/// Returns a function that gives each tower its part of the next batch, which all share. Each image
/// is a random part of the original, of another aspect ratio, resized, flipped or not, of random
/// colours, from -1 to 1. Threads of `num_threads` for each tower resize by one of four methods and
/// distort colours in one of two orders.
///
/// shapes   images [batch, 299, 299, 3], labels [batch]
BatchFunction distorted_inputs(const InputOptions& options);

/// Returns batches of the middle of each image, 87.5 % of its height and width, resized: each image
/// once, in any order. The last batch may be smaller.
Batch inputs(const std::vector<std::string>& files, std::int64_t batch_size);

/// Returns a batch stored in two variables: normal noise as images, labels 1, 2, .. in turn.
Batch batch_in_memory(std::int64_t batch_size);

struct InferenceOptions {
  std::int64_t num_classes = kClasses + 1;  ///< with the background, class 0
  bool for_training = false;                ///< whether to normalize by the batch and drop features
  /// The open name scope, "tower_0/", to place the nodes in it; by default "inception_v3".
  std::string scope = "inception_v3";
};

/// Unscaled logits [N, classes] of the network and of its auxiliary head.
struct Logits {
  Tensor logits;
  Tensor aux_logits;
};

/// Builds the network and summaries of its activations.
///
/// shapes   images [N, 299, 299, 3]
Logits inference(const Tensor& images, const InferenceOptions& options);

/// An activation by name, such as "mixed_35x35x256a".
using EndPoints = std::vector<std::pair<std::string, Tensor>>;

/// Builds the network alone. Its last end points are "logits" and "predictions". (inception_v3)
EndPoints inception_v3(const Tensor& images, const InferenceOptions& options);

/// Adds the cross entropy of both heads with smoothed labels to collection `_losses`.
///
/// shapes   logits [N, classes], labels [N] (int32); N is known
void loss(const Logits& logits, const Tensor& labels);

struct TowersOptions {
  int num_towers = 1;
  Operand learning_rate = 0.1;      ///< the first one
  std::int64_t batch_size = 32;     ///< per tower
  std::int64_t examples = 0;        ///< of an epoch
  std::int64_t classes = kClasses;  ///< without the background
  /// Whose moments update the averages of the batch normalizations; as published, the last tower's.
  UpdateOpsPolicy update_ops = UpdateOpsPolicy::last;
  /// Whether the averages of the variables wait for the updates. As published, they are in no
  /// order.
  bool ordered_averages = false;
  /// Whether each tower computes the decay of the weights. As published, the towers add the nodes
  /// with which the first one created the weights.
  bool own_decay = false;
};

/// The training graph in the default graph.
struct Towers {
  Variable global_step;
  Tensor learning_rate;
  std::vector<Tensor> losses;     ///< one per tower
  std::vector<GradAndVar> grads;  ///< averaged
  std::vector<Tensor> summaries;  ///< created by the last tower and the input
  Operation train_op;             ///< updates the variables and all their averages
};

/// Builds the variables on the CPU and one tower per device (/gpu:0, /gpu:1, ..); averages and
/// applies the gradients on the CPU.
Towers build_towers(const TowersOptions& options, const InputFunction& input);

}  // namespace towerflow::models::inception3

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/data_set.h"
#include "train/optimizer.h"

namespace towerflow::models::cifar10 {

/// The network of TensorFlow's CIFAR-10 tutorial on towers, with the names of its variables, nodes
/// and summaries: two convolutions with local response normalization, two fully connected layers
/// with weight decay, and a linear one. 1,068,298 parameters.

inline constexpr const char* kTowerName = "tower";
inline constexpr int kImageSize = 24;  ///< the side of the crop that the network sees
inline constexpr int kClasses = 10;
inline constexpr double kMovingAverageDecay = 0.9999;
inline constexpr double kEpochsPerDecay = 350;
inline constexpr double kDecayFactor = 0.1;

/// CIFAR-10's binary version. Its small set has stripes.
extern const DataSet kImages;

/// Returns the next batch of distorted images from a shuffling queue: random crops of 24 x 24
/// pixels, flipped or not, of random brightness and contrast, standardized.
///
/// shapes   images [batch, 24, 24, 3], labels [batch]
Batch distorted_batch(const InputOptions& options);

/// Returns a function that gives each tower its next batch of distorted images. One shuffling queue
/// and one queue of batches serve all towers.
///
/// shapes   as distorted_batch
BatchFunction distorted_inputs(const InputOptions& options);

/// Returns batches of the middle of each image, standardized: each image once, in file order. The
/// last batch may be smaller.
Batch inputs(const std::vector<std::string>& files, std::int64_t batch_size);

/// Returns a batch stored in two variables: normal noise as images, labels 0 to 9 in turn.
Batch batch_in_memory(std::int64_t batch_size);

/// Returns the name of a tensor's op without the tower's, which differs between towers and in
/// evaluations.
std::string tag_of(const Tensor& tensor);

/// What adds summaries after the name scope of a tower has ended.
using LaterSummaries = std::vector<std::function<void()>>;

/// Adds summaries by calling `add`, now or, if `later` is not null, later.
void summarize(LaterSummaries* later, const std::function<void()>& add);

/// Builds the network, with summaries of the layers.
///
/// shapes   images [N, 24, 24, 3] -> unscaled logits [N, 10]
Tensor inference(const Tensor& images, LaterSummaries* later = nullptr);

/// Adds the mean cross entropy of the batch to collection `losses`, which holds the weight decay
/// terms; returns the sum of the collection.
///
/// shapes   logits [N, 10], labels [N] (int32) -> []
Tensor loss(const Tensor& logits, const Tensor& labels);

struct TowersOptions {
  int num_towers = 1;
  Operand learning_rate = 0.1;    ///< the first one
  std::int64_t batch_size = 128;  ///< per tower
  std::int64_t examples = 50000;  ///< of an epoch
  /// Whether to count a step as one batch in the schedule, as the published program does whatever
  /// the number of towers. If not, a step counts as many batches as there are towers.
  bool published_schedule = false;
  /// Whether the moving averages of towers wait for the update. The published program has both in
  /// one group, in no order. (build_one_device orders them as published.)
  bool ordered_averages = false;
  /// Whether the tags of summaries have no tower's name. The published program takes it out while
  /// the name scope is open, which puts it back.
  bool plain_tags = false;
};

/// The training graph in the default graph.
struct Towers {
  Variable global_step;
  Tensor learning_rate;
  std::vector<Tensor> losses;     ///< one per tower
  std::vector<GradAndVar> grads;  ///< averaged
  std::vector<Tensor> summaries;  ///< created by the last tower
  Operation train_op;             ///< updates the variables and their moving averages
};

/// Builds the program for one device: no tower, and moving averages of the losses as well, with
/// decay 0.9, for smooth summaries. Its summaries include the learning rate and the histograms.
/// (cifar10_train.py)
Towers build_one_device(const TowersOptions& options, const InputFunction& input);

/// Builds the variables on the CPU and one tower per device (/gpu:0, /gpu:1, ..); averages and
/// applies the gradients on the CPU. (cifar10_multi_gpu_train.py)
Towers build_towers(const TowersOptions& options, const InputFunction& input);

}  // namespace towerflow::models::cifar10

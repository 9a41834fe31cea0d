#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dataset/iterator.h"
#include "models/data_set.h"
#include "parallel/update_ops.h"
#include "train/optimizer.h"

namespace towerflow::models::resnet20 {

/// The residual network of TensorFlow's CIFAR-10 estimator (tutorials/image/cifar10_estimator) on
/// towers, with the names of its variables, nodes and scopes: a convolution, three stages of
/// (depth - 2) / 6 residual units with 16, 32 and 64 channels, and a linear layer. The published
/// program has 44 layers and 658,651 parameters; with 20 layers it has 269,787.

inline constexpr const char* kTowerName = "tower";
inline constexpr int kImageSize = 32;
inline constexpr int kClasses = 11;  ///< one more, for labels that begin at 1
inline constexpr double kBatchNormDecay = 0.997;
inline constexpr double kBatchNormEpsilon = 1e-5;
inline constexpr double kWeightDecay = 2e-4;
inline constexpr double kMomentum = 0.9;
/// The epochs of the training for which the published boundaries are meant.
inline constexpr std::int64_t kScheduleEpochs = 164;

/// The network.
class ResNetCifar10 {
 public:
  /// `data_format` is "channels_last" or "channels_first". Throws ValueError if `num_layers` is not
  /// 6 n + 2 with n at least 1.
  ResNetCifar10(int num_layers, bool is_training, std::string data_format = "channels_last");

  /// Builds the network.
  ///
  /// shapes   x [N, 32, 32, 3], pixels from 0 to 255 -> unscaled logits [N, 11]
  Tensor forward_pass(Tensor x);

 private:
  Tensor residual_v1(const Tensor& x, int kernel_size, int in_filter, int out_filter, int stride);
  Tensor conv(Tensor x, int kernel_size, int filters, int strides) const;
  Tensor batch_norm(const Tensor& x) const;
  bool channels_first() const { return data_format_ == "channels_first"; }
  /// Pads the height and width of images, or their channels.
  Tensor padded(const Tensor& x, int before, int behind, bool channels) const;

  int n_;
  bool is_training_;
  std::string data_format_;
};

/// Where variables are kept.
enum class VariableStrategy : std::uint8_t {
  cpu,  ///< on the CPU, which also updates them
  gpu,  ///< each on the tower's device with the fewest bytes so far; /gpu:0 starts the updates
};

struct TowersOptions {
  int num_layers = 20;
  int num_towers = 1;
  double learning_rate = 0.1;     ///< the first one
  std::int64_t batch_size = 128;  ///< per tower
  std::int64_t examples = 45000;  ///< of an epoch
  /// Scales the boundaries at which the rate falls: 82, 123 and 300 epochs for the default.
  std::int64_t schedule_epochs = kScheduleEpochs;
  /// As in the published program.
  UpdateOpsPolicy update_ops = UpdateOpsPolicy::first;
  VariableStrategy variable_strategy = VariableStrategy::cpu;
  std::string data_format = "channels_last";
  /// Whether the weight decay leaves out biases and the variables of batch normalization. The
  /// published program adds up the squares of all trainable variables.
  bool decay_kernels_only = false;
};

/// The training graph in the default graph.
struct Towers {
  Variable global_step;
  Tensor learning_rate;
  std::vector<Tensor> losses;     ///< one per tower
  Tensor loss;                    ///< their mean
  std::vector<GradAndVar> grads;  ///< averaged
  Operation train_op;             ///< updates the variables and the moving averages
};

/// Builds one tower per device (/gpu:0, /gpu:1, ..), averages the gradients that are present where
/// their variable is, and applies them. Shapes of what `input` gives: images [batch, 32, 32, 3],
/// labels [batch].
Towers build_towers(const TowersOptions& options, const InputFunction& input);

/// CIFAR-10 as `data::convert_cifar10` writes it. Its small set has stripes.
extern const DataSet kRecords;

/// Returns an iterator over the batches of all towers: images padded to 40 x 40 pixels, cropped to
/// 32 x 32 at a random place and flipped or not, in an order shuffled across epochs.
///
/// shapes   images [batch * towers, 32, 32, 3] (float32), labels [batch * towers] (int32)
data::Iterator distorted_batches(const InputOptions& options);

/// Returns a function that deals each batch of `batches` to the towers: example k to tower
/// k mod N.
BatchFunction dealt_inputs(const data::Iterator& batches, const InputOptions& options);

/// Returns batches of the images as they are, each once, in file order. The last may be smaller.
Batch inputs(const std::vector<std::string>& files, std::int64_t batch_size);

/// Returns a batch stored in two variables: noise from 0 to 255 as images, labels 0 to 9 in turn.
Batch batch_in_memory(std::int64_t batch_size);

}  // namespace towerflow::models::resnet20

#pragma once

#include <string>
#include <vector>

#include "models/model.h"
#include "towerflow/tf.h"

namespace towerflow::models::cnn {

/// The networks of tf_cnn_benchmarks that are there for their speed: they train on synthetic images
/// in memory. Layers have the names, shapes and order of that program: `v/cg/conv0/conv2d/kernel`,
/// `v/cg/conv0/biases`, `v/cg/affine0/weights`. (tensorflow/benchmarks, convnet_builder.py and
/// models/*.py)

inline constexpr std::int64_t kClasses = 1001;  ///< of ImageNet, and one for the background
inline constexpr double kWeightDecay = 4e-5;

/// Adds layer after layer to `top`, each in a variable scope named after its kind and its number
/// among those of its kind.
class ConvNetBuilder {
 public:
  ConvNetBuilder(Tensor images, bool training) : top(std::move(images)), training_(training) {}

  struct ConvOptions {
    int stride = 1;
    std::string padding = "SAME";
    bool relu = true;
    bool batch_norm = false;  ///< instead of a bias
  };
  /// Adds a convolution with a bias, or batch normalization, and ReLU.
  Tensor conv(int filters, int size, const ConvOptions& options);
  Tensor conv(int filters, int size) { return conv(filters, size, {}); }
  Tensor max_pool(int size, int stride, const std::string& padding = "VALID");
  /// Adds a fully connected layer; the images become rows.
  Tensor affine(int units, bool relu = true);
  /// Keeps half of the elements in training.
  Tensor dropout();
  Tensor spatial_mean();

  /// Returns "conv3" after conv0, conv1 and conv2.
  std::string next_name(const std::string& kind);

  Tensor top;  ///< the output of the last layer, NHWC or rows

 private:
  bool training_;
  std::map<std::string, int> counts_;
};

/// One network: its input, and what its training uses by default.
struct Network {
  std::string name;
  std::string about;
  std::int64_t image_size;
  std::int64_t batch_size;  ///< of a tower
  double learning_rate;
  /// Adds the layers below the last one, which has kClasses units.
  void (*layers)(ConvNetBuilder& net);
};

extern const Network kTrivial, kLenet5, kAlexnet, kVgg16, kResnet50;

/// Returns the logits [N, kClasses] of images [N, size, size, 3].
Tensor inference(const Network& network, const Tensor& images, bool training);

/// Builds the training: variables under `v/`, averaged gradients, the moving averages of the first
/// tower. The loss of the last tower has the weight decay, times the number of towers, so that it
/// counts once in the mean; scales and offsets of batch normalization have none. The option
/// "optimizer" of `options.values` is sgd, momentum or rmsprop. (benchmark_cnn.py)
TrainingGraph build_towers(const Network& network, const BuildOptions& options,
                           const InputFunction& input);

/// Returns the models for benchmarks, by those networks. They have no data set.
const std::vector<const Model*>& all();

}  // namespace towerflow::models::cnn

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/data_set.h"
#include "train/optimizer.h"

namespace towerflow::models::vaegan {

/// The VAE-GAN of timsainb/Tensorflow-MultiGPU-VAE-GAN on towers, with prettytensor's names of
/// variables: an encoder, a generator and a discriminator, each trained by an Adam optimizer of its
/// own. Images are compared by the discriminator's features of them, not by their pixels.

inline constexpr const char* kTowerName = "Tower";
inline constexpr int kChannels = 3;

/// The sizes of the three networks. The encoder's and the generator's layers halve and double the
/// image's side; of the discriminator's, all but the first halve it.
struct Sizes {
  std::int64_t image_size = 32;                   ///< the side of an image
  std::int64_t hidden_size = 64;                  ///< of z
  std::vector<std::int64_t> encoder{16, 32, 64};  ///< channels of each convolution
  std::vector<std::int64_t> generator{64, 32, 8};
  std::vector<std::int64_t> discriminator{8, 32, 64, 64};
  std::int64_t features = 128;  ///< of the discriminator's layer l
};
/// Returns the published sizes: 123,618,954 parameters.
Sizes full_sizes();

/// How a pass through a network normalizes. Batch normalization takes the moments of the batch and,
/// in an evaluation, their moving averages.
struct Pass {
  std::string name;  ///< the scope of the moving averages, which each pass has of its own
  /// How far they move towards the moments of the batch; absent if they do not move.
  std::optional<Operand> rate{};
  bool waits = false;    ///< whether the pass waits until they have moved
  bool training = true;  ///< whether to take the moments of the batch
};

/// The distribution of z given an image.
struct Code {
  Tensor z_mean;          ///< [N, hidden_size]
  Tensor z_log_sigma_sq;  ///< [N, hidden_size]
};
/// shapes   x [N, side * side * 3] -> [N, hidden_size]
Code encoder(const Tensor& x, const Sizes& sizes, const Pass& pass);
/// Returns how far the distribution of each z is from a normal one, in nats; clipped.
///
/// shapes   [N, hidden_size] -> [N]
Tensor divergence(const Code& code);
/// shapes   z [N, hidden_size] -> [N, side * side * 3], from 0 to 1
Tensor generator(const Tensor& z, const Sizes& sizes, const Pass& pass);

struct Judgement {
  Tensor d;  ///< [N, 1]: from 0, made by the generator, to 1, of the data
  Tensor l;  ///< [N, features]
};
/// shapes   x [N, side * side * 3]
Judgement discriminator(const Tensor& x, const Sizes& sizes, const Pass& pass);

/// What the networks make of a batch x.
struct Inference {
  Code z_x;
  Tensor x_tilde;    ///< x as it is generated from its code
  Tensor l_x_tilde;  ///< the discriminator's features of x_tilde
  Judgement x;       ///< of x
  Judgement x_p;     ///< of images generated from random z
};

struct Losses {
  Tensor sse;  ///< mean squared error of x_tilde; trains nothing
  Tensor kl;   ///< divergence of the codes from a normal distribution
  Tensor d;    ///< what the discriminator minimizes
  Tensor g;    ///< how little it takes generated images for real ones
  Tensor ll;   ///< squared distance of the features of x and x_tilde
};
/// KL and LL are sums over the batch, or means if `means`, divided by the number of values in an
/// image.
Losses loss(const Tensor& x, const Inference& made, const Sizes& sizes, bool means);

struct TowersOptions {
  int num_towers = 1;
  Operand learning_rate = 1e-3;
  Sizes sizes{};
  /// Whether to leave the updates in no order, as the published program does: each of the three
  /// optimizers counts the step, and all passes of all towers move one set of averages.
  bool unordered = false;
  /// Whether KL and LL are means over the batch. The published program takes sums: they grow with a
  /// tower's batch, so that two towers do not train as one with twice the batch.
  bool mean_losses = false;
  /// Whether to minimize the losses as they are. The published program clips them to -100 .. 100,
  /// so that there is no gradient while a loss is beyond.
  bool unclipped = false;
  /// Whether to leave the root scope in reuse mode after the loop over towers, with optimizers that
  /// cannot create their slots then, as TensorFlow's cannot: ValueError.
  bool leave_reuse_on = false;
  /// Whether the learning rates balance the discriminators of all processes of `process_group()`.
  bool across_processes = false;
};

struct Tower {
  Losses losses;
  Tensor l_e, l_g, l_d;  ///< what the encoder, the generator and the discriminator minimize
};

/// The training graph in the default graph.
struct Towers {
  Variable global_step;
  std::int64_t counts_per_step = 1;  ///< by which a step increases global_step
  Tensor lr_e, lr_g, lr_d;
  std::vector<Tower> towers;
  std::vector<GradAndVar> grads;  ///< averaged, of all three
  Operation train_e, train_g, train_d;
  Operation train_op;  ///< all of them, and what follows
};

/// Builds one tower per device (/gpu:0, /gpu:1, ..). Each reads batches of flattened images. The
/// updates wait for the gradients of all three networks; no variable belongs to two of these.
///
/// The published program feeds the three rates of a step, `learning_rate` times a sigmoid of the
/// discriminator's means over the last tower's batch in the step before. Here the variables d_real
/// and d_fake, which are 0 at first, keep these means, so that a training which is continued goes
/// on with them.
Towers build_towers(const TowersOptions& options, const InputFunction& input);

/// CIFAR-10's binary version, or a folder of JPEGs and PNGs of any size, with folders below it.
extern const DataSet kImages;
/// Returns whether these files of a data set are JPEGs and PNGs.
bool are_pictures(const std::vector<std::string>& files);

/// Builds a shuffling queue, whose batches hold the images of all towers, flattened and from 0 to
/// 1; each tower takes its slice. Of a picture, the square in the middle is resized to 64 x 64
/// pixels; its label is 0.
///
/// shapes   images [batch, 3072], of pictures [batch, 12288]; labels [batch]
BatchFunction shuffled_inputs(const InputOptions& options);

/// Returns batches of each image once, in file order; the last one may be smaller.
Batch inputs(const std::vector<std::string>& files, std::int64_t batch_size);

/// Returns a batch of noise, stored in two variables.
Batch batch_in_memory(std::int64_t batch_size);

}  // namespace towerflow::models::vaegan

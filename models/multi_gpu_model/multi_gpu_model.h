#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"
#include "core/runtime/session.h"
#include "models/data_set.h"
#include "train/optimizer.h"

namespace towerflow::models::multi_gpu_model {

/// Towers that are looked up through collections: whole model objects for feeding, losses and
/// predictions by name scope, with `train/` and `test/` in one graph.

inline constexpr std::int64_t kClasses = 10;
inline constexpr std::int64_t kPatches = 98;      ///< of 2 x 4 pixels in a digit
inline constexpr std::int64_t kPatchCodes = 256;  ///< a bit for each pixel of a patch

struct Config {
  std::int64_t hidden = 64;
  /// Whether the hidden layer sums rows of a table of 25,088 rows: one for each patch of the image
  /// and each pattern of ink in it. The gradients of the table are IndexedSlices. If not, the layer
  /// is dense.
  bool embedding = false;
};

/// One copy of the model, a classifier of digits with one hidden layer: its inputs and outputs. The
/// constructor adds its loss, prediction and merged summary to collections.
class Model {
 public:
  /// Takes `batch` where nothing is fed; without one, x and y must be fed.
  Model(bool is_training, const Config& config, const std::optional<Batch>& batch = std::nullopt);

  Tensor x;  ///< placeholder [N, 784], in -0.5 .. 0.5
  Tensor y;  ///< placeholder [N], int32
  Tensor loss;
  Tensor predict;        ///< [N]
  Tensor merge_summary;  ///< a serialized summary
  /// Per trainable variable, in their order; empty for a model that is only tested.
  std::vector<OptionalGradient> grad;
};

/// Returns the means over towers of gradients[tower][variable], by concatenation along a new first
/// dimension, which makes slices dense.
///
/// errors   ValueError: a gradient is absent
std::vector<Tensor> average_gradients(const std::vector<std::vector<OptionalGradient>>& gradients);
/// The second version of the text, "which does not work, I don't know why": it passes the list
/// itself to `reduce_mean`, which packs it into one tensor. That works for dense gradients.
///
/// errors   TypeError: a gradient is IndexedSlices, those of a table that is read by rows, which
///          cannot be packed; ValueError: a gradient is absent
std::vector<Tensor> average_packed(const std::vector<std::vector<OptionalGradient>>& gradients);

struct TowersOptions {
  int num_gpus = 1;
  Config config{};
  Operand learning_rate = 0.5;
  BatchFunction next_batch{};  ///< called in each tower; if empty, towers must be fed
  /// Whether towers after the first, and the model in scope `test`, reuse its variables. The
  /// original program forgot this, so that its second model failed with ValueError.
  bool reuse = true;
  /// Whether all updates wait for all averaged gradients. In the original program each waits for
  /// its own only.
  bool updates_wait = true;
  bool second_averager = false;  ///< averages with average_packed
};

/// The graph for training and testing, in the default graph.
struct Program {
  Variable global_step;
  std::vector<GradAndVar> grads;  ///< averaged
  Operation train_op;
  std::string train_scope;  ///< "train/"
  std::string test_scope;   ///< "test/"
};

/// Builds one model per GPU, in collection `train_model`; averages and applies their gradients on
/// the CPU. Sets the gradients and the train_op of `program`.
void multi_gpu_model(const TowersOptions& options, Program& program);

/// Builds the towers in scope `train`, and in scope `test` a model that shares their variables, in
/// collection `test_model`.
Program build(const TowersOptions& options);

/// Returns the next batch: x [N, 784] and y [N].
using NextArrays = std::function<std::pair<Array, Array>()>;

/// Runs one step with a batch for each model in collection `models`, and `train_op` if given.
/// Returns the losses in name scope `scope`.
std::vector<float> run_step(Session& session, const std::string& models, const std::string& scope,
                            const NextArrays& next_batch,
                            const std::optional<Operation>& train_op = std::nullopt);

}  // namespace towerflow::models::multi_gpu_model

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/array.h"
#include "models/data_set.h"
#include "train/optimizer.h"

namespace towerflow::models::char_lstm {

/// The language model of characters of char-rnn-tensorflow on towers, with its sizes and the names
/// of its variables, schedule and summaries: an embedding, two LSTM layers, a softmax. Gradients
/// are averaged over the towers, then clipped by their global norm; those of the embedding are
/// IndexedSlices.
///
/// Each window of the text starts from a state of zeros, so that windows can be shuffled; the
/// published program reads them in order and carries the state from one to the next.

inline constexpr const char* kTowerName = "tower";
inline constexpr int kNumLayers = 2;
inline constexpr std::int64_t kSeqLength = 50;     ///< characters of a window
inline constexpr std::int64_t kTestLength = 1000;  ///< the same, in evaluations
inline constexpr double kDecayRate = 0.97;         ///< of the learning rate, each epoch
inline constexpr std::int64_t kBytes = 256;        ///< values of a byte
/// The collection in which an input leaves the number of classes, a std::int64_t.
inline constexpr const char* kClassesCollection = "classes";

/// One text: the first nine tenths are for training, the rest is held out. Its small set is the
/// sample of the project.
extern const DataSet kText;

/// The two parts of a text.
struct Text {
  std::string training;
  std::string held_out;
};
/// Reads the text. Throws ValueError for one of less than two characters; NotFoundError, ...
Text read_text(const std::string& file);
/// Returns the number of windows of kSeqLength characters, and one more, in the part for training.
std::int64_t window_count(const Text& text);

/// The bytes that the part of a text for training has, the most frequent first, and one more class
/// for all others.
class Vocabulary {
 public:
  explicit Vocabulary(const std::string& text);

  std::int64_t classes() const { return classes_; }
  /// Returns the class of each byte, int32 [256].
  const Array& codes() const { return codes_; }

 private:
  std::int64_t classes_ = 1;
  Array codes_;
};

/// Creates the variable `characters`, the class of each byte, which checkpoints keep: evaluations
/// and samples use that of the training.
Variable characters_variable(const Array& codes);

struct WindowsOptions {
  std::int64_t held_out = 0;  ///< bytes at the end of a file
  Array codes{};              ///< Vocabulary::codes
  std::int64_t seq_length = kSeqLength;
};

/// Returns a function that gives each tower its next batch of windows in random order, from one
/// queue. The targets are the characters that follow those of the input.
///
/// shapes   input [batch, seq_length], targets [batch, seq_length]
BatchFunction windows(const InputOptions& options, const WindowsOptions& windows);

/// As `windows`, of the part for training.
BatchFunction inputs(const InputOptions& options);

/// Returns the held-out part in its order, cut into windows, in batches; the last one may be
/// smaller. Each character is a target once: the rest of the last window has the target -1.
///
/// shapes   input [n, kTestLength], targets [n, kTestLength]
Batch test_inputs(const std::vector<std::string>& files, std::int64_t batch_size);

/// Returns the number of classes that the input of the default graph says.
std::int64_t classes_of_input();

/// Returns a batch stored in two variables: all characters in turn.
Batch batch_in_memory(std::int64_t batch_size);

struct NetworkOptions {
  std::int64_t classes = 0;
  int rnn_size = 128;             ///< units of a layer, and columns of the embedding
  bool static_unrolling = false;  ///< a copy of the cells for each character, instead of a loop
};

/// The network, with what is needed to continue a text.
struct Network {
  Tensor logits;                      ///< [n * seq_length, classes]
  std::vector<Tensor> initial_state;  ///< zeros, which can be fed: each [n, rnn_size]
  std::vector<Tensor> final_state;
};

/// Builds the network.
///
/// shapes   input_data [n, seq_length] (int32)
Network inference(const Tensor& input_data, const NetworkOptions& options);

struct TowersOptions {
  int num_towers = 1;
  NetworkOptions network{};        ///< if `classes` is 0, it is what the input says
  std::string optimizer = "adam";  ///< or "sgd", "momentum", "adagrad"
  Operand learning_rate = 0.002;   ///< of the first epoch
  double grad_clip = 5;            ///< the largest global norm
  std::int64_t batch_size = 50;    ///< per tower
  std::int64_t examples = 0;       ///< of an epoch
};

/// The training graph in the default graph.
struct Towers {
  Variable global_step;
  Tensor learning_rate;
  std::vector<Tensor> costs;      ///< one per tower, in nats a character
  std::vector<GradAndVar> grads;  ///< averaged and clipped
  std::vector<Tensor> summaries;  ///< created by the last tower
  Operation train_op;
};

/// Builds the variables on the CPU and one tower per device (/gpu:0, /gpu:1, ..); averages, clips
/// and applies the gradients on the CPU.
Towers build_towers(const TowersOptions& options, const InputFunction& input);

}  // namespace towerflow::models::char_lstm

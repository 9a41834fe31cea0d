// A character LSTM: it reads a text in pieces, carries its state from one to the next, learns to
// tell the next character, and then writes a text of its own.
//
// usage: char_lstm_sample [FILE [STEPS]], in the root of the project if FILE is left out
#include <towerflow/tf.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

namespace rnn = tf::nn::rnn_cell;

namespace {

constexpr int kBatch = 16, kSteps = 40, kUnits = 96, kEmbedding = 24, kWritten = 240;

/// A text as numbers of its characters.
struct Text {
  std::string alphabet;
  std::vector<int> ids;
};

Text read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw tf::NotFoundError("cannot read " + path);
  const std::string all(std::istreambuf_iterator<char>(file), {});
  std::map<char, int> ids;
  for (const char c : all) ids[c] = 0;
  Text text;
  for (auto& [c, id] : ids) {
    id = static_cast<int>(text.alphabet.size());
    text.alphabet += c;
  }
  for (const char c : all) text.ids.push_back(ids[c]);
  return text;
}

/// Cuts the text into as many streams as a batch has rows. Batch i holds the next piece of each.
tf::Array piece(const Text& text, int i, int offset) {
  const int stream = static_cast<int>(text.ids.size() - 1) / kBatch;
  const int first = i * kSteps % (stream - kSteps + 1);
  tf::Array ids(tf::int32, {kBatch, kSteps});
  for (int row = 0; row < kBatch; ++row) {
    for (int k = 0; k < kSteps; ++k) {
      ids.data<int>()[row * kSteps + k] = text.ids.at(row * stream + first + k + offset);
    }
  }
  return ids;
}

struct Model {
  explicit Model(int characters) {
    input = tf::placeholder(tf::int32, {tf::None, tf::None}, {.name = "input"});
    target = tf::placeholder(tf::int32, {tf::None, tf::None}, {.name = "target"});
    const tf::Variable table = tf::get_variable("embedding", {characters, kEmbedding});
    const rnn::MultiRNNCell cell({rnn::BasicLSTMCell(kUnits), rnn::BasicLSTMCell(kUnits)});
    const rnn::State zero = cell.zero_state(tf::shape(input)[0], tf::float32);
    const auto [outputs, last] =
        tf::nn::dynamic_rnn(cell, tf::nn::embedding_lookup(table, input), {.initial_state = zero});
    logits = tf::layers::dense(outputs, characters, {.name = "logits"});
    loss = tf::reduce_mean(
        tf::nn::sparse_softmax_cross_entropy_with_logits({.labels = target, .logits = logits}));
    const std::vector<tf::Variable> weights = tf::trainable_variables();
    const auto [clipped, norm] = tf::clip_by_global_norm(tf::gradients(loss, weights), 5.0);
    tf::train::AdamOptimizer opt(0.005);
    train = opt.apply_gradients(tf::zip(clipped, weights));
    initial = zero.flatten();
    state = last.flatten();
  }

  tf::Tensor input, target, logits, loss;
  tf::Operation train;
  std::vector<tf::Tensor> initial, state;
};

/// Returns feeds of the state that the run before returned.
void feed_state(tf::Feeds& feeds, const Model& model, const std::vector<tf::Array>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) feeds.emplace_back(model.initial[i], values[i]);
}

void write_text(tf::Session& sess, const Model& model, const Text& text, int id) {
  const tf::Tensor last = model.logits[{tf::all, -1}];
  const tf::Tensor next = tf::multinomial(last * 1.5, 1, {.seed = 3, .output_dtype = tf::int32});
  std::vector<tf::Fetch> fetches(model.state.begin(), model.state.end());
  fetches.push_back(next);
  std::vector<tf::Array> state;
  for (int i = 0; i < kWritten; ++i) {
    tf::Feeds feeds{{model.input, tf::Nested({{id}})}};
    feed_state(feeds, model, state);
    state = sess.run(fetches, feeds);
    id = state.back().item<int>();
    state.pop_back();
    std::cout << text.alphabet[static_cast<std::size_t>(id)];
  }
  std::cout << "\n";
}

void learn_and_write(const Text& text, int steps) {
  tf::set_random_seed(1);
  const Model model(static_cast<int>(text.alphabet.size()));
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  std::vector<tf::Fetch> fetches(model.state.begin(), model.state.end());
  fetches.push_back(model.loss);
  fetches.push_back(model.train);
  std::vector<tf::Array> state;
  for (int step = 0; step < steps; ++step) {
    tf::Feeds feeds{{model.input, piece(text, step, 0)}, {model.target, piece(text, step, 1)}};
    feed_state(feeds, model, state);
    state = sess.run(fetches, feeds);
    const float loss = state[model.state.size()].item<float>();
    state.resize(model.state.size());
    if (step % 50 == 0) std::cout << "step " << step << ", loss " << loss << "\n";
  }
  write_text(sess, model, text, text.ids[0]);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    learn_and_write(read_text(argc > 1 ? argv[1] : "samples/char_lstm/text.txt"),
                    argc > 2 ? std::stoi(argv[2]) : 300);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}

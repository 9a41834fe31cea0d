#include <fmt/format.h>

#include <cmath>

#include "models/char_lstm/char_lstm.h"
#include "models/models.h"
#include "models/training.h"
#include "towerflow/tf.h"

namespace towerflow::models::char_lstm {
namespace {

constexpr const char* kPrime = "The ";  // the beginning of a text
constexpr int kSampled = 1000;          // characters

NetworkOptions network_options(const OptionValues& values, std::int64_t classes) {
  return {.classes = classes,
          .rnn_size =
              static_cast<int>(std::get<std::int64_t>(option_value(kModel, values, "rnn-size"))),
          .static_unrolling = std::get<bool>(option_value(kModel, values, "static-unrolling"))};
}

TrainingGraph build(const BuildOptions& options, const InputFunction& input) {
  const Towers towers = build_towers(
      {.num_towers = options.num_towers,
       .network = network_options(options.values, 0),
       .optimizer = std::get<std::string>(option_value(kModel, options.values, "optimizer")),
       .learning_rate = options.learning_rate,
       .batch_size = options.batch_size,
       .examples = options.examples},
      input);
  return {.global_step = towers.global_step,
          .stages = {{towers.train_op, towers.costs}},
          .grads = towers.grads,
          .summaries = towers.summaries,
          .learning_rate = towers.learning_rate};
}

/// The network for one character at a time.
struct Writer {
  Tensor input;
  Network network;
  Tensor next;  ///< the number of a character that follows, drawn by its probability

  /// Returns `kPrime` continued.
  std::string write(Session& session, const Variable& characters) const;
};

Writer make_writer(NetworkOptions options) {
  options.static_unrolling = false;
  Writer writer{.input = tf::placeholder(tf::int32, {.shape = {1, 1}, .name = "input"}),
                .network = {},
                .next = {}};
  writer.network = inference(writer.input, options);
  // The last class has no character.
  const Tensor known = writer.network.logits[{tf::all, {0, options.classes - 1}}];
  writer.next = tf::multinomial(known, 1, {.seed = 1, .output_dtype = tf::int32});
  return writer;
}

std::string Writer::write(Session& session, const Variable& characters) const {
  const Array codes = session.run(characters);
  std::string alphabet(kBytes, '?');
  for (std::int64_t byte = kBytes - 1; byte >= 0; --byte) {
    alphabet[static_cast<std::size_t>(codes.data<std::int32_t>()[byte])] = static_cast<char>(byte);
  }
  std::string text = kPrime;
  std::vector<Array> state;
  for (std::size_t i = 0; text.size() < kSampled; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    Feeds feeds{{input, tf::Nested({{codes.data<std::int32_t>()[byte]}})}};
    for (std::size_t k = 0; k < state.size(); ++k) {
      feeds.emplace_back(network.initial_state[k], state[k]);
    }
    std::vector<Fetch> fetches(network.final_state.begin(), network.final_state.end());
    fetches.emplace_back(next);
    state = session.run(fetches, feeds);
    if (i + 1 == text.size()) text += alphabet[static_cast<std::size_t>(state.back().item<int>())];
    state.pop_back();
  }
  return text + "\n";
}

/// Sums the nats and the number of the characters; a target below 0 is none.
EvaluationGraph build_evaluation(const Batch& batch, const OptionValues& values) {
  NetworkOptions options = network_options(values, classes_of_input());
  options.static_unrolling = false;  // the same variables, and windows are longer
  const auto vars = tf::variable_scope(tf::get_variable_scope());
  const Tensor logits = inference(batch.features, options).logits;
  const Tensor targets = tf::reshape(batch.labels, {-1});
  const Tensor weights = tf::cast(tf::greater_equal(targets, 0), tf::float32);
  const Tensor loss = tf::nn::sparse_softmax_cross_entropy_with_logits(
      {.labels = tf::maximum(targets, 0), .logits = logits});
  std::map<std::string, Variable> restored;
  for (const Variable& variable : tf::global_variables()) {
    restored.emplace(variable.op().name(), variable);
  }
  tf::get_variable_scope().reuse_variables();
  const Variable characters = restored.at("characters");
  return {.sums = {tf::reduce_sum(loss * weights), tf::reduce_sum(weights)},
          .restored = restored,
          .samples = [writer = make_writer(options), characters](Session& session) {
            return writer.write(session, characters);
          }};
}

Score score(std::int64_t, const std::vector<double>& sums) {
  const auto characters = static_cast<std::int64_t>(sums[1]);
  const double nats = sums[0] / sums[1], bits = nats / std::log(2.0);
  return {fmt::format("{} held-out characters, {:.4f} nats or {:.4f} bits a character", characters,
                      nats, bits),
          {{"characters", characters}, {"nats_per_character", nats}, {"bits_per_character", bits}}};
}

/// Writes the lines of char-rnn-tensorflow's train.py, and then the spread of the towers' losses.
StepLog log_of(const TrainOptions&) {
  return [](const StepReport& report) {
    return fmt::format("{}/{} (epoch {}), train_loss = {:.3f}, time/batch = {:.3f}", report.step,
                       report.steps, report.epoch, report.loss, report.seconds) +
           towers_text(report, 3);
  };
}

}  // namespace

const Model kModel{
    .name = "char_lstm",
    .title = "character LSTM",
    .about = "a two-layer LSTM that learns to continue a text",
    .training =
        "The first nine tenths of the text are for training, in windows of 50 characters. The\n"
        "averaged gradients are clipped to a global norm of 5. The rate falls by 3 % every epoch.",
    .evaluation =
        "how well it predicts the last tenth of the text: the mean of -log p of each character.",
    .tower = kTowerName,
    .learning_rate = 0.002,
    .own_schedule = true,
    .batch_size = 50,
    .stages = {{}},
    .options = {{.name = "rnn-size",
                 .about = "units of each LSTM layer",
                 .value = std::int64_t{128},
                 .kept = true,
                 .most = 4096},
                {.name = "optimizer",
                 .about = "what applies the gradients: sgd, momentum, adagrad or adam; only adam "
                          "suits the default rate",
                 .value = std::string("adam"),
                 .kept = true,
                 .choices = {"sgd", "momentum", "adagrad", "adam"}},
                {.name = "static-unrolling",
                 .about = "build the cells once for each character (static_rnn), not as a loop",
                 .value = false,
                 .kept = true}},
    .data = &kText,
    .one_pipeline = true,
    .input = inputs,
    .test_input = test_inputs,
    .batch_in_memory = batch_in_memory,
    .build = build,
    .build_evaluation = build_evaluation,
    .score = score,
    .log = log_of,
    .samples_file = "samples.txt",
    .samples = "1,000 characters that the network wrote, each drawn by its probability"};

}  // namespace towerflow::models::char_lstm

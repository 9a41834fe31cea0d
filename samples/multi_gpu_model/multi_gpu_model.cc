// The program of an article about several GPUs: collections hold the models of the towers, with
// their losses and summaries. A training feeds each model of scope train/ with a batch of its own;
// after each epoch the model of scope test/, which has the same variables, is run on other digits.
//
// usage: multi_gpu_model_sample [FOLDER [EPOCHS [GPUS]]], in the root of the project; the
// checkpoint and the events are written to FOLDER, runs/multi_gpu_model if it is left out
#include <towerflow/tf.h>

#include <array>
#include <iostream>
#include <optional>

namespace {

constexpr int kBatch = 32, kPixels = 784, kHidden = 64, kClasses = 10;

tf::Tensor dense(const std::string& name, const tf::Tensor& x, int inputs, int outputs) {
  const auto scope = tf::variable_scope(name);
  const auto w = tf::get_variable("w", {inputs, outputs});
  const auto b = tf::get_variable("b", {outputs}, {.initializer = tf::zeros_initializer()});
  return tf::matmul(x, w) + b;
}

struct Model {
  explicit Model(bool is_training) {
    x = tf::placeholder(tf::float32, {tf::None, kPixels}, {.name = "x"});
    y = tf::placeholder(tf::int64, {tf::None}, {.name = "y"});
    const auto logits =
        dense("output", tf::tanh(dense("hidden", x, kPixels, kHidden)), kHidden, kClasses);
    loss = tf::reduce_mean(
        tf::nn::sparse_softmax_cross_entropy_with_logits({.labels = y, .logits = logits}));
    if (is_training) grad = tf::gradients(loss, tf::trainable_variables());
    tf::add_to_collection("loss", loss);
    tf::add_to_collection("predict", tf::argmax(logits, 1, {.name = "predict"}));
    tf::add_to_collection("merge_summary",
                          tf::summary::merge({tf::summary::scalar("loss_summary", loss)}));
  }
  tf::Tensor x, y, loss;
  std::vector<tf::OptionalGradient> grad;
};

std::vector<tf::OptionalGradient> average_gradients(
    const std::vector<std::vector<tf::OptionalGradient>>& grads) {
  std::vector<tf::OptionalGradient> averaged_grads;
  for (std::size_t variable = 0; variable < grads[0].size(); ++variable) {
    std::vector<tf::Tensor> towers;
    for (const auto& tower : grads) towers.push_back(tf::expand_dims(tower[variable], 0));
    averaged_grads.push_back(tf::reduce_mean(tf::concat(towers, 0), 0));
  }
  return averaged_grads;
}

tf::Operation multi_gpu_model(int num_gpus) {
  std::vector<std::vector<tf::OptionalGradient>> grads;
  {
    const auto variables = tf::variable_scope(tf::get_variable_scope());
    for (int i = 0; i < num_gpus; ++i) {
      const auto device = tf::device("/gpu:" + std::to_string(i));
      const auto scope = tf::name_scope("tower_" + std::to_string(i));
      const Model model(true);
      tf::add_to_collection("train_model", model);
      grads.push_back(model.grad);
      tf::get_variable_scope().reuse_variables();  // the article forgets it
    }
  }
  const auto device = tf::device("/cpu:0");
  const auto averaged_grads = average_gradients(grads);
  // The article's updates do not wait for each other's gradients, and it zips the function
  // `average_gradients` with the variables.
  std::vector<tf::Fetch> computed;
  for (const auto& grad : averaged_grads) computed.emplace_back(grad->dense());
  const auto after = tf::control_dependencies(computed);
  return tf::train::GradientDescentOptimizer(0.2).apply_gradients(
      tf::zip(averaged_grads, tf::trainable_variables()));
}

/// The digits of a file in samples/mnist, batch by batch.
class BatchGenerator {
 public:
  explicit BatchGenerator(const std::string& name) {
    const auto here = graph_.as_default();
    const auto parse = [](const tf::Tensor& record) {
      auto parsed =
          tf::parse_single_example(record, {{"image_raw", tf::FixedLenFeature{{}, tf::string}},
                                            {"label", tf::FixedLenFeature{{}, tf::int64}}});
      const auto pixels = tf::reshape(tf::decode_raw(parsed["image_raw"], tf::uint8), {kPixels});
      return std::tuple(tf::cast(pixels, tf::float32) / 255.0 - 0.5, parsed["label"]);
    };
    const auto digits = tf::data::TFRecordDataset("samples/mnist/" + name + ".tfrecords.gz",
                                                  {.compression_type = "GZIP"});
    batch_ = digits.map(parse).batch(kBatch).make_one_shot_iterator().get_next().unpack<2>();
    session_.emplace(graph_);
  }
  /// Throws OutOfRangeError at the end of the file.
  std::pair<tf::Array, tf::Array> next_batch() {
    auto [x, y] = session_->run({batch_[0], batch_[1]});
    return {x, y};
  }

 private:
  tf::Graph graph_;
  std::array<tf::Tensor, 2> batch_;
  std::optional<tf::Session> session_;
};

void generate_feeds(const Model& model, tf::Feeds& feeds, BatchGenerator& batches) {
  auto [x, y] = batches.next_batch();
  feeds.push_back({model.x, x});
  feeds.push_back({model.y, y});
}

/// Feeds the models of a collection until the digits of a file end, and fetches their losses: those
/// in `scope`, so that a test does not fetch the losses of the training. Returns the mean loss.
double run_epoch(tf::Session& sess, const std::string& file, const std::string& models,
                 const std::string& scope, const std::optional<tf::Operation>& train_op,
                 tf::summary::FileWriter& writer, int& step) {
  BatchGenerator batches(file);
  std::vector<tf::Fetch> fetches{tf::get_collection("merge_summary", scope).back()};
  for (const tf::Tensor& loss : tf::get_collection("loss", scope)) fetches.emplace_back(loss);
  const std::size_t losses_end = fetches.size();
  if (train_op) fetches.emplace_back(*train_op);
  double sum = 0;
  int count = 0;
  try {
    while (true) {
      tf::Feeds feeds;
      for (const Model& model : tf::get_collection<Model>(models)) {
        generate_feeds(model, feeds, batches);
      }
      const std::vector<tf::Array> values = sess.run(fetches, feeds);
      for (std::size_t i = 1; i < losses_end; ++i, ++count) sum += values[i].item<float>();
      if (train_op) writer.add_summary(values[0], ++step);
    }
  } catch (const tf::errors::OutOfRangeError&) {  // there is not a batch for each model any more
  }
  return sum / count;
}

void train_and_test(const std::string& folder, int epochs, int num_gpus) {
  tf::set_random_seed(1);
  std::string train_scope, test_scope;
  tf::Operation train_op;
  {
    const auto scope = tf::name_scope("train");
    train_scope = scope.name();
    train_op = multi_gpu_model(num_gpus);
  }
  {
    const auto scope = tf::name_scope("test");
    test_scope = scope.name();
    const auto reuse = tf::variable_scope(tf::get_variable_scope(), {.reuse = true});
    tf::add_to_collection("test_model", Model(false));
  }
  tf::train::Saver saver;
  const auto init = tf::global_variables_initializer();
  tf::Session sess({.device_count = {{"CPU", num_gpus}}, .allow_soft_placement = true});
  tf::summary::FileWriter writer(folder, sess.graph());
  sess.run(init);
  int step = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const double trained =
        run_epoch(sess, "train", "train_model", train_scope, train_op, writer, step);
    const double tested =
        run_epoch(sess, "test", "test_model", test_scope, std::nullopt, writer, step);
    std::cout << "epoch " << epoch << ", step " << step << ": loss " << trained << " in "
              << train_scope << ", " << tested << " in " << test_scope << "\n";
  }
  std::cout << saver.save(sess, folder + "/model.ckpt", {.global_step = step}) << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    train_and_test(argc > 1 ? argv[1] : "runs/multi_gpu_model", argc > 2 ? std::stoi(argv[2]) : 3,
                   argc > 3 ? std::stoi(argv[3]) : 2);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}

// Two towers learn the digits of samples/mnist. tf::data reads them, and each tower takes every
// second one. The network has batch normalization and dropout, and it is tested after it was
// restored from its checkpoint.
//
// usage: batch_norm_sample [FOLDER [STEPS]], in the root of the project; the checkpoint is written
// to FOLDER, runs/batch_norm if it is left out
#include <towerflow/tf.h>

#include <iostream>

namespace {

constexpr int kTowers = 2, kBatch = 32;

auto parse(const tf::Tensor& record) {
  auto parsed =
      tf::parse_single_example(record, {{"image_raw", tf::FixedLenFeature{{}, tf::string}},
                                        {"label", tf::FixedLenFeature{{}, tf::int64}}});
  auto pixels = tf::reshape(tf::decode_raw(parsed["image_raw"], tf::uint8), {28, 28, 1});
  return std::tuple(tf::cast(pixels, tf::float32) / 255.0, parsed["label"]);
}

tf::data::Dataset digits(const std::string& name, int tower) {
  return tf::data::TFRecordDataset("samples/mnist/" + name + ".tfrecords.gz",
                                   {.compression_type = "GZIP"})
      .shard(kTowers, tower)
      .map(parse, {.num_parallel_calls = 2});
}

tf::Tensor logits_of(tf::Tensor x, const tf::Tensor& training) {
  const auto l2 = tf::keras::regularizers::l2(1e-4);
  for (const int filters : {16, 32}) {
    const auto scope = tf::variable_scope("conv" + std::to_string(filters));
    x = tf::layers::conv2d(x, filters, 3,
                           {.padding = "same", .use_bias = false, .kernel_regularizer = l2});
    x = tf::layers::batch_normalization(x, {.momentum = 0.9, .training = training});
    x = tf::layers::max_pooling2d(tf::nn::relu(x), 2, 2);
  }
  x = tf::layers::dense(tf::layers::flatten(x), 64,
                        {.activation = tf::nn::relu, .kernel_regularizer = l2, .name = "fc"});
  x = tf::layers::dropout(x, {.rate = 0.4, .training = training});
  return tf::layers::dense(x, 10, {.name = "logits"});
}

struct Model {
  explicit Model(int steps) {
    training = tf::placeholder_with_default(false, {}, {.name = "training"});
    global_step = tf::train::get_or_create_global_step();
    const auto rate = tf::train::piecewise_constant(global_step, {steps / 2, steps * 3 / 4},
                                                    {0.02, 0.005, 0.001});
    tf::train::MomentumOptimizer opt(rate, 0.9, {.use_nesterov = true});
    std::vector<std::vector<tf::GradAndVar>> tower_grads;
    std::vector<tf::Tensor> losses;
    std::vector<tf::Fetch> updates;
    const auto variables = tf::variable_scope(tf::get_variable_scope());
    for (int tower = 0; tower < kTowers; ++tower) {
      const auto device = tf::device("/gpu:" + std::to_string(tower));
      const auto scope = tf::name_scope("tower_" + std::to_string(tower));
      const auto train =
          digits("train", tower).shuffle(1000, {.seed = tower}).repeat().batch(kBatch);
      const auto test = digits("test", tower).batch(100);
      const auto iterator = tf::data::Iterator::from_structure(train.element_spec());
      begin_training.push_back(iterator.make_initializer(train.prefetch(2)));
      begin_test.push_back(iterator.make_initializer(test));
      const auto [images, labels] = iterator.get_next().unpack<2>();
      const auto logits = logits_of(images, training);
      const auto cross_entropy = tf::losses::sparse_softmax_cross_entropy(labels, logits);
      losses.push_back(tf::add_n(tf::losses::get_regularization_losses()) + cross_entropy);
      right.push_back(tf::reduce_sum(tf::cast(tf::nn::in_top_k(logits, labels, 1), tf::int32)));
      tower_grads.push_back(opt.compute_gradients(losses.back()));
      // The moving averages are those of the first tower.
      if (tower == 0) updates = tf::get_collection<tf::Fetch>(tf::GraphKeys::UPDATE_OPS);
      tf::get_variable_scope().reuse_variables();
    }
    loss = tf::add_n(losses) / kTowers;
    const auto after = tf::control_dependencies(updates);
    train_op =
        opt.apply_gradients(tf::average_gradients(tower_grads), {.global_step = global_step});
  }

  tf::Tensor training, loss;
  tf::Variable global_step;
  tf::Operation train_op;
  std::vector<tf::Operation> begin_training, begin_test;
  std::vector<tf::Tensor> right;
};

/// Counts the test digits that are recognised with the moving averages.
int count_right(tf::Session& sess, const Model& model) {
  sess.run(model.begin_test);
  int count = 0;
  for (const tf::Tensor& right : model.right) {
    try {
      while (true) count += sess.run(right).item<int>();
    } catch (const tf::errors::OutOfRangeError&) {  // the end of this tower's digits
    }
  }
  return count;
}

void learn_and_test(const std::string& folder, int steps) {
  tf::set_random_seed(1);
  const Model model(steps);
  tf::train::Saver saver;
  const tf::ConfigProto config{.device_count = {{"CPU", kTowers}}, .allow_soft_placement = true};
  {
    tf::Session sess(config);
    sess.run(tf::global_variables_initializer());
    sess.run(model.begin_training);
    for (int step = 0; step < steps; ++step) {
      const auto [_, loss] = sess.run({model.train_op, model.loss}, {{model.training, true}});
      if (step % 20 == 0) std::cout << "step " << step << ", loss " << loss << "\n";
    }
    saver.save(sess, folder + "/model.ckpt", {.global_step = model.global_step});
  }
  tf::Session sess(config);
  saver.restore(sess, tf::train::latest_checkpoint(folder));
  std::cout << count_right(sess, model) << " of 1000 test digits right\n";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    learn_and_test(argc > 1 ? argv[1] : "runs/batch_norm", argc > 2 ? std::stoi(argv[2]) : 200);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}

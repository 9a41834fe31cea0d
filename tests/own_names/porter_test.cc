// A ported program that defines functions with names of the library in the global namespace and
// calls them as in Python: its own functions are called.
#include <towerflow/tf.h>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using GradsAndVars = std::vector<tf::GradAndVar>;

tf::Variable weight_variable(const std::string& name, tf::VariableShape shape) {
  return tf::get_variable(name, shape, {.initializer = tf::ones_initializer()});
}

tf::Tensor reduce_mean(const tf::Tensor& x) { return tf::reduce_mean(x) * 2.0; }
tf::Tensor matmul(const tf::Tensor& x, const tf::Variable& w) { return tf::matmul(x, w); }
tf::Tensor relu(const tf::Tensor& x) { return tf::maximum(x, 0.0); }
tf::Tensor leaky_relu(const tf::Tensor& x, float leak = 0.25f) { return tf::maximum(x, leak * x); }
tf::Tensor sigmoid(const tf::Tensor& x) { return 1.0 / (1.0 + tf::exp(-x)); }
tf::Tensor concat(const std::vector<tf::Tensor>& values) { return tf::concat(values, 1); }
tf::Tensor cast(const tf::Tensor& x, tf::DType dtype) { return tf::cast(x, dtype); }
tf::Tensor one_hot(const tf::Tensor& labels) { return tf::one_hot(labels, 2); }
tf::Shape shape(const tf::Tensor& x) { return x.shape(); }
tf::Tensor batch_normalization(const tf::Tensor& x, const tf::nn::Moments& moments) {
  return x - moments.mean;
}
tf::Operation assign(const tf::Variable& w, const tf::Tensor& value) {
  return tf::assign(w, value).op();
}
tf::Operation group(const std::vector<tf::Operation>& ops) { return tf::group(ops); }
tf::Tensor global_norm(const std::vector<tf::OptionalGradient>& grads) {
  return tf::global_norm(grads) + 100.0;
}
std::vector<tf::Variable> trainable_variables(const tf::Graph&) {
  return tf::trainable_variables();
}
std::vector<tf::OptionalGradient> gradients(const tf::Tensor& y,
                                            const tf::Collected<tf::Variable>& xs) {
  return tf::gradients(y, xs);
}
std::vector<tf::train::Thread> start_queue_runners(tf::Session& sess,
                                                   tf::train::Coordinator& coord) {
  return tf::train::start_queue_runners(sess, {.coord = &coord});
}
std::int64_t global_step(tf::Session& sess, const tf::Variable& step) {
  return sess.run(step).item<std::int64_t>();
}
tf::Operation minimize(tf::train::Optimizer& opt, const tf::Tensor& loss) {
  return opt.minimize(loss);
}
std::string latest_checkpoint(const tf::train::Saver& saver) {
  return saver.last_checkpoints().empty() ? "" : saver.last_checkpoints().back();
}

GradsAndVars average_gradients(const std::vector<GradsAndVars>& tower_grads) {
  GradsAndVars average_grads;
  for (std::size_t v = 0; v < tower_grads[0].size(); ++v) {
    std::vector<tf::Tensor> grads;
    for (const GradsAndVars& grads_and_vars : tower_grads) {
      grads.push_back(tf::expand_dims(tf::convert_to_tensor(*grads_and_vars[v].grad), 0));
    }
    average_grads.push_back({tf::reduce_mean(tf::concat(grads, 0), 0), tower_grads[0][v].var});
  }
  return average_grads;
}

TEST_CASE("a program's own average_gradients is the one that is called") {
  tf::Graph graph;
  const auto scope = graph.as_default();
  tf::train::GradientDescentOptimizer opt(1.0);
  const tf::Variable w = weight_variable("w", {2});
  std::vector<GradsAndVars> tower_grads;
  for (double factor : {1.0, 3.0}) {
    tower_grads.push_back(opt.compute_gradients(tf::reduce_sum(w * factor)));
  }
  const tf::Operation train_op = opt.apply_gradients(average_gradients(tower_grads));
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  sess.run(train_op);
  CHECK(sess.run(w) == tf::Array::of<float>({2}, {-1.0f, -1.0f}));
}

TEST_CASE("functions of a program's own with names of the library's") {
  tf::Graph graph;
  const auto scope = graph.as_default();
  const tf::Variable w = weight_variable("w", {2, 2});
  const tf::Tensor x = tf::constant({{1.0f, -2.0f}});
  const tf::Tensor y = matmul(x, w);
  const tf::Tensor norm = global_norm(gradients(tf::reduce_sum(w), tf::trainable_variables()));
  const tf::Tensor labels = one_hot(cast(tf::constant({1.0f}), tf::int32));
  const tf::Tensor centred = batch_normalization(x, tf::nn::moments(x, {0, 1}));
  const tf::Operation both = group({assign(w, w * 2.0), tf::no_op()});
  tf::train::GradientDescentOptimizer opt(0.5);
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  const auto value = [&](const tf::Tensor& tensor) { return sess.run(tensor).data<float>()[0]; };
  CHECK(value(reduce_mean(y)) == -2.0f);
  CHECK(value(relu(y)) == 0.0f);
  CHECK(value(leaky_relu(y)) == -0.25f);
  CHECK(value(sigmoid(y - y)) == 0.5f);
  CHECK(shape(concat({y, y})) == tf::Shape({1, 4}));
  CHECK(value(norm) == 102.0f);
  CHECK(value(labels) == 0.0f);
  CHECK(value(centred) == 1.5f);
  CHECK(trainable_variables(graph).size() == 1);
  sess.run(both);
  CHECK(value(w) == 2.0f);
  sess.run(minimize(opt, tf::reduce_sum(w)));
  CHECK(value(w) == 1.5f);
  tf::train::Coordinator coord;
  CHECK(start_queue_runners(sess, coord).empty());
  CHECK(latest_checkpoint(tf::train::Saver()).empty());
  const tf::Variable step = tf::train::get_or_create_global_step();
  sess.run(step.initializer());
  CHECK(global_step(sess, step) == 0);
}

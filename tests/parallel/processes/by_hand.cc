// The program of docs/processes.md: a line fitted by as many processes as mpirun starts.
#include <cstdio>

#include "towerflow/tf.h"

void train() {
  auto& group = tf::parallel::process_group();

  // Each process has points of its own: y = 3 x + 1 at other places.
  const int rank = group.rank();
  const tf::Tensor x =
      tf::random_uniform({64, 1}, {.minval = -1.0, .maxval = 1.0, .seed = 1 + rank});
  const tf::Tensor y = 3.0 * x + 1.0;
  const auto w = tf::get_variable("w", {1, 1}, {.initializer = tf::random_normal_initializer()});
  const auto b = tf::get_variable("b", {1}, {.initializer = tf::zeros_initializer()});
  const tf::Tensor loss = tf::reduce_mean(tf::square(tf::matmul(x, w) + b - y));

  tf::train::MomentumOptimizer optimizer(0.1, 0.9);
  const auto grads = tf::parallel::all_reduce(optimizer.compute_gradients(loss));
  const tf::Operation train_op = optimizer.apply_gradients(grads);

  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  tf::parallel::broadcast_global_variables(sess);
  for (int step = 0; step < 300; ++step) sess.run(train_op);

  const auto values = sess.run({w, b});
  std::printf("rank %d of %d: y = %.3f x + %.3f\n", rank, group.size(), values[0].flat<float>()[0],
              values[1].flat<float>()[0]);
}

int main() {
  try {
    train();
  } catch (const std::exception& error) {
    tf::parallel::process_group().abort(error.what());  // ends the other processes too
  }
}

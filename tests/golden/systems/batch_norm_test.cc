#include "models/batch_norm/batch_norm.h"

#include <doctest/doctest.h>

#include <set>

#include "tests/golden/system_curve.h"
#include "towerflow/tf.h"

namespace {

using namespace towerflow;

golden::Training build_batch_norm(const golden::Json& options, const models::InputFunction& input) {
  namespace m = models::batch_norm;
  const std::int64_t batch_size = options["batch"];
  const models::BatchFunction placeholders = [&] {
    const Tensor images = tf::placeholder(tf::float32, {.shape = {batch_size, 784}});
    return models::Batch{images, tf::placeholder(tf::int32, {.shape = {batch_size}})};
  };
  const auto built =
      m::build_towers({.num_gpus = options["towers"], .collecting = m::way(options["collecting"])},
                      input ? input() : placeholders);
  golden::Training training{built.losses, {}};
  std::set<std::string> names;
  for (const Fetch& update : built.updates) {
    if (names.insert(update.operation().name()).second) {
      training.train_ops.push_back(update.operation());
    }
  }
  training.train_ops.push_back(built.apply_gradient_op);
  training.train_ops.push_back(built.variables_averages_op);
  return training;
}

TEST_CASE("the graphs of batch_norm, in each way, are TensorFlow's") {
  golden::check_graphs("batch_norm", build_batch_norm);
}
TEST_CASE("ten steps of batch_norm in each way") {
  golden::check_curves("batch_norm", build_batch_norm);
}

}  // namespace

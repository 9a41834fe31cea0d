#include "models/cifar10/cifar10.h"

#include <doctest/doctest.h>

#include "models/summaries.h"
#include "tests/golden/system_curve.h"
#include "towerflow/tf.h"

namespace {

using namespace towerflow;

golden::Training build_cifar10(const golden::Json& options, const models::InputFunction& input) {
  namespace cifar10 = models::cifar10;
  const int towers = options["towers"];
  const std::int64_t batch_size = options["batch"];
  if (options.value("one_device", false)) {
    const auto direct = [&]() -> models::BatchFunction {
      return [batch = cifar10::distorted_batch({.files = {"data_batch_1.bin"},
                                                .examples = 50000,
                                                .batch_size = batch_size,
                                                .num_threads = 16})] { return batch; };
    };
    const auto built = cifar10::build_one_device({.batch_size = batch_size},
                                                 input ? input : models::InputFunction(direct));
    tf::summary::merge_all();
    return {built.losses, {built.train_op}};
  }
  const auto own = [&] {
    return cifar10::distorted_inputs({.files = {"data_batch_1.bin"},
                                      .examples = 50000,
                                      .batch_size = batch_size,
                                      .num_towers = towers,
                                      .num_threads = 16});
  };
  const auto built = cifar10::build_towers({.num_towers = towers, .batch_size = batch_size},
                                           input ? input : models::InputFunction(own));
  models::merged_summaries(built.summaries, built.grads, {.learning_rate = built.learning_rate});
  return {built.losses, {built.train_op}};
}

TEST_CASE("the graph of cifar10 is the tutorial's") {
  golden::check_graphs("cifar10", build_cifar10);
}
TEST_CASE("ten steps of cifar10") { golden::check_curves("cifar10", build_cifar10); }

}  // namespace

#include "models/inception3/inception3.h"

#include <doctest/doctest.h>

#include "models/summaries.h"
#include "tests/golden/system_curve.h"

namespace {

using namespace towerflow;

golden::Training build_inception3(const golden::Json& options, const models::InputFunction& input) {
  namespace inception3 = models::inception3;
  const int towers = options["towers"];
  const std::int64_t batch_size = options["batch"], examples = 1281167;
  const auto own = [&] {
    return inception3::distorted_inputs({.files = {"train-00000-of-00001"},
                                         .examples = examples,
                                         .batch_size = batch_size,
                                         .num_towers = towers,
                                         .num_threads = 4});
  };
  const auto built = inception3::build_towers(
      {.num_towers = towers, .batch_size = batch_size, .examples = examples},
      input ? input : models::InputFunction(own));
  models::merged_summaries(built.summaries, built.grads, {.learning_rate = built.learning_rate});
  return {built.losses, {built.train_op}, built.grads};
}

TEST_CASE("the graph of inception3 is the published program's") {
  golden::check_graphs("inception3", build_inception3);
}
// In float64. In float32 the gradients of TensorFlow itself are a hundredth away from its own in
// float64: rounding decides for some features whether relu passes a gradient.
TEST_CASE("a step of inception3, with the gradient of every variable") {
  golden::check_curves("inception3", build_inception3);
}

}  // namespace

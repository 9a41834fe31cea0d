#include "models/cnn/cnn.h"

#include <doctest/doctest.h>

#include "tests/golden/system_curve.h"

namespace {

using namespace towerflow;

golden::Training build_cnn(const golden::Json& options, const models::InputFunction& input) {
  namespace cnn = models::cnn;
  const auto built =
      cnn::build_towers(options["network"] == "resnet50" ? cnn::kResnet50 : cnn::kLenet5,
                        {.num_towers = options["towers"],
                         .learning_rate = options["rate"].get<double>(),
                         .batch_size = options["batch"],
                         .values = {{"optimizer", options["optimizer"].get<std::string>()}}},
                        input);
  const models::StageOps& stage = built.stages[0];
  return {stage.losses, {stage.train_op}, built.grads};
}

TEST_CASE("steps of networks of tf_cnn_benchmarks") { golden::check_curves("cnn", build_cnn); }

}  // namespace

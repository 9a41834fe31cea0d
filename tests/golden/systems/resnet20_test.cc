#include "models/resnet20/resnet20.h"

#include <doctest/doctest.h>

#include "tests/golden/system_curve.h"

namespace {

using namespace towerflow;

golden::Training build_resnet(const golden::Json& options, const models::InputFunction& input) {
  namespace resnet20 = models::resnet20;
  const int towers = options["towers"];
  const std::int64_t batch_size = options["batch"];
  const auto own = [&] {
    const models::InputOptions described{.files = {"data_batch_1.bin"},
                                         .examples = 45000,
                                         .batch_size = batch_size,
                                         .num_towers = towers,
                                         .num_threads = towers * static_cast<int>(batch_size)};
    return resnet20::dealt_inputs(resnet20::distorted_batches(described), described);
  };
  const auto built = resnet20::build_towers(
      {.num_layers = options["depth"],
       .num_towers = towers,
       .batch_size = batch_size,
       .update_ops = update_ops_policy(options["update_ops"]),
       .variable_strategy = options["variables"] == "GPU" ? resnet20::VariableStrategy::gpu
                                                          : resnet20::VariableStrategy::cpu,
       .data_format = "channels_" + options["layout"].get<std::string>()},
      input ? input : models::InputFunction(own));
  std::vector<Tensor> losses = built.losses;
  losses.push_back(built.loss);
  return {losses, {built.train_op}};
}

TEST_CASE("the graph of resnet20 is the estimator's") {
  golden::check_graphs("resnet20", build_resnet);
}
TEST_CASE("ten steps of resnet20") { golden::check_curves("resnet20", build_resnet); }

}  // namespace

#include "models/three_stage_gan/three_stage_gan.h"

#include <doctest/doctest.h>

#include "tests/golden/system_curve.h"

namespace {

using namespace towerflow;

golden::Training build_three_stage_gan(const golden::Json& options,
                                       const models::InputFunction& input) {
  namespace gan = models::three_stage_gan;
  const bool random_hole = options.value("random_hole", false);
  models::BatchFunction next_batch;
  gan::NextInput next_input;
  if (input) {
    next_batch = input();
    next_input = [&] { return gan::holed_digits(next_batch(), random_hole); };
  }
  const auto built =
      gan::build_towers({.num_gpus = options["towers"],
                         .next_input = next_input,
                         .towers_without_discriminator = options.value("without", 0)});
  golden::Training training;
  for (const auto& tower : built.towers) {
    const gan::Losses& losses = tower.losses;
    training.losses.insert(training.losses.end(),
                           {losses.gen_only, losses.discm_only, losses.full});
  }
  training.train_ops = {built.gen_only.train_op, built.discm_only.train_op, built.full.train_op};
  return training;
}

TEST_CASE("the graph of three_stage_gan is TensorFlow's") {
  golden::check_graphs("three_stage_gan", build_three_stage_gan);
}
TEST_CASE("ten steps of three_stage_gan, with gradients absent in one tower and in all") {
  golden::check_curves("three_stage_gan", build_three_stage_gan);
}

}  // namespace

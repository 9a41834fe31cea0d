#include "models/vaegan/vaegan.h"

#include <doctest/doctest.h>

#include "tests/golden/system_curve.h"

namespace {

using namespace towerflow;

models::vaegan::Sizes sizes_of(const std::string& name) {
  if (name == "small") return {};
  if (name == "tiny") {
    return {
        .hidden_size = 4, .encoder = {3}, .generator = {4}, .discriminator = {2, 3}, .features = 5};
  }
  return {.hidden_size = 3, .encoder = {2}, .generator = {2}, .discriminator = {2}, .features = 4};
}

golden::Training build_vaegan(const golden::Json& options, const models::InputFunction& input) {
  namespace vaegan = models::vaegan;
  const int towers = options["towers"];
  const std::int64_t batch_size = options["batch"];
  const auto own = [&] {
    return vaegan::shuffled_inputs({.files = {"data_batch_1.bin"},
                                    .examples = 50000,
                                    .batch_size = batch_size,
                                    .num_towers = towers});
  };
  const auto built = vaegan::build_towers({.num_towers = towers,
                                           .learning_rate = options.value("learning_rate", 1e-3),
                                           .sizes = sizes_of(options["sizes"]),
                                           .unordered = options.value("unordered", false)},
                                          input ? input : models::InputFunction(own));
  golden::Training training{{}, {built.train_op}};
  for (const vaegan::Tower& tower : built.towers) {
    training.losses.insert(training.losses.end(),
                           {tower.losses.sse, tower.l_e, tower.l_g, tower.l_d});
  }
  return training;
}

TEST_CASE("the graph of vaegan is TensorFlow's") { golden::check_graphs("vaegan", build_vaegan); }
TEST_CASE("ten steps of vaegan") { golden::check_curves("vaegan", build_vaegan); }

}  // namespace

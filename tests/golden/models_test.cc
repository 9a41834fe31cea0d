// The mistakes of the source texts in the systems of models/ fail as in TensorFlow, and what the
// programs of systems/ leave open.
#include <doctest/doctest.h>

#include "models/batch_norm/batch_norm.h"
#include "models/multi_gpu_model/multi_gpu_model.h"
#include "models/three_stage_gan/three_stage_gan.h"
#include "tests/golden/graph_check.h"
#include "tests/golden/programs.h"
#include "tests/support/data_dir.h"
#include "tests/support/exact_array.h"
#include "towerflow/tf.h"

namespace {

using namespace towerflow;
using golden::Json;

Json recorded(const std::string& file, const std::string& name) {
  for (const Json& program : golden::read_program_file(
           towerflow::test::source_root() / "tests/golden/programs" / (file + ".json"))) {
    if (program["name"] == name) return program;
  }
  FAIL("no program " << name);
  return {};
}

/// A new default graph with the seed of the recorded programs.
struct SeededGraph {
  Graph graph;
  DefaultGraphGuard guard = graph.as_default();
  SeededGraph() { tf::set_random_seed(1); }
};

/// Returns the class of the error that `build` throws, or "". Sets `text` to its full text.
template <class Build>
std::string error_of(Build build, std::string* text = nullptr) {
  try {
    build();
  } catch (const Error& error) {
    if (text != nullptr) *text = error.what();
    return error.kind();
  }
  return "";
}

TEST_CASE("a tower that forgot to reuse fails as in TensorFlow") {
  namespace m = models::multi_gpu_model;
  SeededGraph program;
  std::string text;
  CHECK(error_of([] { m::build({.num_gpus = 2, .reuse = false}); }, &text) ==
        golden::first_error(recorded("collected_towers", "forgotten_reuse")));
  CHECK(text.find("hidden/w already exists") != std::string::npos);
  CHECK(text.find("reuse_variables()") != std::string::npos);
}

TEST_CASE("slices cannot be packed, and can be expanded") {
  namespace m = models::multi_gpu_model;
  SeededGraph program;
  const Variable w = tf::get_variable("w", Shape{5, 2});
  std::vector<std::vector<OptionalGradient>> gradients;
  for (int i = 0; i < 2; ++i) {
    const Tensor rows = tf::gather(w, {1, 3, 1 + i});
    gradients.push_back(tf::gradients(tf::reduce_sum(tf::square(rows)), {w}));
  }
  CHECK(error_of([&] { m::average_packed(gradients); }) ==
        golden::first_error(recorded("collected_towers", "slices_packed")));
  CHECK(m::average_gradients(gradients)[0].shape() == Shape{5, 2});
}

TEST_CASE("models in a collection are fed one by one, losses fetched by scope") {
  namespace m = models::multi_gpu_model;
  SeededGraph seeded;
  const m::Program program = m::build({.num_gpus = 2, .learning_rate = 0.1});
  Session session({.allow_soft_placement = true});
  session.run(tf::global_variables_initializer());
  std::uint64_t stream = 0;
  const auto next_batch = [&] {
    const Array x = test::exact_array(stream++, {6, 784}, {.exponent = -1});
    return std::pair(x, test::exact_integers(stream++, {6}, 10));
  };
  const auto first =
      m::run_step(session, "train_model", program.train_scope, next_batch, program.train_op);
  CHECK(first.size() == 2);
  CHECK(stream == 4);
  stream = 0;
  const auto second =
      m::run_step(session, "train_model", program.train_scope, next_batch, program.train_op);
  CHECK(second[0] + second[1] < first[0] + first[1]);
  CHECK(m::run_step(session, "test_model", program.test_scope, next_batch).size() == 1);
}

TEST_CASE("the second averager fails on a table of which rows are read, the first does not") {
  namespace m = models::multi_gpu_model;
  const auto build = [](bool second) {
    SeededGraph program;
    m::build({.num_gpus = 2, .config = {.embedding = true}, .second_averager = second});
  };
  std::string text;
  CHECK(error_of([&] { build(true); }, &text) ==
        golden::first_error(recorded("collected_towers", "slices_packed")));
  CHECK(text.find("'hidden/table:0' is IndexedSlices") != std::string::npos);
  CHECK(error_of([&] { build(false); }) == "");
}

TEST_CASE("what each way collects, and of what a moving mean then consists") {
  CHECK("\n" + models::batch_norm::table_of_ways(2) == R"(
What each way of collecting UPDATE_OPS does in a step
  way          collected distinct   a moving mean keeps  + device_0  + device_1
  extended            12        8                  0.81        0.09        0.10
  after                8        8                  0.81        0.09        0.10
  replaced             8        8                  0.81        0.09        0.10
  first                4        4                  0.90        0.10        0.00
  last                 4        4                  0.90        0.00        0.10
  all                  8        8                  0.80        0.10        0.10
  in_order             8        8                  0.81        0.09        0.10
  merged               4        4                  0.90        0.05        0.05
  synchronised         4        4                  0.90        0.05        0.05
  An operation that is listed twice runs once. The updates of several towers follow each
  other, except with 'all', where each starts from the value before the step; TensorFlow
  leaves open which of the two its program does.
)");
  CHECK_THROWS_AS(models::batch_norm::way("every"), ValueError);
}

TEST_CASE("one run updates variables, averages and moving averages") {
  namespace m = models::batch_norm;
  for (const auto& [way_name, collecting] : m::ways()) {
    const std::string name = way_name;  // a lambda cannot capture a part of a pair
    CAPTURE(name);
    SeededGraph program;
    std::uint64_t stream = 0;
    const m::Towers towers =
        m::build_towers({.collecting = collecting, .learning_rate = 0.01}, [&] {
          const Tensor images =
              tf::constant(test::exact_array(stream++, {4, 784}, {.exponent = -1}));
          return models::Batch{images, tf::constant({0, 1, 2, 0})};
        });
    Session session({.allow_soft_placement = true});
    session.run(tf::global_variables_initializer());
    const float before = session.run(towers.losses[0]).item<float>();
    for (int step = 0; step < 3; ++step) session.run(towers.train_op);
    CHECK(session.run(towers.losses[0]).item<float>() < before);
    CHECK(tf::train::global_step(session, towers.global_step) == 3);
    int moving = 0;
    for (const Variable& variable : tf::global_variables()) {
      const std::string variable_name = variable.name();
      if (variable_name.find("/moving_") == std::string::npos) continue;
      ++moving;
      const Array value = session.run(variable);
      const float initial = variable_name.find("mean") != std::string::npos ? 0.0F : 1.0F;
      for (const float x : value.flat<float>()) CHECK(x != initial);
    }
    CHECK(moving == 4);
  }
}

TEST_CASE("which gradients of a network in three stages exist") {
  namespace m = models::three_stage_gan;
  SeededGraph program;
  const m::Towers towers = m::build_towers({.towers_without_discriminator = 1});
  for (const auto& tower : towers.gen_only.tower_grads) {
    for (const GradAndVar& pair : tower) {
      CHECK(pair.grad.has_value() == pair.var.name().starts_with("generator/"));
    }
  }
  // The stage of the discriminator has its eight variables exactly once in each tower.
  for (const auto& tower : towers.discm_only.tower_grads) CHECK(tower.size() == 8);
  // A gradient that is absent in one tower is averaged over the others.
  CHECK_FALSE(towers.full.tower_grads[1].back().grad.has_value());
  CHECK(towers.full.grads.size() == 22);
  for (const GradAndVar& pair : towers.full.grads) CHECK(pair.grad.has_value());
}

TEST_CASE("the mistakes of the source texts fail with TensorFlow's errors") {
  namespace m = models::three_stage_gan;
  {
    SeededGraph program;
    std::string text;
    CHECK(error_of([] { m::build_towers({.separate_scopes = true}); }, &text) ==
          golden::first_error(recorded("three_stage_gan", "separate_scopes")));
    // The message names both variables, which shows the mistake.
    CHECK(text.find("discriminator/fake_discriminator/conv1/kernel") != std::string::npos);
    CHECK(text.find("discriminator/real_discriminator/conv1/kernel") != std::string::npos);
  }
  {
    SeededGraph program;
    CHECK(error_of([] { m::build_towers({.leave_reuse_on = true}); }) ==
          golden::first_error(recorded("three_stage_gan", "root_in_reuse")));
  }
  SeededGraph program;
  CHECK(error_of([] { m::build_towers({.tutorial_averager = true}); }) ==
        golden::first_error(recorded("three_stage_gan", "none_averaged")));
}

}  // namespace

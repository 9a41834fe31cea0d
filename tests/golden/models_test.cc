// Compares the systems of models/ with the TensorFlow programs that they port: names, collections,
// variables, devices, errors, and the values of the first steps.
#include <doctest/doctest.h>

#include "models/collected_towers.h"
#include "models/three_stage_gan.h"
#include "models/update_ops.h"
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

void check_steps(Graph& graph, const Json& program) {
  golden::check_graph(graph, program);
  tf::global_variables_initializer();
  golden::check_runs(graph, program);
}

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

TEST_CASE("towers found again through collections") {
  namespace m = models::collected_towers;
  const struct {
    const char* name;
    m::TowersOptions options;
  } cases[] = {{"towers_1", {.num_gpus = 1}},
               {"towers_2", {.num_gpus = 2}},
               {"towers_3_packed", {.num_gpus = 3, .packed = true}}};
  for (const auto& one : cases) {
    CAPTURE(one.name);
    SeededGraph program;
    m::build(one.options);
    check_steps(program.graph, recorded("collected_towers", one.name));
  }
}

TEST_CASE("a tower that forgot to reuse fails as in TensorFlow") {
  namespace m = models::collected_towers;
  SeededGraph program;
  std::string text;
  CHECK(error_of([] { m::build({.num_gpus = 2, .reuse = false}); }, &text) ==
        golden::first_error(recorded("collected_towers", "forgotten_reuse")));
  CHECK(text.find("hidden/w already exists") != std::string::npos);
  CHECK(text.find("reuse_variables()") != std::string::npos);
}

TEST_CASE("slices cannot be packed, and can be expanded") {
  namespace m = models::collected_towers;
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
  namespace m = models::collected_towers;
  SeededGraph seeded;
  const m::Program program = m::build({.num_gpus = 2});
  Session session({.allow_soft_placement = true});
  session.run(tf::global_variables_initializer());
  std::uint64_t stream = 0;
  const auto next_batch = [&] {
    const Array x = test::exact_array(stream++, {6, 4});
    return std::pair(x, test::exact_integers(stream++, {6}, 3, DType::int64));
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

TEST_CASE("updates of batch normalisation, collected in four ways") {
  namespace m = models::update_ops;
  const struct {
    const char* name;
    m::TowersOptions options;
    std::size_t updates, distinct;
  } cases[] = {
      {"extended_in_loop_2", {.collecting = m::Collecting::extended_in_loop}, 6, 4},
      {"after_loop_2", {.collecting = m::Collecting::after_loop}, 4, 4},
      {"replaced_in_loop_2", {.collecting = m::Collecting::replaced_in_loop}, 4, 4},
      {"first_tower_2", {.collecting = m::Collecting::first_tower}, 2, 2},
      {"after_loop_1", {.num_gpus = 1}, 2, 2},
  };
  for (const auto& one : cases) {
    CAPTURE(one.name);
    SeededGraph program;
    const m::Towers towers = m::build_towers(one.options);
    CHECK(towers.updates.size() == one.updates);
    std::set<std::string> names;
    for (const Tensor& update : towers.updates) names.insert(update.name());
    CHECK(names.size() == one.distinct);
    const Json expected = recorded("update_ops", one.name);
    if (one.options.collecting == m::Collecting::after_loop) {
      check_steps(program.graph, expected);
    } else {
      golden::check_graph(program.graph, expected);
    }
  }
}

TEST_CASE("one run updates variables, averages and moving averages") {
  namespace m = models::update_ops;
  SeededGraph program;
  const m::Towers towers = m::build_towers({});
  Session session({.allow_soft_placement = true});
  session.run(tf::global_variables_initializer());
  Feeds feeds;
  for (const m::Tower& tower : towers.towers) {
    feeds.emplace_back(tower.images, test::exact_array(1, {4, 6, 6, 2}));
    feeds.emplace_back(tower.labels, Nested({0, 1, 2, 0}));
  }
  const float before = session.run(towers.towers[0].loss, feeds).item<float>();
  for (int step = 0; step < 3; ++step) session.run(towers.train_op, feeds);
  CHECK(session.run(towers.towers[0].loss, feeds).item<float>() < before);
  CHECK(tf::train::global_step(session, towers.global_step) == 3);
  for (const Variable& moving : tf::model_variables()) {
    const Array value = session.run(moving);
    const float initial = moving.name().find("mean") != std::string::npos ? 0.0F : 1.0F;
    for (const float x : value.flat<float>()) CHECK(x != initial);
  }
}

TEST_CASE("a network in three stages") {
  namespace m = models::three_stage_gan;
  SeededGraph program;
  const m::Towers towers = m::build_towers({});
  const Json expected = recorded("three_stage_gan", "stages_2");
  check_steps(program.graph, expected);
  for (const auto& tower : towers.gen_only.tower_grads) {
    for (const GradAndVar& pair : tower) {
      CHECK(pair.grad.has_value() == pair.var.name().starts_with("generator/"));
    }
  }
  // Each of the discriminator's stages has the discriminator's four variables exactly once.
  for (const auto& tower : towers.discm_only.tower_grads) CHECK(tower.size() == 4);
  CHECK(towers.full.grads.size() == 8);
}

TEST_CASE("the mistakes of the source texts fail with TensorFlow's errors") {
  namespace m = models::three_stage_gan;
  {
    SeededGraph program;
    std::string text;
    CHECK(error_of([] { m::build_towers({.separate_scopes = true}); }, &text) ==
          golden::first_error(recorded("three_stage_gan", "separate_scopes")));
    // The message names both variables, which shows the mistake.
    CHECK(text.find("discriminator/fake_discriminator/conv1/weights") != std::string::npos);
    CHECK(text.find("discriminator/real_discriminator/conv1/weights") != std::string::npos);
  }
  {
    SeededGraph program;
    CHECK(error_of([] { m::build_towers({.leave_reuse_on = true, .strict_slots = true}); }) ==
          golden::first_error(recorded("three_stage_gan", "root_in_reuse")));
  }
  SeededGraph program;
  CHECK(error_of([] { m::build_towers({.leave_reuse_on = true}); }) == "");
}

}  // namespace

// Deferred gradients and staged variables: updates that are one step behind, written out by hand.
#include <doctest/doctest.h>

#include "tests/data/support.h"
#include "tests/support/eager.h"
#include "tests/support/error_text.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::error_text;
using testing::numbers;
using tf::parallel::DeferredGradients;
using tf::parallel::StagedVariables;

namespace {

/// A way to be late, and the values of a variable after each step.
struct DelayCase {
  const char* name;
  bool deferred, staged;
  std::vector<double> one_tower, three_towers;
};

// The variable begins with 1, the rate is 1/4, and the gradient is the variable, or twice that as
// the mean of three towers. A step takes the gradient at the value of 0 (strong), 1 or 2 steps ago.
const std::vector<DelayCase> kDelayCases{
    {"strong", false, false, {0.75, 0.5625, 0.421875}, {0.5, 0.25, 0.125}},
    {"deferred",
     true,
     false,
     {1, 1 - 0.25 * 1, 0.75 - 0.25 * 1, 0.5 - 0.25 * 0.75},
     {1, 1 - 0.5 * 1, 0.5 - 0.5 * 1, 0 - 0.5 * 0.5}},
    {"staged",
     false,
     true,
     {1 - 0.25 * 1, 0.75 - 0.25 * 1, 0.5 - 0.25 * 0.75, 0.3125 - 0.25 * 0.5},
     {1 - 0.5 * 1, 0.5 - 0.5 * 1, 0 - 0.5 * 0.5, -0.25 - 0.5 * 0}},
    {"both",
     true,
     true,
     {1, 1 - 0.25 * 1, 0.75 - 0.25 * 1, 0.5 - 0.25 * 1, 0.25 - 0.25 * 0.75},
     {1, 1 - 0.5 * 1, 0.5 - 0.5 * 1, 0 - 0.5 * 1, -0.5 - 0.5 * 0.5}}};

/// Returns a loss whose gradient is the variable w times the number of the tower, from 1.
Tensor square_loss(int tower, const std::string&) {
  const Variable w = tf::get_variable("w", {2}, {.initializer = tf::ones_initializer()});
  return 0.5 * (tower + 1.0) * tf::reduce_sum(tf::square(w));
}

ConfigProto on_simulated(int count) {
  return {.allow_soft_placement = true,
          .simulated = {.count = count, .latency = 0, .jitter = 50e-6}};
}

/// Checks the values of the trained variable after each step.
void check_steps(const Operation& step, const std::vector<double>& expected,
                 const ConfigProto& config, const Feeds& feeds = {}) {
  Session session(config);
  session.run(tf::global_variables_initializer());
  session.run(tf::local_variables_initializer());
  const Variable w = tf::trainable_variables().front();
  for (const double value : expected) {
    session.run(step, feeds);
    for (const double found : numbers(session.run(w))) CHECK(found == doctest::Approx(value));
  }
}

std::vector<Variable> trained_in(const char* scope) {
  return tf::get_collection<Variable>(tf::GraphKeys::TRAINABLE_VARIABLES, scope);
}

}  // namespace

TEST_CASE("towers apply gradients, and read variables, of the steps before") {
  for (const DelayCase& of : kDelayCases) {
    for (const int count : {1, 3}) {
      for (const VariableHome home : {VariableHome::host, VariableHome::mirrored}) {
        CAPTURE(std::string(of.name));
        CAPTURE(count);
        Graph graph;
        const auto guard = graph.as_default();
        train::GradientDescentOptimizer opt(0.25);
        const tf::parallel::Towers towers(opt, square_loss,
                                          {.num_towers = count,
                                           .home = home,
                                           .staged_variables = of.staged,
                                           .deferred_gradients = of.deferred});
        const auto& expected = count == 1 ? of.one_tower : of.three_towers;
        check_steps(towers.train_op, expected, on_simulated(count));
        if (home == VariableHome::mirrored) continue;
        check_steps(towers.train_op, expected, {.allow_soft_placement = true});
        const bool defers =
            towers.describe().find("a step applies the gradients of the step before\n") !=
            std::string::npos;
        const bool stages =
            towers.describe().find("towers read variables as of before the latest update\n") !=
            std::string::npos;
        CHECK(defers == of.deferred);
        CHECK(stages == of.staged);
      }
    }
  }
}

TEST_CASE("what is kept lies in local variables on the towers' devices") {
  Graph graph;
  const auto guard = graph.as_default();
  train::MomentumOptimizer opt(0.25, 0.9);
  const tf::parallel::Towers towers(
      opt, square_loss, {.num_towers = 2, .staged_variables = true, .deferred_gradients = true});
  std::vector<std::string> found;
  for (const Variable& variable : tf::local_variables()) {
    found.push_back(variable.op().name() + " on " + variable.device());
    CHECK(variable.home() == VariableHome::device);
    CHECK_FALSE(variable.trainable());
  }
  CHECK(found == std::vector<std::string>{
                     "w/staged on /device:GPU:0", "tower_0/deferred/w on /device:GPU:0",
                     "w/staged_1 on /device:GPU:1", "tower_1/deferred/w on /device:GPU:1"});
  CHECK(tf::global_variables().size() == 2);  // w and its momentum
}

TEST_CASE("what is late travels in the step that uses it, and leaves no replicas") {
  Graph graph;
  const auto guard = graph.as_default();
  train::GradientDescentOptimizer opt(0.25);
  const tf::parallel::Towers towers(
      opt, square_loss, {.num_towers = 3, .staged_variables = true, .deferred_gradients = true});
  Session session(on_simulated(3));
  const std::vector<Fetch> step{towers.train_op};
  int gradients = 0, variables = 0;
  for (const Transfer& transfer : session.transfers(step)) {
    CAPTURE(transfer.value);
    CHECK_FALSE(transfer.replica);
    if (transfer.value.find("deferred/w") != std::string::npos) ++gradients;
    if (transfer.value.starts_with("refresh_staged/read")) ++variables;
  }
  CHECK(gradients == 3);
  CHECK(variables == 3);
}

TEST_CASE("momentum adds up the gradients of the steps before") {
  Graph graph;
  const auto guard = graph.as_default();
  train::MomentumOptimizer opt(0.5, 0.5);
  const tf::parallel::Towers towers(opt, square_loss, {.deferred_gradients = true});
  // The gradients are 0, 1, 1 and 1/2; the momentum is 0, 1, 3/2 and 5/4.
  check_steps(towers.train_op, {1, 1 - 0.5 * 1, 0.5 - 0.5 * 1.5, -0.25 - 0.5 * 1.25},
              on_simulated(1));
}

TEST_CASE("slices are kept as slices") {
  for (const bool simulated : {false, true}) {
    Graph graph;
    const auto guard = graph.as_default();
    const auto gpu = tf::device("/gpu:0");
    const Tensor rows = tf::placeholder(tf::int32, {.shape = {2}});
    const Variable table =
        tf::get_variable("table", {3, 2}, {.initializer = tf::zeros_initializer()});
    train::GradientDescentOptimizer opt(1.0);
    DeferredGradients deferred;
    const auto computed = opt.compute_gradients(tf::reduce_sum(tf::gather(table, rows)));
    const auto grads = deferred.previous(computed);
    REQUIRE(grads.size() == 1);
    CHECK_FALSE(grads[0].grad->is_dense());
    const Operation update = opt.apply_gradients(grads);
    const Operation step = tf::group({update, deferred.keep()});
    Session session(simulated ? on_simulated(1) : ConfigProto{.allow_soft_placement = true});
    session.run(tf::global_variables_initializer());
    session.run(tf::local_variables_initializer());
    const auto after = [&](std::vector<int> fed) {
      session.run(step, {{rows, tf::Array::of<std::int32_t>({2}, {fed[0], fed[1]})}});
      return numbers(session.run(table));
    };
    CHECK(after({0, 2}) == std::vector<double>{0, 0, 0, 0, 0, 0});
    CHECK(after({1, 1}) == std::vector<double>{-1, -1, 0, 0, -1, -1});
    CHECK(after({0, 0}) == std::vector<double>{-1, -1, -2, -2, -1, -1});
  }
}

TEST_CASE("deferred, an absent gradient stays absent") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable used = tf::get_variable("used", {1}, {.initializer = tf::ones_initializer()});
  const Variable unused = tf::get_variable("unused", {1}, {.initializer = tf::ones_initializer()});
  train::MomentumOptimizer opt(0.5, 0.5);
  DeferredGradients deferred;
  const auto grads = deferred.previous(opt.compute_gradients(tf::reduce_sum(tf::square(used))));
  REQUIRE(grads.size() == 2);
  CHECK(grads[0].grad);
  CHECK_FALSE(grads[1].grad);
  CHECK_SAYS(error_text([&] { static_cast<void>(grads[1].grad->dense()); }), "'unused:0'",
             "absent");
  const Operation update = opt.apply_gradients(grads);
  CHECK_FALSE(opt.get_slot(unused, "momentum"));
  check_steps(tf::group({update, deferred.keep()}), {1, 0}, {});
}

TEST_CASE("the weights of towers are deferred with their gradients") {
  Graph graph;
  const auto guard = graph.as_default();
  std::vector<Tensor> weights;
  for (int tower = 0; tower < 2; ++tower) {
    weights.push_back(tf::placeholder_with_default(tf::constant(1.0F), {}));
  }
  train::GradientDescentOptimizer opt(1.0);
  const tf::parallel::Towers towers(
      opt,
      [](int tower, const std::string&) {
        const Variable w = tf::get_variable("w", {1}, {.initializer = tf::zeros_initializer()});
        return (tower + 1.0) * tf::reduce_sum(w);
      },
      {.num_towers = 2,
       .policy = AveragePolicy::weighted_mean,
       .weight = [&](int tower) { return weights[static_cast<std::size_t>(tower)]; },
       .deferred_gradients = true});
  Session session({.allow_soft_placement = true});
  session.run(tf::global_variables_initializer());
  session.run(tf::local_variables_initializer());
  const Variable w = tf::trainable_variables().front();
  const auto after = [&](float first, float second) {
    session.run(towers.train_op, {{weights[0], tf::Array::of<float>({}, {first})},
                                  {weights[1], tf::Array::of<float>({}, {second})}});
    return session.run(w).item<float>();
  };
  CHECK(after(1, 0) == 0.0F);
  CHECK(after(0, 1) == -1.0F);  // the gradient of the first tower
  CHECK(after(1, 1) == -3.0F);  // that of the second
  CHECK(after(1, 1) == -4.5F);  // the mean of both
}

TEST_CASE("a stage keeps the gradients of its objectives only") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto losses = [](int tower, const std::string&) {
    const Variable g = tf::with(tf::variable_scope("g"), [](auto&) {
      return tf::get_variable("w", {2}, {.initializer = tf::ones_initializer()});
    });
    const Variable d = tf::with(tf::variable_scope("d"), [](auto&) {
      return tf::get_variable("w", {3}, {.initializer = tf::ones_initializer()});
    });
    const Tensor make = (tower + 1.0) * tf::reduce_sum(tf::square(g));
    return std::vector<Tensor>{make, tf::reduce_sum(tf::square(d))};
  };
  train::GradientDescentOptimizer make(0.1), tell(0.1);
  const tf::parallel::StagedTowers towers(
      {{.name = "make", .optimizer = make, .variables = [] { return trained_in("g"); }},
       {.name = "tell", .optimizer = tell, .variables = [] { return trained_in("d"); }}},
      losses, {.num_towers = 2, .deferred_gradients = true});
  const Operation first = towers.stage({"make"});
  const Operation both = towers.stage({"make", "tell"});
  Session session({.allow_soft_placement = true});
  session.run(tf::global_variables_initializer());
  session.run(tf::local_variables_initializer());
  const auto check = [&](const Operation& step, double g, double d) {
    session.run(step);
    CHECK(numbers(session.run(trained_in("g").front()))[0] == doctest::Approx(g));
    CHECK(numbers(session.run(trained_in("d").front()))[0] == doctest::Approx(d));
  };
  // The gradient of g is 3 g, that of d 2 d.
  check(first, 1, 1);
  check(both, 1 - 0.1 * 3 * 1, 1);
  check(both, 0.7 - 0.1 * 3 * 1, 1 - 0.1 * 2 * 1);
  check(first, 0.4 - 0.1 * 3 * 0.7, 0.8);
  check(both, 0.19 - 0.1 * 3 * 0.4, 0.8 - 0.1 * 2 * 1);
  check(both, 0.07 - 0.1 * 3 * 0.19, 0.6 - 0.1 * 2 * 0.8);
}

TEST_CASE("gradients of a staged variable and of its copy add up") {
  Graph graph;
  const auto guard = graph.as_default();
  StagedVariables staged;
  Variable w;
  {
    const auto scope = tf::variable_scope("net", {.custom_getter = staged.getter(0, "")});
    w = tf::get_variable("w", {2}, {.initializer = tf::ones_initializer()});
    const Variable again = tf::with(tf::variable_scope(tf::get_variable_scope(), {.reuse = true}),
                                    [](auto&) { return tf::get_variable("w", {2}); });
    CHECK(again.value() == w.value());
    const Variable other = tf::get_variable("other", {2}, {.trainable = false});
    CHECK(other.value().name() == "net/other/read:0");
  }
  CHECK(w.name() == "net/w:0");
  CHECK(w.value().name() == "net/w/staged/read:0");
  CHECK(tf::local_variables().size() == 1);
  const Variable itself = tf::trainable_variables().front();
  CHECK(itself.value().name() == "net/w/read:0");
  train::GradientDescentOptimizer opt(0.5);
  const auto grads =
      opt.compute_gradients(0.5 * tf::reduce_sum(tf::square(w)) + 0.25 * tf::reduce_sum(itself));
  const Operation refresh = staged.refresh();
  const Operation update = opt.apply_gradients(grads);
  // The gradient is 1/4 more than the value before the latest update.
  check_steps(tf::group({update, refresh}),
              {1 - 0.5 * 1.25, 0.375 - 0.5 * 1.25, -0.25 - 0.5 * (0.25 + 0.375)}, {});
}

TEST_CASE(
    "gradients with respect to a variable include those of its copies, wherever it is asked") {
  Graph graph;
  const auto guard = graph.as_default();
  train::GradientDescentOptimizer opt(0.25);
  Tensor by_handle;
  const parallel::Towers towers(
      opt,
      [&](int tower, const std::string& scope) {
        const Tensor loss = square_loss(tower, scope);
        const Variable w = tf::with(tf::variable_scope(tf::get_variable_scope(), {.reuse = true}),
                                    [](auto&) { return tf::get_variable("w", {2}); });
        by_handle = tf::gradients(loss, w)[0]->dense();
        CHECK(tf::why_none(tf::stop_gradient(loss), w).cause == tf::NoneCause::stop_gradient);
        return loss;
      },
      {.num_towers = 2, .staged_variables = true});
  const Variable w = tf::trainable_variables()[0];
  CHECK(tf::why_none(towers.losses[0], w).connected());
  const auto table = tf::who_trains_what({{"loss", towers.losses, towers.train_op}});
  REQUIRE(table.losses.size() == 1);
  REQUIRE(table.losses[0].size() == 1);
  for (const tf::TowerTraining& tower : table.losses[0][0].towers) {
    CHECK(tower.kind == tf::Training::dense);
  }
  Session session({.allow_soft_placement = true});
  session.run(tf::global_variables_initializer());
  session.run(tf::local_variables_initializer());
  CHECK(numbers(session.run(by_handle)) == std::vector<double>{2, 2});
}

TEST_CASE("after the towers, scopes and templates of the program read the variables themselves") {
  Graph graph;
  const auto guard = graph.as_default();
  train::GradientDescentOptimizer opt(0.25);
  const auto net = tf::make_template("net", [] { return square_loss(0, ""); });
  const parallel::Towers towers(opt, [&](int, const std::string&) { return net(); },
                                {.num_towers = 2, .staged_variables = true});
  const Tensor evaluated = net();
  Session session({.allow_soft_placement = true});
  session.run(tf::global_variables_initializer());
  session.run(tf::local_variables_initializer());
  session.run(towers.train_op);
  CHECK(numbers(session.run(tf::trainable_variables()[0])) == std::vector<double>{0.75, 0.75});
  CHECK(session.run(evaluated).item<float>() == 0.5625F);
}

TEST_CASE("a staged variable begins with the value of its variable") {
  Graph graph;
  const auto guard = graph.as_default();
  tf::set_random_seed(5);
  StagedVariables staged;
  const auto scope = tf::variable_scope("net", {.custom_getter = staged.getter(0, "/cpu:0")});
  const Variable w = tf::get_variable("w", {50});
  const Operation both =
      tf::group({tf::global_variables_initializer(), tf::local_variables_initializer()});
  Session session;
  session.run(both);
  CHECK(session.run(w.value()) == session.run(w));
  const Operation changed = w.assign_add(tf::ones({50})).op();
  session.run(changed);
  session.run(tf::local_variables_initializer());
  CHECK(session.run(w.value()) == session.run(w));
}

TEST_CASE("a training that resumes begins its copies with the values of the checkpoint") {
  const testing::ScratchFolder folder;
  auto train_one_step = [&](std::optional<train::Scaffold> scaffold, float before) {
    Graph graph;
    const auto guard = graph.as_default();
    train::GradientDescentOptimizer opt(0.25);
    const parallel::Towers towers(
        opt, square_loss,
        {.num_towers = 1,
         .apply_gradients = {.global_step = tf::train::get_or_create_global_step()},
         .staged_variables = true});
    const Variable w = tf::trainable_variables()[0], copy = tf::local_variables()[0];
    tf::with(train::MonitoredTrainingSession({.checkpoint_dir = folder.path(),
                                              .save_checkpoint_steps = 1,
                                              .config = {.allow_soft_placement = true},
                                              .scaffold = std::move(scaffold)}),
             [&](train::MonitoredTrainingSession& session) {
               CHECK(numbers(session.raw_session().run(w)) == std::vector<double>(2, before));
               CHECK(numbers(session.raw_session().run(copy)) == std::vector<double>(2, before));
               session.run(towers.train_op);
             });
  };
  train_one_step({}, 1);
  train_one_step({}, 0.75);
  train_one_step(train::Scaffold(), 0.5625);
  // A value that a checkpoint gives in place of the initializer's.
  Graph graph;
  const auto guard = graph.as_default();
  StagedVariables staged;
  {
    const auto scope = tf::variable_scope("net", {.custom_getter = staged.getter(0, "/cpu:0")});
    (void)square_loss(0, "");
  }
  train::init_from_checkpoint(folder.path(), {{"w", "net/w"}});
  train::MonitoredTrainingSession session(train::MonitoredTrainingSessionOptions{});
  CHECK(numbers(session.raw_session().run(tf::local_variables()[0])) ==
        std::vector<double>(2, 0.421875));
}

TEST_CASE("what cannot be kept for the next step is refused") {
  Graph graph;
  const auto guard = graph.as_default();
  DeferredGradients deferred;
  CHECK_SAYS(error_text([&] { deferred.keep(); }), "ValueError", "no gradients to keep",
             "delayed_updates_test.cc", "tf::gradients");
  const Variable table = tf::get_variable("table", {3, 2});
  const Tensor rows = tf::placeholder(tf::int32, {.shape = Shape({std::nullopt})});
  train::GradientDescentOptimizer opt(1.0);
  const auto slices = opt.compute_gradients(tf::reduce_sum(tf::gather(table, rows)));
  CHECK_SAYS(error_text([&] { deferred.previous(slices); }), "ValueError",
             "the gradient of 'table:0' cannot be kept for the next step",
             "delayed_updates_test.cc", "tf::convert_to_tensor");
  const Tensor any = tf::placeholder(tf::float32, {.name = "any"});
  CHECK_SAYS(error_text([&] { deferred.previous_value(any, "any"); }), "ValueError",
             "the value of any cannot be kept", "set_shape");

  const StagedVariables staged;
  CHECK_SAYS(error_text([&] { staged.refresh(); }), "ValueError", "no variable is staged",
             "delayed_updates_test.cc", "tf::get_variable");
  const auto scope = tf::variable_scope("net", {.custom_getter = staged.getter(0, "/gpu:0")});
  CHECK_SAYS(error_text([] {
               tf::get_variable("cut", {4, 2}, {.partitioner = tf::fixed_size_partitioner(2)});
             }),
             "NotImplementedError", "partitioned", "net/cut", "partitioner");
  CHECK_SAYS(
      error_text([&] { tf::get_variable("loose", {.initializer = any, .validate_shape = false}); }),
      "ValueError", "cannot be staged", "net/loose", "fully known");
  CHECK_SAYS(error_text([&] {
               const tf::parallel::Towers towers(opt,
                                                 [](int, const std::string&) {
                                                   const tf::Variable own(tf::ones({2}),
                                                                          {.name = "own"});
                                                   return tf::reduce_sum(own);
                                                 },
                                                 {.staged_variables = true});
             }),
             "no variable is staged");
}

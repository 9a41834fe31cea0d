// Loss scales: nodes and training steps as TensorFlow's (golden/make_loss_scale.py), towers, the
// open scopes of gradients, checkpoints.
#include "train/loss_scale.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>

#include "core/graph/scopes.h"
#include "core/runtime/session.h"
#include "ops/array/gather.h"
#include "ops/array/placeholder.h"
#include "ops/array/view.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/variables/initialization.h"
#include "ops/variables/initializers.h"
#include "ops/variables/variable_scope.h"
#include "parallel/towers.h"
#include "tests/train/golden_nodes.h"
#include "train/global_step.h"
#include "train/gradient_scope.h"
#include "train/loss_scale_optimizer.h"

using namespace towerflow;
using testing::node_lines;
using train::experimental::DynamicLossScale;
using train::experimental::FixedLossScale;
using train::experimental::LossScaleChoice;
using train::experimental::MixedPrecisionLossScaleOptimizer;

namespace {

using MakeScale = std::function<LossScaleChoice()>;

LossScaleChoice fixed() { return 128; }
LossScaleChoice dynamic() {
  return std::make_shared<DynamicLossScale>(train::experimental::DynamicLossScaleOptions{
      .initial_loss_scale = 4, .increment_period = 2, .multiplier = 3});
}
LossScaleChoice large() {
  return std::make_shared<DynamicLossScale>(train::experimental::DynamicLossScaleOptions{
      .initial_loss_scale = 0x1p127, .increment_period = 1});
}

std::string golden(const char* name) {
  std::ifstream file(std::string("tests/train/golden/") + name);
  REQUIRE(file);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> sorted_lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

/// The program of golden/make_loss_scale.py.
struct Program {
  Graph graph;
  DefaultGraphGuard guard{graph};
  Tensor x = placeholder(float32, {.shape = Shape{}, .name = "x"});
  Variable w{1.0F, {.name = "w"}};
  Variable rows{Operand{{1.0F, 2.0F}, {3.0F, 4.0F}}, {.name = "rows"}};
  std::vector<Variable> all;
  std::optional<Operation> train_op;
  std::string names;

  explicit Program(const MakeScale& scale, bool rows_too = true) {
    Tensor loss = w * x;
    if (rows_too) loss = loss + reduce_sum(gather(rows, {1, 1}));
    const Variable step = train::create_global_step();
    MixedPrecisionLossScaleOptimizer opt(train::MomentumOptimizer(0.5, 0.5), scale());
    train_op = opt.minimize(loss, {.global_step = step});
    all = {w, rows, step};
    for (const Variable& variable : opt.variables()) {
      all.push_back(variable);
      names += (names.empty() ? "" : ", ") + variable.name();
    }
  }

  /// Returns the values of all variables, in one line.
  std::string values(Session& session) const {
    std::string line;
    for (const Variable& variable : all) {
      const Array value = session.run(variable);
      for (std::int64_t i = 0; i < value.elements(); ++i) {
        const double number = value.dtype() == DType::int64
                                  ? static_cast<double>(value.data<std::int64_t>()[i])
                                  : static_cast<double>(value.data<float>()[i]);
        line += std::isnan(number) ? " nan" : fmt::format(" {:.9g}", number);
      }
    }
    return line;
  }
};

}  // namespace

TEST_CASE("a loss scale adds TensorFlow's nodes") {
  std::string found;
  for (const MakeScale& scale : {MakeScale(fixed), MakeScale(dynamic)}) {
    const Program program(scale, false);
    if (!found.empty()) found += "\n";
    found += node_lines(program.graph, 0) + "variables: " + program.names + "\n";
  }
  // The order differs: a Switch is made before what takes it, in TensorFlow after that.
  const std::vector<std::string> expected = sorted_lines(golden("loss_scale_nodes.txt"));
  const std::vector<std::string> ours = sorted_lines(found);
  REQUIRE(ours.size() == expected.size());
  for (std::size_t i = 0; i < ours.size(); ++i) CHECK(ours[i] == expected[i]);
}

TEST_CASE("steps with a loss scale give TensorFlow's numbers") {
  std::istringstream expected(golden("loss_scale_steps.txt"));
  std::string line, last;
  std::unique_ptr<Program> program;
  std::unique_ptr<Session> session;
  while (std::getline(expected, line)) {
    std::istringstream words(line);
    std::string scale, number;
    words >> scale >> number;
    if (scale != last) {
      session.reset();
      program.reset();  // its graph has to be closed before the next opens
      program = std::make_unique<Program>(scale == "fixed"     ? fixed
                                          : scale == "dynamic" ? dynamic
                                                               : large);
      session = std::make_unique<Session>();
      session->run(global_variables_initializer());
      last = scale;
    }
    session->run(*program->train_op, {{program->x, std::stof(number)}});
    CHECK(scale + " " + number + program->values(*session) == line);
  }
  session.reset();
}

TEST_CASE("towers with a loss scale take the step together or not at all") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = Shape{2}, .name = "x"});
  MixedPrecisionLossScaleOptimizer opt(train::GradientDescentOptimizer(1.0), dynamic());
  const parallel::Towers towers(
      opt,
      [&](int tower, const std::string&) {
        return get_variable("w", Shape{}, {.initializer = ones_initializer()}) * gather(x, tower);
      },
      {.num_towers = 2});
  Session session(graph, {.allow_soft_placement = true});
  session.run(global_variables_initializer());
  const auto step = [&](float first, float second) {
    session.run(towers.train_op, {{x, {first, second}}});
    const auto all = session.run(std::vector<Fetch>{graph.get_tensor_by_name("w:0"),
                                                    opt.variables()[0], opt.variables()[1]});
    return fmt::format("{} {} {}", all[0].item<float>(), all[1].item<float>(),
                       all[2].item<std::int64_t>());
  };
  CHECK(step(1, 3) == "-1 4 1");
  CHECK(step(INFINITY, 3) == "-1 1.3333334 0");
  CHECK(step(0, NAN) == "-1 1 0");
  CHECK(step(-1, -3) == "1 1 1");
}

TEST_CASE("a scope sees gradients without the scale, and decides what is applied") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w(1.0F, {.name = "w"});
  std::vector<GradAndVar> computed;
  MixedPrecisionLossScaleOptimizer opt(train::GradientDescentOptimizer(1.0), dynamic());
  std::optional<Operation> train_op;
  {
    const train::GradientScope scope(graph, {.applied =
                                                 [](std::vector<GradAndVar> pairs) {
                                                   pairs[0].grad =
                                                       pairs[0].grad->dense() * INFINITY;
                                                   return pairs;
                                                 },
                                             .computed =
                                                 [&](const std::vector<GradAndVar>& pairs) {
                                                   computed = pairs;
                                                   return pairs;
                                                 }});
    train_op = opt.minimize(w * 3.0F);
  }
  Session session;
  session.run(global_variables_initializer());
  CHECK(session.run(computed[0].grad->dense()).item<float>() == 3);
  session.run(*train_op);
  CHECK(session.run(w).item<float>() == 1);
  CHECK(session.run(opt.variables()[0]).item<float>() == doctest::Approx(4.0 / 3));
}

TEST_CASE("the optimizer below keeps its slots, options and errors") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w(1.0F, {.name = "w"}), other(1.0F, {.name = "other"});
  const auto below = std::make_shared<train::MomentumOptimizer>(0.5, 0.5);
  MixedPrecisionLossScaleOptimizer opt(below, "dynamic");
  CHECK(opt.get_name() == "Momentum");
  CHECK(opt.loss_scale().variables().size() == 2);
  const auto pairs = opt.compute_gradients(w * w);
  CHECK_FALSE(pairs[1].grad);
  CHECK_THROWS_WITH_AS(opt.apply_gradients({pairs[1]}),
                       doctest::Contains("No gradients provided for any variable: ['other:0']"),
                       ValueError);
  opt.apply_gradients(pairs, {.name = "named"});
  CHECK(opt.get_slot(w, "momentum")->name() == "w/Momentum:0");
  CHECK(opt.get_slot_names() == std::vector<std::string>{"momentum"});
  CHECK(graph.get_operation_by_name("named").type() == "NoOp");
  CHECK_THROWS_WITH_AS(opt.minimize(stop_gradient(w)), doctest::Contains("No gradients provided"),
                       ValueError);
}

TEST_CASE("scales that make no sense are refused") {
  Graph graph;
  const auto guard = graph.as_default();
  CHECK_THROWS_WITH_AS(FixedLossScale(0.5), doctest::Contains("must be at least 1"), ValueError);
  CHECK_THROWS_AS(FixedLossScale(NAN), ValueError);
  CHECK_THROWS_WITH_AS(DynamicLossScale({.increment_period = 0}),
                       doctest::Contains("increment_period must be positive, got 0"), ValueError);
  CHECK_THROWS_AS(DynamicLossScale({.initial_loss_scale = INFINITY}), ValueError);
  CHECK_THROWS_AS(DynamicLossScale({.multiplier = -2}), ValueError);
  CHECK(graph.size() == 0);
  CHECK_THROWS_WITH_AS(LossScaleChoice("static"),
                       doctest::Contains("Could not interpret loss scale identifier: static"),
                       ValueError);
  CHECK_THROWS_AS(
      MixedPrecisionLossScaleOptimizer(std::shared_ptr<train::Optimizer>(), LossScaleChoice(2)),
      ValueError);
  CHECK_THROWS_AS(MixedPrecisionLossScaleOptimizer(train::GradientDescentOptimizer(1.0),
                                                   std::shared_ptr<DynamicLossScale>()),
                  ValueError);
}

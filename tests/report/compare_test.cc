// Two trainings compared step by step: what is equal, what differs first, and by how much.
#include "report/compare.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "report/counterparts.h"
#include "tests/support/eager.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::array_of;

namespace {

struct Options {
  int towers = 1;
  double slope = 1;        ///< factor of the second layer
  double weight_rate = 1;  ///< factor of the gradients
  bool random = false;
};

/// A net of two layers on 8 examples, which the towers divide.
struct Program {
  explicit Program(const Options& options) {
    const auto default_graph = graph.as_default();
    tf::set_random_seed(5);
    const auto cpu = tf::device("/cpu:0");
    x = tf::placeholder(tf::float32, {.shape = {8, 3}, .name = "x"});
    const std::vector<Tensor> parts =
        options.towers == 1 ? std::vector<Tensor>{x} : tf::split(x, options.towers);
    tf::train::MomentumOptimizer opt(0.5, 0.9);
    const tf::parallel::Towers towers(
        opt,
        [&](int tower, const std::string&) {
          const Variable w = tf::get_variable("w", {3, 4});
          const Variable v = tf::get_variable("v", {4, 2});
          Tensor in = parts[static_cast<std::size_t>(tower)];
          if (options.random) in = tf::nn::dropout(in, 0.5);
          const Tensor h = tf::nn::relu(tf::matmul(in, w), {.name = "hidden"});
          const Tensor y = tf::matmul(h * options.slope, v, {.name = "out"});
          return options.weight_rate * tf::reduce_mean(tf::square(y - 1.0F));
        },
        {.num_towers = options.towers});
    run = {.step = {towers.train_op},
           .config = {.device_count = {{"CPU", options.towers}}, .allow_soft_placement = true},
           .feeds = [this](int step) -> Feeds {
             Array values(float32, Shape{8, 3});
             for (std::int64_t i = 0; i < 24; ++i) {
               values.data<float>()[i] = static_cast<float>((i * 7 * step) % 11) / 10.0F - 0.4F;
             }
             return {{x, values}};
           },
           .grads = towers.grads,
           .num_towers = options.towers};
    run.step.insert(run.step.end(), towers.losses.begin(), towers.losses.end());
  }

  Graph graph;
  Tensor x;
  ComparedRun run;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the distance of arrays in steps between values") {
  using report::array_distance;
  const auto of = [](std::vector<float> values) {
    const auto size = static_cast<std::int64_t>(values.size());
    return Array::of<float>(Shape{size}, values);
  };
  const float next = std::nextafter(1.0F, 2.0F), small = std::numeric_limits<float>::denorm_min();
  CHECK(array_distance(of({1, 2}), of({1, 2})).equal());
  CHECK(array_distance(of({1, 2}), of({next, 2})).ulps == 1);
  CHECK(array_distance(of({0.0F}), of({-0.0F})).ulps == 1);
  CHECK(array_distance(of({small}), of({-small})).ulps == 3);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(array_distance(of({nan}), of({nan})).equal());
  const auto found = array_distance(of({3, 0, 4}), of({3, 0, 4.5F}));
  CHECK(found.different == 1);
  CHECK(found.at == 2);
  CHECK(found.relative == doctest::Approx(0.5 / 4.5));
  CHECK(found.root_square == doctest::Approx(0.5 / 5));
  CHECK(array_distance(array_of(int32, {2}, {7, -3}), array_of(int32, {2}, {7, 4})).ulps == 7);
  Array one(float16, Shape{1}), two(float16, Shape{1});
  *static_cast<std::uint16_t*>(one.raw()) = 0x3C00;
  *static_cast<std::uint16_t*>(two.raw()) = 0x4000;
  CHECK(array_distance(one, two).ulps == 1024);
  CHECK(array_distance(one, two).relative == 0.5);
  CHECK(report::element_text(two, 0) == "2");
  CHECK_THROWS_AS(array_distance(of({1}), of({1, 2})), ValueError);
}

TEST_CASE("arrays are cut along an axis and joined again") {
  const Array whole = array_of(int32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const std::vector<Array> parts = report::cut(whole, 1, {1, 2});
  CHECK(parts[0] == array_of(int32, {2, 1}, {1, 4}));
  CHECK(parts[1] == array_of(int32, {2, 2}, {2, 3, 5, 6}));
  CHECK(report::joined(parts, 1) == whole);
  CHECK(report::index_text(whole.shape(), 5) == "[1, 2]");
  CHECK(report::element_text(whole, 5) == "6");
  CHECK_THROWS_AS(report::cut(whole, 1, {1, 1}), ValueError);
  CHECK_THROWS_AS(report::joined(parts, 0), ValueError);
}

TEST_CASE("the tower of an operation") {
  const auto place = report::place_in_tower("resnet_1/tower_1/conv/add", "tower");
  REQUIRE(place);
  CHECK(place->tower == 1);
  CHECK(place->rest == "conv/add");
  CHECK_FALSE(report::place_in_tower("tower_1", "tower"));
  CHECK_FALSE(report::place_in_tower("tower_x/add", "tower"));
  CHECK_FALSE(report::place_in_tower("conv/add", "tower"));
}

TEST_CASE("equal trainings are equal in all variables, on other devices and without passes") {
  Program a({.towers = 2}), b({.towers = 2});
  b.run.config = {.allow_soft_placement = true,
                  .simulated = {.count = 2},
                  .passes = {.fold_constants = false, .reuse_buffers = false}};
  const Comparison found = compare(a.run, b.run, {.steps = 3});
  CAPTURE(found.text());
  CHECK(found.equal());
  CHECK(found.variables == 4);  // with slots
  CHECK(found.losses == 2);
  CHECK(found.text() ==
        "All equal, bit for bit, over 3 steps: 4 variables and 2 fetched tensors.\n");
}

TEST_CASE("the first operation that differs is named") {
  Program a({.towers = 2}), b({.towers = 2, .slope = 1.0 + 1.2e-7});
  const Comparison found = compare(a.run, b.run, {.steps = 2});
  CAPTURE(found.text());
  CHECK(found.first_step == 1);
  REQUIRE(found.first);
  CHECK(found.first->name == "tower_0/mul/y:0");
  CHECK(found.first->op == "Const");
  CHECK(found.first->distance.ulps == 1);
  CHECK(found.first->tower_a == 0);
  CHECK(found.first->as_without_fetches);
  CHECK_FALSE(found.after.empty());
  CHECK(has(found.text(),
            "The first value that differs, in step 1, is\n  tower_0/mul/y:0, op Const"));
  CHECK(has(found.text(), "compare_test.cc:"));
  // A limit of one value at a time finds the same.
  CHECK(compare(a.run, b.run, {.bytes = 1}).first->name == "tower_0/mul/y:0");
}

TEST_CASE("a difference that is only in the backward pass") {
  Program a({.towers = 2}), b({.towers = 2, .weight_rate = 2});
  b.run.step = {b.run.step[0]};  // without the losses
  a.run.step = {a.run.step[0]};
  const Comparison found = compare(a.run, b.run);
  REQUIRE(found.first);
  CHECK(found.first->name == "tower_0/mul_1/x:0");
}

TEST_CASE("one tower against two: joined values, then the averaged gradients") {
  Program a({.towers = 1}), b({.towers = 2});
  const Comparison same = compare(a.run, b.run, {.steps = 2});
  CAPTURE(same.text());
  // Whether kernels for other sizes add in another order depends on the processor.
  for (const DifferentVariable& variable : same.after) CHECK(variable.distance.root_square < 1e-6);
  if (same.first) CHECK(same.first->distance.root_square < 1e-6);
  Program dropped({.towers = 1, .random = true}), dropped_twice({.towers = 2, .random = true});
  const Comparison found = compare(dropped.run, dropped_twice.run);
  CAPTURE(found.text());
  REQUIRE(found.first);
  CHECK(found.first->op == "RandomUniform");
  CHECK(found.first->joined);
  CHECK(found.first->shape == Shape{8, 3});
  CHECK(found.first->tower_b == 1);
  CHECK(found.losses == 0);
}

TEST_CASE("variables of one side are listed, and steps are checked") {
  Program a({}), b({});
  {
    const auto default_graph = b.graph.as_default();
    tf::get_variable("more", {2});
  }
  const Comparison found = compare(a.run, b.run);
  CHECK(found.equal());
  CHECK(found.only_b == std::vector<std::string>{"more:0"});
  CHECK(has(found.text(), "only B has them in this shape: more:0"));
  CHECK_THROWS_AS(compare(a.run, b.run, {.steps = 0}), ValueError);
  CHECK_THROWS_AS(compare({}, b.run), ValueError);
}

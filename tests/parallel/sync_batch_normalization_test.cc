// Batch normalization by the moments of all towers, against one tower with all examples, and its
// gradients against central differences.
#include "parallel/sync_batch_normalization.h"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "tests/support/error_text.h"
#include "tests/support/exact_array.h"
#include "tests/support/grad_check.h"
#include "towerflow/tf.h"

using namespace towerflow;

namespace {

using tf::parallel::Lockstep;
using tf::parallel::sync_batch_normalization;
using Options = layers::BatchNormalizationLayerOptions;
using Values = std::map<std::string, std::vector<double>>;

struct Case {
  std::string name;
  DType dtype;
  Shape example;  ///< of one example
  int axis = -1;
  double tolerance;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"float64 rows", DType::float64, {4}, -1, 1e-12},
      {"float64 images", DType::float64, {3, 2, 4}, -1, 1e-12},
      {"float64 images, channels first", DType::float64, {4, 3, 2}, 1, 1e-12},
      {"float32 rows", DType::float32, {4}, -1, 1e-6},
      {"float32 images, in one op in one tower", DType::float32, {3, 2, 4}, -1, 1e-6},
  };
  return all;
}

Array examples(const Case& one, std::int64_t count, std::uint64_t stream) {
  std::vector<Dim> dims{count};
  for (std::size_t i = 0; i < one.example.rank(); ++i) dims.push_back(one.example[i]);
  return test::exact_array(stream, Shape(dims), {.exponent = 1, .dtype = one.dtype});
}

std::vector<double> in_doubles(const Array& array) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    values.push_back(array.dtype() == DType::float32 ? array.data<float>()[i]
                                                     : array.data<double>()[i]);
  }
  return values;
}

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  double squares = 0, norm = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    squares += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return a.size() == b.size() ? std::sqrt(squares / std::max(norm, 1e-300)) : INFINITY;
}

/// Multiplies by a variable, so that a gradient passes through the normalization.
Tensor scaled(const Case& one, const Tensor& x) {
  const Variable w = tf::get_variable(
      "w", one.example,
      {.dtype = one.dtype,
       .initializer = tf::constant_initializer(examples(one, 1, 77).reshaped(one.example))});
  return x * w;
}

/// A sum over examples whose derivative differs from one output to the next.
Tensor sum_of(const Tensor& y, const Tensor& weights) {
  return tf::reduce_sum(tf::square(y - weights) * weights);
}

Options layer_options(const Case& one, layers::Training training) {
  return {.axis = one.axis,
          .momentum = 0.75,
          .gamma_initializer = tf::constant_initializer(1.5),
          .training = training,
          .name = "bn"};
}

/// Values of the outputs, the gradients and the averages after a step.
Values values_of(const std::vector<Tensor>& outputs, const Tensor& loss, bool colocate) {
  const std::vector<Variable> variables = tf::trainable_variables();
  train::GradientDescentOptimizer opt(0.1);
  const auto grads = opt.compute_gradients(loss, {.colocate_gradients_with_ops = colocate});
  Session session({.allow_soft_placement = true});
  session.run(tf::global_variables_initializer());
  Values values;
  values["y"] = in_doubles(session.run(tf::concat(outputs, 0)));
  values["loss"] = in_doubles(session.run(loss));
  for (const GradAndVar& pair : grads) {
    REQUIRE(pair.grad.has_value());
    values["d " + pair.var.op().name()] = in_doubles(session.run(pair.grad->dense()));
  }
  session.run(std::span<const Fetch>(tf::get_collection<Fetch>(tf::GraphKeys::UPDATE_OPS)));
  for (const char* name : {"bn/moving_mean", "bn/moving_variance"}) {
    for (const Variable& variable : tf::global_variables()) {
      if (variable.op().name() == name) values[name] = in_doubles(session.run(variable));
    }
  }
  return values;
}

constexpr std::int64_t kSizes[] = {3, 1, 4};

Values of_towers(const Case& one, bool fed) {
  Graph graph;
  const auto guard = graph.as_default();
  const auto cpu = tf::device("/cpu:0");
  const Lockstep towers({.num_towers = 3});
  std::vector<Tensor> weights;
  auto x = towers.each([&](int tower) {
    const std::int64_t size = kSizes[tower];
    const auto stream = static_cast<std::uint64_t>(tower);
    const auto given = [&](std::uint64_t at) {
      const Array value = examples(one, size, at);
      if (!fed) return tf::constant(value);
      std::vector<Dim> dims{Dim(tf::None)};
      for (std::size_t i = 0; i < one.example.rank(); ++i) dims.push_back(one.example[i]);
      return tf::placeholder_with_default(value, Shape(dims));
    };
    weights.push_back(given(10 + stream));
    return scaled(one, given(stream));
  });
  x = sync_batch_normalization(towers, x, layer_options(one, true));
  const auto losses = towers.each([&](int tower) {
    return sum_of(x[static_cast<std::size_t>(tower)], weights[static_cast<std::size_t>(tower)]);
  });
  return values_of(x, tf::add_n(losses), true);
}

Values of_one(const Case& one) {
  Graph graph;
  const auto guard = graph.as_default();
  const auto joined = [&](std::uint64_t first) {
    std::vector<Tensor> parts;
    for (std::uint64_t tower = 0; tower < 3; ++tower) {
      parts.push_back(tf::constant(examples(one, kSizes[tower], first + tower)));
    }
    Session session;
    return tf::constant(session.run(tf::concat(parts, 0)));
  };
  const Tensor x = scaled(one, joined(0));
  const Tensor y = tf::layers::batch_normalization(x, layer_options(one, true));
  return values_of({y}, sum_of(y, joined(10)), false);
}

}  // namespace

TEST_CASE("synchronised towers have the values and gradients of one tower with all examples") {
  for (const Case& one : cases()) {
    CAPTURE(one.name);
    const Values expected = of_one(one);
    CHECK(expected.size() == 7);
    for (const bool fed : {false, true}) {
      CAPTURE(fed);
      const Values ours = of_towers(one, fed);
      for (const auto& [key, value] : expected) {
        const std::string name = key;
        CAPTURE(name);
        CHECK(difference(ours.at(name), value) < one.tolerance);
      }
    }
  }
}

TEST_CASE("the gradients of synchronised towers are those of central differences") {
  const testing::Function outputs = [](const std::vector<Tensor>& xs) {
    const Lockstep towers(
        {.num_towers = static_cast<int>(xs.size()), .device = [](int) { return "/cpu:0"; }});
    const auto y = sync_batch_normalization(
        towers, xs, {.center = false, .scale = false, .training = true, .name = "bn"});
    return tf::concat(y, 0);
  };
  CHECK(testing::grad_check(
            outputs, {testing::random_doubles({3, 2}, 1), testing::random_between({2, 2}, 1, 3, 2),
                      testing::random_doubles({1, 2}, 3)}) == "");
  CHECK(testing::grad_check(outputs,
                            {testing::random_doubles({2, 2, 2, 2}, 4),
                             testing::random_between({1, 2, 2, 2}, 1, 2, 5)},
                            {.unknown_shapes = false}) == "");
}

TEST_CASE("the loss of one tower depends on the examples of the other") {
  Graph graph;
  const auto guard = graph.as_default();
  const Case& one = cases()[0];
  const Lockstep towers({.num_towers = 2});
  const auto x = towers.each(
      [&](int tower) { return tf::constant(examples(one, 3, static_cast<std::uint64_t>(tower))); });
  const auto y = sync_batch_normalization(towers, x, layer_options(one, true));
  const Tensor loss = tf::reduce_sum(y[0] * tf::constant(examples(one, 3, 9)));
  const auto grads = tf::gradients(loss, {x[0], x[1]});
  REQUIRE(grads[1].has_value());
  Session session({.allow_soft_placement = true});
  session.run(tf::global_variables_initializer());
  double norm = 0;
  for (const double d : in_doubles(session.run(grads[1]->dense()))) norm += d * d;
  CHECK(norm > 1e-4);
}

TEST_CASE("gradients of each tower, averaged, are those of the mean loss") {
  Graph graph;
  const auto guard = graph.as_default();
  const Case& one = cases()[1];
  const Lockstep towers({.num_towers = 2});
  auto x = towers.each([&](int tower) {
    return scaled(one, tf::constant(examples(one, 2, static_cast<std::uint64_t>(tower))));
  });
  x = sync_batch_normalization(towers, x, layer_options(one, true));
  const auto losses = towers.each([&](int tower) {
    return sum_of(x[static_cast<std::size_t>(tower)],
                  tf::constant(examples(one, 2, 10 + static_cast<std::uint64_t>(tower))));
  });
  train::GradientDescentOptimizer opt(0.1);
  const auto of_mean = opt.compute_gradients(tf::add_n(losses) / 2.0);
  std::vector<std::vector<GradAndVar>> tower_grads;
  for (const Tensor& loss : losses) tower_grads.push_back(opt.compute_gradients(loss));
  const auto averaged = tf::average_gradients(tower_grads);
  Session session({.allow_soft_placement = true});
  session.run(tf::global_variables_initializer());
  REQUIRE(of_mean.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(difference(in_doubles(session.run(averaged[i].grad->dense())),
                     in_doubles(session.run(of_mean[i].grad->dense()))) < 1e-12);
  }
}

TEST_CASE("synchronised towers: names, devices and the list of updates") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto cpu = tf::device("/cpu:0");
  const Lockstep towers({.num_towers = 2, .name = "replica"});
  CHECK(towers.scopes() == std::vector<std::string>{"replica_0/", "replica_1/"});
  const Case& one = cases()[4];
  const auto x = towers.each([&](int) { return tf::constant(examples(one, 2, 1)); });
  std::vector<Tensor> y;
  {
    const auto vars = tf::variable_scope("net");
    y = sync_batch_normalization(towers, x, layer_options(one, true));
  }
  CHECK(y[1].name() == "replica_1/net/bn/batchnorm/add_1:0");
  CHECK(y[1].device() == "/device:GPU:1");
  std::vector<std::string> names;
  for (const Variable& variable : tf::global_variables()) names.push_back(variable.op().name());
  CHECK(names == std::vector<std::string>{"net/bn/gamma", "net/bn/beta", "net/bn/moving_mean",
                                          "net/bn/moving_variance"});
  const auto updates = tf::get_collection<Operation>(tf::GraphKeys::UPDATE_OPS);
  REQUIRE(updates.size() == 2);
  CHECK(updates[0].name() == "net/bn/AssignMovingAvg");
  CHECK(updates[0].device() == "/device:CPU:0");
  for (const Operation& op : graph.get_operations()) {
    const auto in = [&](const char* scope) { return op.name().starts_with(scope); };
    const std::string name = op.name();
    if (name.find("/Initializer/") != std::string::npos) continue;
    CAPTURE(name);
    CHECK(op.device() == (in("replica_0/")   ? "/device:GPU:0"
                          : in("replica_1/") ? "/device:GPU:1"
                                             : "/device:CPU:0"));
  }
  ConfigProto config{.allow_soft_placement = true};
  config.simulated = {.count = 2};
  Session session(graph, config);
  session.run(tf::global_variables_initializer());
  CHECK(session.run({y[0], y[1]})[0] == session.run({y[0], y[1]})[1]);
}

TEST_CASE("synchronised towers that do not train use and keep the moving averages") {
  for (const Case& one : cases()) {
    CAPTURE(one.name);
    Graph graph;
    const auto guard = graph.as_default();
    const Tensor training = tf::placeholder(tf::bool_, {.shape = Shape{}});
    const Lockstep towers({.num_towers = 2});
    const auto x = towers.each([&](int tower) {
      return tf::constant(examples(one, 2, static_cast<std::uint64_t>(tower)));
    });
    const auto y = sync_batch_normalization(towers, x, layer_options(one, training));
    Options again = layer_options(one, false);
    again.reuse = true;
    const Tensor expected = tf::layers::batch_normalization(x[1], again);
    again.training = true;
    const auto trained = sync_batch_normalization(towers, x, again);
    const auto still = [&] {
      Options options = layer_options(one, false);
      options.reuse = true;
      return sync_batch_normalization(towers, x, options);
    }();
    const auto updates = tf::get_collection<Fetch>(tf::GraphKeys::UPDATE_OPS);
    const std::vector<Fetch> own{updates[0], updates[1]};
    Session session({.allow_soft_placement = true});
    session.run(tf::global_variables_initializer());
    for (const bool trains : {false, true}) {
      const Feeds feeds{{training, trains}};
      const std::vector<double> found = in_doubles(session.run({y[1]}, feeds)[0]);
      CHECK(difference(found, in_doubles(session.run(trains ? trained[1] : expected))) <
            one.tolerance);
      CHECK(difference(in_doubles(session.run(still[1])), in_doubles(session.run(expected))) <
            one.tolerance);
      const Array before = session.run(expected);
      session.run(std::span<const Fetch>(own), feeds);
      CHECK((session.run(expected) == before) == !trains);
    }
  }
}

TEST_CASE("a synchronised tower without examples counts for nothing") {
  const Case& one = cases()[0];
  Graph graph;
  const auto guard = graph.as_default();
  const Lockstep towers({.num_towers = 3});
  const std::int64_t sizes[] = {3, 0, 2};
  const auto x = towers.each([&](int tower) {
    return tf::placeholder_with_default(
        examples(one, sizes[tower], static_cast<std::uint64_t>(tower)), Shape{Dim(tf::None), 4});
  });
  const auto y = sync_batch_normalization(towers, x, layer_options(one, true));
  const Lockstep two({.num_towers = 2, .name = "others"});
  Options again = layer_options(one, true);
  again.reuse = true;
  const auto expected = sync_batch_normalization(two, {x[0], x[2]}, again);
  const auto slope = [](const Tensor& loss, const Tensor& with) {
    return tf::gradients(loss, {with})[0]->dense();
  };
  const Tensor grad = slope(tf::reduce_sum(tf::square(tf::concat(y, 0) - 1.0)), x[0]);
  const Tensor expected_grad =
      slope(tf::reduce_sum(tf::square(tf::concat(expected, 0) - 1.0)), x[0]);
  Session session({.allow_soft_placement = true});
  session.run(tf::global_variables_initializer());
  CHECK(session.run(y[1]).elements() == 0);
  CHECK(difference(in_doubles(session.run(y[2])), in_doubles(session.run(expected[1]))) < 1e-12);
  CHECK(difference(in_doubles(session.run(grad)), in_doubles(session.run(expected_grad))) < 1e-12);
}

TEST_CASE("synchronised towers that cannot be made") {
  Graph graph;
  const auto guard = graph.as_default();
  CHECK_SAYS(testing::error_text([] { Lockstep({.num_towers = 0}); }), "ValueError",
             "num_towers must be at least 1, got 0");
  const Lockstep towers({.num_towers = 2});
  CHECK_SAYS(testing::error_text([&] {
               sync_batch_normalization(towers, {tf::ones({2, 3})}, {.name = "bn"});
             }),
             "ValueError", "1 inputs for 2 towers", "sync_batch_normalization_test.cc");
  CHECK_SAYS(testing::error_text([&] {
               sync_batch_normalization(towers, {tf::ones({2, 3}), tf::ones({2, 4})},
                                        {.training = true, .name = "bn"});
             }),
             "ValueError", "expected axis 1 of input shape to have value 3");
}

// The policies for update ops of several towers, against the arithmetic of moving averages written
// out in float64, and `merged` against one tower with the batches of all.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <map>

#include "tests/support/error_text.h"
#include "tests/support/exact_array.h"
#include "towerflow/tf.h"

using namespace towerflow;

namespace {

using Policy = UpdateOpsPolicy;

constexpr double kKept = 0.75;  // momentum
constexpr int kChannels = 3;

/// What a test builds a layer of.
struct Form {
  std::string name;
  DType dtype = DType::float32;
  bool image = true;  ///< a fused op, with an unbiased variance
  bool slim = false;
  double tolerance = 2e-6;
};

const std::vector<Form>& forms() {
  static const std::vector<Form> all{
      {"images, one op", DType::float32, true, false, 2e-6},
      {"images, float64", DType::float64, true, false, 1e-13},
      {"rows", DType::float64, false, false, 1e-13},
      {"slim, images", DType::float32, true, true, 2e-6},
      {"slim, rows", DType::float32, false, true, 2e-6},
  };
  return all;
}

/// Whether the layer is one op, whose variance is unbiased.
bool is_unbiased(const Form& form) {
  return form.dtype == DType::float32 && (form.image || form.slim);
}

Shape batch_shape(const Form& form, Dim size) {
  return form.image ? Shape{size, 2, 2, kChannels} : Shape{size, kChannels};
}

/// A batch of `size` examples whose moments depend on `stream`.
Array batch(const Form& form, std::int64_t size, std::uint64_t stream) {
  const Array raw = test::exact_array(stream, batch_shape(form, size), {.dtype = form.dtype});
  Array made(form.dtype, raw.shape());
  for (std::int64_t i = 0; i < raw.elements(); ++i) {
    const auto scaled = [&](auto x) { return (x + 1) * (1 + stream % 5) + i % kChannels; };
    if (form.dtype == DType::float32) made.data<float>()[i] = scaled(raw.data<float>()[i]);
    if (form.dtype == DType::float64) made.data<double>()[i] = scaled(raw.data<double>()[i]);
  }
  return made;
}

std::vector<double> doubles(const Array& array) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    values.push_back(array.dtype() == DType::float32 ? array.data<float>()[i]
                                                     : array.data<double>()[i]);
  }
  return values;
}

/// Mean and variance of each channel, computed in float64.
struct Found {
  std::vector<double> mean, variance;
};

Found moments_of(const std::vector<Array>& batches, bool unbiased) {
  Found found;
  for (int c = 0; c < kChannels; ++c) {
    std::vector<double> values;
    for (const Array& one : batches) {
      const std::vector<double> all = doubles(one);
      for (std::size_t i = static_cast<std::size_t>(c); i < all.size(); i += kChannels) {
        values.push_back(all[i]);
      }
    }
    double sum = 0, squares = 0;
    for (const double x : values) sum += x;
    const auto count = static_cast<double>(values.size());
    for (const double x : values) squares += (x - sum / count) * (x - sum / count);
    found.mean.push_back(sum / count);
    found.variance.push_back(squares / (unbiased ? count - 1 : count));
  }
  return found;
}

/// Towers of one batch normalization, and their update ops.
struct Net {
  Net(const Form& form, int towers, Dim size, bool fed = false) : guard(graph.as_default()) {
    if (fed) training = tf::placeholder(tf::bool_, {.shape = Shape{}});
    const auto vars = tf::variable_scope(tf::get_variable_scope());
    for (int i = 0; i < towers; ++i) {
      const auto device = tf::device("/gpu:" + std::to_string(i));
      const auto scope = tf::name_scope("tower_" + std::to_string(i));
      inputs.push_back(tf::placeholder(form.dtype, {.shape = batch_shape(form, size)}));
      normalize(form, inputs.back(), fed ? layers::Training(training) : layers::Training(true));
      tf::get_variable_scope().reuse_variables();
      updates.push_back(tf::get_collection<Fetch>(GraphKeys::UPDATE_OPS, scope));
    }
    for (const Variable& variable : tf::global_variables()) {
      if (variable.op().name().ends_with("moving_mean")) mean = variable;
      if (variable.op().name().ends_with("moving_variance")) variance = variable;
    }
  }

  static Tensor normalize(const Form& form, const Tensor& x, const layers::Training& training) {
    if (form.slim) {
      return tf::slim::batch_norm(
          x, {.reuse = tf::AUTO_REUSE, .decay = kKept, .is_training = training, .scope = "bn"});
    }
    return tf::layers::batch_normalization(
        x, {.momentum = kKept, .training = training, .name = "bn", .reuse = tf::AUTO_REUSE});
  }

  void start() {
    session.emplace(graph, ConfigProto{.allow_soft_placement = true});
    session->run(tf::global_variables_initializer());
  }
  void step(const std::vector<Fetch>& ops, const std::vector<Array>& batches, Feeds feeds = {}) {
    for (std::size_t i = 0; i < inputs.size(); ++i) feeds.emplace_back(inputs[i], batches[i]);
    session->run(std::span<const Fetch>(ops), feeds);
  }
  Found averages() { return {doubles(session->run(mean)), doubles(session->run(variance))}; }

  Graph graph;
  DefaultGraphGuard guard;
  Tensor training;  ///< whether a run trains, if it is fed
  std::vector<Tensor> inputs;
  std::vector<std::vector<Fetch>> updates;
  Variable mean, variance;
  std::optional<Session> session;
};

/// Returns the greatest relative distance of two lists.
double distance(const std::vector<double>& ours, const std::vector<double>& expected) {
  double most = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    most = std::max(most, std::abs(ours[i] - expected[i]) / std::abs(expected[i]));
  }
  return ours.size() == expected.size() ? most : INFINITY;
}

double distance(const Found& ours, const Found& expected) {
  return std::max(distance(ours.mean, expected.mean), distance(ours.variance, expected.variance));
}

/// Moves an average as a policy does, given each tower's moments and those of all values.
void move(std::vector<double>& average, const std::vector<std::vector<double>>& towers,
          const std::vector<double>& of_all, Policy policy) {
  for (std::size_t c = 0; c < average.size(); ++c) {
    const double before = average[c];
    const auto towards = [&](double value) { average[c] -= (average[c] - value) * (1 - kKept); };
    if (policy == Policy::first) towards(towers.front()[c]);
    if (policy == Policy::last) towards(towers.back()[c]);
    if (policy == Policy::merged) towards(of_all[c]);
    for (const auto& tower : towers) {
      if (policy == Policy::in_order) towards(tower[c]);
      if (policy == Policy::all) average[c] -= (before - tower[c]) * (1 - kKept);
    }
  }
}

}  // namespace

TEST_CASE("each policy moves the averages as its formula says") {
  for (const auto& [policy_name, policy] : tf::update_ops_policies()) {
    for (const Form& form : forms()) {
      for (const bool fixed : {true, false}) {
        const std::string name = fmt::format("{}, {}, sizes {}", policy_name, form.name,
                                             fixed ? "equal and known" : "different and fed");
        CAPTURE(name);
        Net net(form, 3, fixed ? Dim(4) : Dim(tf::None));
        const std::vector<Fetch> ops = tf::combine_update_ops(net.updates, policy);
        CHECK(ops.size() == (policy == Policy::all || policy == Policy::in_order ? 6 : 2));
        net.start();
        const bool unbiased = is_unbiased(form);
        Found expected = net.averages();
        for (std::uint64_t step = 0; step < 2; ++step) {
          std::vector<Array> batches;
          std::vector<std::vector<double>> means, variances;
          for (std::uint64_t i = 0; i < 3; ++i) {
            const auto size = fixed ? 4 : static_cast<std::int64_t>(3 + i);
            batches.push_back(batch(form, size, 10 * step + i + 1));
            const Found own = moments_of({batches.back()}, unbiased);
            means.push_back(own.mean);
            variances.push_back(own.variance);
          }
          const Found of_all = moments_of(batches, unbiased);
          move(expected.mean, means, of_all.mean, policy);
          move(expected.variance, variances, of_all.variance, policy);
          net.step(ops, batches);
        }
        CHECK(distance(net.averages(), expected) < form.tolerance);
      }
    }
  }
}

TEST_CASE("merged towers leave the averages of one tower with all their examples") {
  for (const Form& form : forms()) {
    CAPTURE(form.name);
    const std::vector<Array> batches{batch(form, 2, 3), batch(form, 2, 9), batch(form, 2, 6),
                                     batch(form, 2, 5)};
    Array joined(form.dtype, batch_shape(form, 8));
    std::size_t at = 0;
    for (const Array& one : batches) {
      std::memcpy(static_cast<char*>(joined.raw()) + at, one.raw(), one.bytes());
      at += one.bytes();
    }
    Net towers(form, 4, 2);
    const auto merged = tf::combine_update_ops(towers.updates, Policy::merged);
    towers.start();
    towers.step(merged, batches);
    const Found ours = towers.averages();
    Net whole(form, 1, 8);
    const auto own = tf::combine_update_ops(whole.updates, Policy::merged);
    CHECK(own.size() == 2);
    CHECK(own[0].operation() == whole.updates[0][0].operation());
    whole.start();
    whole.step(own, {joined});
    CHECK(distance(ours, whole.averages()) < form.tolerance);
  }
}

TEST_CASE("merged: a tower without examples counts for nothing") {
  for (const Form& form : forms()) {
    CAPTURE(form.name);
    Net net(form, 3, Dim(tf::None));
    const auto merged = tf::combine_update_ops(net.updates, Policy::merged);
    net.start();
    const std::vector<Array> batches{batch(form, 3, 2), batch(form, 0, 0), batch(form, 2, 7)};
    Found expected = net.averages();
    const Found of_all = moments_of(batches, is_unbiased(form));
    move(expected.mean, {}, of_all.mean, Policy::merged);
    move(expected.variance, {}, of_all.variance, Policy::merged);
    net.step(merged, batches);
    CHECK(distance(net.averages(), expected) < form.tolerance);
  }
}

TEST_CASE("a run that does not train leaves the averages as they are") {
  for (const Form& form : forms()) {
    for (const Policy policy : {Policy::all, Policy::in_order, Policy::merged}) {
      CAPTURE(form.name);
      Net net(form, 2, 4, /*fed=*/true);
      const std::vector<Fetch> ops = tf::combine_update_ops(net.updates, policy);
      net.start();
      const Found before = net.averages();
      const std::vector<Array> batches{batch(form, 4, 2), batch(form, 4, 3)};
      net.step(ops, batches, {{net.training, false}});
      CHECK(net.averages().mean == before.mean);
      CHECK(net.averages().variance == before.variance);
      net.step(ops, batches, {{net.training, true}});
      Found expected = before;
      const bool unbiased = is_unbiased(form);
      const Found first = moments_of({batches[0]}, unbiased),
                  last = moments_of({batches[1]}, unbiased);
      const Found of_all = moments_of(batches, unbiased);
      move(expected.mean, {first.mean, last.mean}, of_all.mean, policy);
      move(expected.variance, {first.variance, last.variance}, of_all.variance, policy);
      CHECK(distance(net.averages(), expected) < form.tolerance);
    }
  }
}

TEST_CASE("a layer that each tower calls twice merges its first calls and its second ones") {
  const Form form = forms()[0];
  Graph graph;
  const auto guard = graph.as_default();
  const auto build = [&](int towers, const std::vector<std::vector<Array>>& data) {
    std::vector<std::vector<Fetch>> updates;
    for (int i = 0; i < towers; ++i) {
      const auto scope = tf::name_scope(fmt::format("of_{}", towers));
      const layers::BatchNormalization layer({.momentum = kKept,
                                              .training = true,
                                              .name = fmt::format("bn_{}", towers),
                                              .reuse = tf::AUTO_REUSE,
                                              .scope = fmt::format("bn_{}", towers)});
      for (const Array& one : data[static_cast<std::size_t>(i)]) layer(tf::constant(one));
      updates.emplace_back();
      for (const Operation& update : layer.updates()) updates.back().emplace_back(update);
    }
    return tf::combine_update_ops(updates, Policy::merged);
  };
  const auto together = [&](const Array& one, const Array& other) {
    return Session().run(tf::concat({tf::constant(one), tf::constant(other)}, 0));
  };
  const std::vector<std::vector<Array>> of_two{{batch(form, 3, 1), batch(form, 3, 2)},
                                               {batch(form, 3, 3), batch(form, 3, 4)}};
  const auto two = build(2, of_two);
  const auto one =
      build(1, {{together(of_two[0][0], of_two[1][0]), together(of_two[0][1], of_two[1][1])}});
  CHECK(two.size() == 4);
  CHECK(one.size() == 4);
  Session session({.allow_soft_placement = true});
  session.run(tf::global_variables_initializer());
  session.run(std::span<const Fetch>(two));
  session.run(std::span<const Fetch>(one));
  std::map<std::string, std::vector<double>> values;
  for (const Variable& variable : tf::global_variables()) {
    values[variable.op().name()] = doubles(session.run(variable));
  }
  for (const char* name : {"moving_mean", "moving_variance"}) {
    CHECK(distance(values[fmt::format("bn_2/{}", name)], values[fmt::format("bn_1/{}", name)]) <
          form.tolerance);
  }
}

TEST_CASE("all adds what other updates than averages add, and repeats what they assign") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable v = tf::get_variable("v", {2}, {.initializer = tf::ones_initializer()});
  std::vector<std::vector<Fetch>> updates;
  for (const double x : {10.0, 20.0}) updates.push_back({tf::assign_add(v, x * v).op()});
  const auto all = tf::combine_update_ops(updates, Policy::all);
  const Variable w = tf::get_variable("w", {2}, {.initializer = tf::ones_initializer()});
  const auto assigned = tf::combine_update_ops(
      {{tf::assign(w, w + 1.0).op()}, {tf::assign(w, w + 4.0).op()}}, Policy::all);
  Session session;
  session.run(tf::global_variables_initializer());
  session.run(std::span<const Fetch>(all));
  session.run(std::span<const Fetch>(assigned));
  CHECK(session.run(v).data<float>()[0] == 31.0F);
  CHECK(session.run(w).data<float>()[1] == 5.0F);
  CHECK(all[0].operation().name() == "update_averaging/AssignAdd");
  session.run(tf::global_variables_initializer());
  session.run(std::span<const Fetch>(tf::combine_update_ops(updates, Policy::in_order)));
  CHECK(session.run(v).data<float>()[0] == 231.0F);
}

TEST_CASE("what cannot be combined is an error that names the op") {
  CHECK_SAYS(testing::error_text([] { tf::combine_update_ops({}, Policy::first); }), "ValueError",
             "at least one tower");
  Net net(forms()[0], 2, 4);
  // As in a loop that collects without a scope.
  const std::vector<Fetch> so_far{net.updates[0][0], net.updates[1][0]};
  for (const auto& [name, policy] : tf::update_ops_policies()) {
    const Policy chosen = policy;
    CHECK_SAYS(testing::error_text([&] {
                 tf::combine_update_ops({net.updates[0], so_far}, chosen);
               }),
               "ValueError", "tower 0 and tower 1 both list the update tower_0/bn/AssignMovingAvg",
               "update_ops_test.cc", "with the scope of its tf::name_scope");
  }
  const Variable v = tf::get_variable("v", {2}, {.initializer = tf::ones_initializer()});
  const std::vector<std::vector<Fetch>> own{{tf::assign_add(v, {1.0F, 2.0F}).op()},
                                            {tf::scatter_add(v, 0, 1.0).op()}};
  CHECK_SAYS(testing::error_text([&] { tf::combine_update_ops(own, Policy::all); }), "ValueError",
             "ScatterAdd cannot be postponed", "UpdateOpsPolicy::in_order");
  CHECK_SAYS(testing::error_text([&] { tf::combine_update_ops(own, Policy::merged); }),
             "ValueError", "AssignAdd cannot be merged", "add_batch_moments");
}

TEST_CASE("merged towers must train together") {
  const Form form = forms()[0];
  Graph graph;
  const auto guard = graph.as_default();
  std::vector<std::vector<Fetch>> updates;
  for (int i = 0; i < 2; ++i) {
    const auto scope = tf::name_scope("tower_" + std::to_string(i));
    const Tensor training = tf::placeholder(tf::bool_, {.shape = Shape{}});
    Net::normalize(form, tf::constant(batch(form, 2, 1)), training);
    updates.push_back(tf::get_collection<Fetch>(GraphKeys::UPDATE_OPS, scope));
  }
  CHECK_SAYS(testing::error_text([&] { tf::combine_update_ops(updates, Policy::merged); }),
             "ValueError", "different ways whether bn/moving_mean:0 trains", "before the loop");
}

TEST_CASE("a layer of a program's own records its moments and is merged") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable mean = tf::get_variable(
      "moving_mean", {kChannels}, {.initializer = tf::zeros_initializer(), .trainable = false});
  const Variable variance = tf::get_variable(
      "moving_variance", {kChannels}, {.initializer = tf::ones_initializer(), .trainable = false});
  const Form form = forms()[2];
  const std::vector<Array> batches{batch(form, 3, 4), batch(form, 3, 8)};
  std::vector<std::vector<Fetch>> updates;
  for (const Array& one : batches) {
    const Tensor x = tf::cast(tf::constant(one), tf::float32);
    const nn::Moments found = tf::nn::moments(x, {0});
    const auto move_towards = [&](const Variable& average, const Tensor& value) {
      return tf::train::assign_moving_average(average, value, kKept, {.zero_debias = false}).op();
    };
    const Operation of_mean = move_towards(mean, found.mean);
    const Operation of_variance = move_towards(variance, found.variance);
    tf::layers::add_batch_moments({.moving_mean = mean,
                                   .moving_variance = variance,
                                   .sample = {found.mean, found.variance, x, {0}},
                                   .momentum = kKept,
                                   .mean_update = of_mean,
                                   .variance_update = of_variance});
    updates.push_back({of_mean, of_variance});
  }
  const auto merged = tf::combine_update_ops(updates, Policy::merged);
  Session session;
  session.run(tf::global_variables_initializer());
  session.run(std::span<const Fetch>(merged));
  Found expected{std::vector<double>(kChannels, 0.0), std::vector<double>(kChannels, 1.0)};
  const Found of_all = moments_of(batches, false);
  move(expected.mean, {}, of_all.mean, Policy::merged);
  move(expected.variance, {}, of_all.variance, Policy::merged);
  CHECK(distance({doubles(session.run(mean)), doubles(session.run(variance))}, expected) < 2e-6);
}

// What makes several towers differ from one big batch, measured: each cause in a program of its
// own.
#include "report/equivalence.h"

#include <doctest/doctest.h>

#include "towerflow/tf.h"

using namespace towerflow;

namespace {

/// Builds the loss of one tower on its examples [n, 6].
using Loss = std::function<Tensor(const Tensor& x)>;

struct Options {
  std::vector<std::int64_t> sizes{12};
  AveragePolicy policy = AveragePolicy::mean_over_present;
  bool clip_in_tower = false, clip_mean = false;
};

/// A training of 12 examples, which the towers divide.
struct Program {
  Program(const Loss& loss, const Options& options) {
    const auto default_graph = graph.as_default();
    tf::set_random_seed(3);
    const auto cpu = tf::device("/cpu:0");
    const Tensor x = tf::constant(examples());
    const std::vector<Tensor> parts =
        options.sizes.size() == 1 ? std::vector<Tensor>{x} : tf::split(x, options.sizes);
    tf::train::GradientDescentOptimizer opt(0.1);
    std::vector<Tensor> losses;
    std::vector<std::vector<GradAndVar>> tower_grads;
    {
      const auto vars = tf::variable_scope(tf::get_variable_scope());
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto scope = tf::name_scope("tower_" + std::to_string(i));
        losses.push_back(loss(parts[i]));
        tf::get_variable_scope().reuse_variables();
        tower_grads.push_back(opt.compute_gradients(losses.back()));
        if (options.clip_in_tower) clip(tower_grads.back());
      }
    }
    std::vector<GradAndVar> grads = tf::average_gradients(tower_grads, {.policy = options.policy});
    if (options.clip_mean) clip(grads);
    const Operation train_op = opt.apply_gradients(grads);
    run = {.run = {.step = {train_op},
                   .config = {.allow_soft_placement = true},
                   .grads = grads,
                   .num_towers = static_cast<int>(parts.size())},
           .trained = {{"loss", losses, train_op}},
           .tower_sizes = options.sizes};
  }

  static Array examples() {
    Array x(float32, Shape{12, 6});
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      x.data<float>()[i] = static_cast<float>((i * i * 5 + 3 * i) % 17) / 8.0F - 1.0F;
    }
    return x;
  }

  static void clip(std::vector<GradAndVar>& grads) {
    for (GradAndVar& pair : grads) pair.grad = tf::clip_by_norm(pair.grad->dense(), 0.01);
  }

  Graph graph;
  EquivalenceRun run;
};

Tensor layer(const Tensor& x) { return tf::matmul(x, tf::get_variable("w", {6, 3})); }

Tensor mean_loss(const Tensor& x) { return tf::reduce_mean(tf::square(layer(x) - 1.0F)); }

Equivalence measure(const Loss& loss, Options options = {.sizes = {4, 4, 4}}) {
  Options one = options;
  one.sizes = {12};
  Program alone(loss, one), several(loss, options);
  return equivalence(alone.run, several.run);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("means and weight decay are as in one big batch") {
  const Equivalence found = measure([](const Tensor& x) {
    const Tensor mean = mean_loss(x);
    const Variable w = tf::trainable_variables()[0];
    return tf::add_n({mean, 0.1 * tf::nn::l2_loss(w)});
  });
  CAPTURE(found.text());
  CHECK(found.equal());
  REQUIRE(found.terms.size() == 2);
  for (const EquivalenceTerm& term : found.terms) CHECK(term.difference < 1e-6);
  CHECK(has(found.text(), "The towers train as one big batch does"));
}

TEST_CASE("a sum over the batch counts 1/N in the mean of N towers") {
  const Equivalence found = measure([](const Tensor& x) {
    const Tensor y = layer(x);
    return tf::reduce_mean(tf::square(y - 1.0F)) + tf::reduce_sum(tf::square(y));
  });
  CAPTURE(found.text());
  REQUIRE(found.terms.size() == 2);
  CHECK(found.terms[0].equal());
  CHECK(found.terms[1].difference == doctest::Approx(2.0 / 3));
  CHECK(found.terms[1].factor == doctest::Approx(1.0 / 3));
  CHECK(found.terms[1].beside < 1e-5);
  CHECK(found.terms[1].value == doctest::Approx(1.0 / 3));
  CHECK(found.terms[1].causes.empty());
  CHECK(has(found.text(), "a sum over the batch"));
}

TEST_CASE(
    "batch normalization: its size, and nothing is left with the moments of the whole batch") {
  const Equivalence found = measure([](const Tensor& x) {
    const Tensor images = tf::reshape(layer(x), {-1, 1, 1, 3});
    const Tensor y = tf::slim::batch_norm(
        images, {.scale = true, .is_training = true, .fused = true, .scope = "bn"});
    return tf::reduce_mean(tf::square(y - tf::square(images)));
  });
  CAPTURE(found.text());
  REQUIRE(found.terms.size() == 1);
  CHECK(found.terms[0].difference > 0.01);
  REQUIRE(found.terms[0].causes.size() == 1);
  CHECK(found.terms[0].causes[0].what == "batch normalization");
  CHECK(found.terms[0].causes[0].count == 1);
  CHECK(found.terms[0].causes[0].left < 1e-4);
}

TEST_CASE("dropout: random numbers differ in the towers, and nothing is left without that") {
  const Equivalence found = measure(
      [](const Tensor& x) { return tf::reduce_mean(tf::square(tf::nn::dropout(layer(x), 0.5))); });
  CAPTURE(found.text());
  REQUIRE(found.terms[0].causes.size() == 1);
  CHECK(found.terms[0].causes[0].what == "random numbers");
  CHECK(found.terms[0].causes[0].left < 1e-5);
  CHECK(has(found.text(), "random numbers: 1 operations"));
}

TEST_CASE("uneven batches: a mean of means, unless the towers count by their examples") {
  const Equivalence found = measure(mean_loss, {.sizes = {6, 4, 2}});
  CAPTURE(found.text());
  CHECK(found.terms[0].difference > 0.01);
  CHECK(found.terms[0].weighted < 1e-6);
  CHECK(has(found.text(), "weighted by examples the difference is"));
}

TEST_CASE("clipping after the mean is as in one big batch, in each tower it is not") {
  const Equivalence after = measure(mean_loss, {.sizes = {4, 4, 4}, .clip_mean = true});
  CAPTURE(after.text());
  CHECK(after.equal());
  CHECK(has(after.text(), "clipping or scaling leaves"));
  const Equivalence in_tower = measure(mean_loss, {.sizes = {4, 4, 4}, .clip_in_tower = true});
  CAPTURE(in_tower.text());
  CHECK(in_tower.terms[0].equal());
  CHECK(in_tower.updates[0].applied > 1e-3);
  CHECK(has(in_tower.text(), "since it is not done after the mean"));
}

TEST_CASE("added gradients are N times those of one tower") {
  const Equivalence found = measure(mean_loss, {.sizes = {4, 4, 4}, .policy = AveragePolicy::sum});
  CAPTURE(found.text());
  CHECK(found.terms[0].equal());
  CHECK(found.updates[0].factor == doctest::Approx(3));
  CHECK(has(found.text(), "it is 3 times that of one tower"));
}

TEST_CASE("sparse gradients are as in one big batch") {
  const Equivalence found = measure([](const Tensor& x) {
    const Tensor rows = tf::cast(tf::floor(tf::abs(x) * 4.0), tf::int32);
    return tf::reduce_mean(
        tf::square(tf::gather(tf::get_variable("table", {8, 2}), tf::reshape(rows, {-1})) - 1.0F));
  });
  CAPTURE(found.text());
  CHECK(found.equal());
}

TEST_CASE("programs that cannot be compared") {
  Program one(mean_loss, {.sizes = {12}}), two(mean_loss, {.sizes = {6, 6}});
  CHECK_THROWS_AS(equivalence(two.run, two.run), ValueError);
  two.run.trained.clear();
  CHECK_THROWS_AS(equivalence(one.run, two.run), ValueError);
}

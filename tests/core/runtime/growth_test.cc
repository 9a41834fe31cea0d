// Large graphs of simple structure. Time or stack use that grows faster than the graph would make
// these tests take minutes or crash.
#include <doctest/doctest.h>
#include <pthread.h>

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "towerflow/tf.h"

namespace towerflow {
namespace {

/// Runs `work` on a stack of 256 KiB, which recursion along these graphs would overflow.
void run_on_small_stack(std::function<void()> work) {
  struct Job {
    std::function<void()> work;
    std::exception_ptr error;
  } job{std::move(work), nullptr};
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, 256 * 1024) == 0);
  pthread_t thread{};
  const auto run = [](void* given) -> void* {
    auto* mine = static_cast<Job*>(given);
    try {
      mine->work();
    } catch (...) {
      mine->error = std::current_exception();
    }
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, run, &job) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  if (job.error) std::rethrow_exception(job.error);
}

/// Runs a chain of `length` nodes on a fed 2.
float run_chain(int length, const std::function<Tensor(const Tensor&, int)>& next) {
  float result = 0;
  run_on_small_stack([&] {
    Graph graph;
    const auto as_default = graph.as_default();
    const Tensor x = placeholder(DType::float32, {.shape = Shape{1}});
    Tensor y = x;
    for (int i = 0; i < length; ++i) y = next(y, i);
    Session session({.intra_op_parallelism_threads = 1});
    result = session.run(y, {{x, Array::of<float>(Shape{1}, std::vector<float>{2})}}).item<float>();
  });
  return result;
}

TEST_CASE("a long chain of views is one value") {
  CHECK(run_chain(20000, [](const Tensor& x, int) { return identity(x); }) == 2);
  CHECK(run_chain(20000, [](const Tensor& x, int i) {
          return i % 2 == 0 ? stop_gradient(x) : reshape(x, {1});
        }) == 2);
  CHECK(run_chain(20000, [](const Tensor& x, int) {
          const auto beside = colocate_with(x.op());
          return identity(x);
        }) == 2);
}

TEST_CASE("a long chain of elementwise ops is fused piece by piece") {
  CHECK(run_chain(30000, [](const Tensor& x, int i) {
          return i % 2 == 0 ? negative(x) : nn::relu(negative(x));
        }) == 2);
}

TEST_CASE("a long chain of views of a variable sees the variable") {
  run_on_small_stack([] {
    Graph graph;
    const auto as_default = graph.as_default();
    const Variable w = get_variable("w", {1}, {.initializer = ones_initializer()});
    Tensor y = w;
    std::vector<Tensor> sums;
    for (int i = 0; i < 5000; ++i) {
      y = identity(y);
      if (i % 2 == 0) sums.push_back(y + 1.0f);  // may run late, as long as w is not written
    }
    const Tensor sum = add_n(sums);
    Session session;
    session.run(global_variables_initializer());
    CHECK(session.run(sum).item<float>() == 5000);
  });
}

TEST_CASE("a long chain of control inputs and a long initial value") {
  run_on_small_stack([] {
    Graph graph;
    const auto as_default = graph.as_default();
    Operation last = no_op();
    for (int i = 0; i < 20000; ++i) {
      const auto after = control_dependencies({last});
      last = no_op();
    }
    const Variable first = get_variable("first", {1}, {.initializer = ones_initializer()});
    Tensor value = first;
    for (int i = 0; i < 10000; ++i) value = identity(value);
    const Variable second(value, {.name = "second"});
    Session session;
    session.run(global_variables_initializer());
    session.run(last);
    CHECK(session.run(second).item<float>() == 1);
  });
}

TEST_CASE("many nodes side by side: sums, groups, gradients, fetches") {
  run_on_small_stack([] {
    constexpr int kMany = 10000;
    Graph graph;
    const auto as_default = graph.as_default();
    const Tensor x = placeholder(DType::float32, {.shape = Shape{1}});
    std::vector<Tensor> made;
    for (int i = 0; i < kMany; ++i) made.push_back(i % 2 == 0 ? nn::relu(x) : cumsum(x));
    const Tensor sum = add_n(made), row = concat(made, 0);
    const Tensor gradient = gradients({sum}, {x})[0]->dense();
    std::vector<Fetch> fetches(made.begin(), made.end());
    for (const Tensor& one : {sum, row, gradient}) fetches.emplace_back(one);
    fetches.emplace_back(group(made));
    Session session;
    const auto found =
        session.run(fetches, {{x, Array::of<float>(Shape{1}, std::vector<float>{2})}});
    CHECK(found[kMany].item<float>() == 2 * kMany);
    CHECK(found[kMany + 1].elements() == kMany);
    CHECK(found[kMany + 2].item<float>() == kMany);
    CHECK(found[kMany - 1].item<float>() == 2);
  });
}

TEST_CASE("many readers of one value that differ in an attribute alone, and as many that do not") {
  Graph graph;
  const auto as_default = graph.as_default();
  const Tensor x = placeholder(DType::float32, {.shape = Shape{1}});
  std::vector<Tensor> sums;
  for (int i = 0; i < 60000; ++i) {
    sums.push_back(nn::leaky_relu(x, static_cast<float>(i % 30000)));
  }
  const Tensor sum = add_n(sums);
  Session session({.intra_op_parallelism_threads = 1});
  const Feeds feeds{{x, Array::of<float>(Shape{1}, std::vector<float>{1})}};
  CHECK(session.run(sum, feeds).item<float>() == 60000);
  CHECK(session.plan_report(std::vector<Fetch>{sum}, feeds)
            .find("share: 30000 nodes replaced by an equal node") != std::string::npos);
}

TEST_CASE("many variables are initialised, trained and read") {
  constexpr int kMany = 1500;
  Graph graph;
  const auto as_default = graph.as_default();
  std::vector<Tensor> losses;
  for (int i = 0; i < kMany; ++i) {
    losses.push_back(
        square(get_variable("w_" + std::to_string(i), {1}, {.initializer = ones_initializer()})));
  }
  train::MomentumOptimizer optimizer(0.25, 0.5);
  const Operation step = optimizer.minimize(reduce_sum(add_n(losses)));
  Session session;
  session.run(global_variables_initializer());
  session.run(step);
  for (const Array& value : session.run(trainable_variables())) CHECK(value.item<float>() == 0.5f);
}

TEST_CASE("what waits for many effects waits for all of them, on whatever device they are") {
  Graph graph;
  const auto as_default = graph.as_default();
  const Variable v = get_variable("v", {}, {.initializer = zeros_initializer()});
  constexpr int kMany = 1000;
  std::vector<Operation> added;
  for (int i = 0; i < kMany; ++i) {
    const auto on = device(i % 2 == 0 ? "/cpu:0" : "/cpu:1");
    const Tensor drawn = random_uniform({}, {.minval = 1, .maxval = 1.0001f, .seed = 1});
    added.push_back(assign_add(v, floor(drawn)).op());
  }
  // Each read waits for all additions and for all earlier reads.
  std::vector<Tensor> seen;
  Operation last = group(added);
  for (int i = 0; i < kMany; ++i) {
    const auto after = control_dependencies({last});
    const auto on = device(i % 2 == 0 ? "/cpu:1" : "/cpu:0");
    seen.push_back(v.read_value() + 0.0f);
    last = group({seen.back().op(), last});
  }
  const Tensor least = reduce_min(stack(seen));
  for (const bool drop : {true, false}) {
    ConfigProto config;
    config.device_count = {{"CPU", 2}};
    config.passes.drop_unread = drop;
    Session session(config);
    session.run(global_variables_initializer());
    CHECK(session.run(least).item<float>() == kMany);
  }
}

TEST_CASE("a node that waits for what ever more effects are behind") {
  Graph graph;
  const auto as_default = graph.as_default();
  const Variable v = get_variable("v", {}, {.initializer = zeros_initializer()});
  constexpr int kMany = 1000;
  Tensor sum = constant(0.0f);
  std::vector<Operation> waiting;
  for (int i = 0; i < kMany; ++i) {
    sum = sum + random_uniform({}, {.seed = 1});
    const auto after = control_dependencies({sum});
    waiting.push_back(assign_add(v, 1.0f).op());
  }
  Session session;
  session.run(global_variables_initializer());
  session.run(group(waiting));
  CHECK(session.run(v).item<float>() == kMany);
}

TEST_CASE("one name many times, when its numbers are taken") {
  Graph graph;
  const auto as_default = graph.as_default();
  constexpr int kMany = 10000;
  for (int i = 1; i <= kMany; ++i) no_op({.name = "x_" + std::to_string(i)});
  CHECK(no_op({.name = "x"}).name() == "x");
  for (int i = 1; i <= kMany; ++i) {
    CHECK(no_op({.name = "X"}).name() == "X_" + std::to_string(kMany + i));
  }
}

}  // namespace
}  // namespace towerflow

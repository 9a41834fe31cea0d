// Bodies of loops in two parts, which run side by side.
#include "core/runtime/loop_stages.h"

#include <algorithm>

#include "core/graph/scopes.h"
#include "tests/ops/nn/support.h"
#include "tests/ops/ran.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

using namespace testing;  // NOLINT

constexpr int kRows = 64, kUnits = 128, kSteps = 9;

/// The state of two recurrent layers: a step, and the values of each.
using State = std::tuple<Tensor, Tensor, Tensor>;

Tensor weights(int seed) {
  Array value = random_array<float>({kUnits, kUnits}, static_cast<std::uint64_t>(seed));
  for (int i = 0; i < kUnits * kUnits; ++i) value.data<float>()[i] *= 0.1F;
  return constant(value);
}

Tensor initial(int seed) {
  return constant(random_array<float>({kRows, kUnits}, static_cast<std::uint64_t>(seed)));
}

/// Two layers, of which the second reads the first; `extra` is added to each.
template <class Condition, class Extra>
State layers(const Condition& condition, const Extra& extra) {
  const Tensor v = weights(1), w = weights(2);
  return while_loop(
      condition,
      [&](const Tensor& i, const Tensor& a, const Tensor& b) {
        const auto [to_a, to_b] = extra(i, a);
        const Tensor next = tanh(matmul(a, v) + to_a);
        return State{i + 1, next, tanh(matmul(b, w) + next + to_b)};
      },
      State{constant(0), initial(3), initial(4)});
}

State layers() {
  return layers(
      [](const Tensor& i, const Tensor&, const Tensor&) { return i < kSteps; },
      [](const Tensor&, const Tensor&) { return std::pair(constant(0.25F), constant(-0.5F)); });
}

/// Splits the body of the only loop that `fetch` needs.
std::optional<LoopStages> split_of(const Tensor& fetch, std::vector<Shape> shapes = {}) {
  PassLog log;
  const Fetch fetches[] = {fetch};
  const PlanGraph graph = build_plan_graph(fetches, {}, log);
  for (const PlanNode& node : graph.nodes) {
    if (node.loop == nullptr) continue;
    if (shapes.empty()) {
      for (std::size_t i = 0; i < node.loop->feeds.size(); ++i) {
        shapes.push_back(graph.spec(node.inputs[i]).shape);
      }
    }
    return split_body(*node.loop, shapes);
  }
  FAIL("there is no loop");
  return std::nullopt;
}

int living(const PlanGraph& graph, const std::string& op) {
  return static_cast<int>(
      std::count_if(graph.nodes.begin(), graph.nodes.end(),
                    [&](const PlanNode& node) { return !node.dead && node.op->name == op; }));
}

TEST_CASE("loops: layers are parts, and the second gets what it reads of the first") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto split = split_of(std::get<2>(layers()));
  REQUIRE(split);
  CHECK(split->in_second == std::vector<bool>{false, false, true});
  CHECK(living(split->first, "MatMul") == 1);
  CHECK(living(split->second, "MatMul") == 1);
  CHECK(living(split->first, "Tanh") == 1);
  CHECK(living(split->second, "Tanh") == 1);
  CHECK(split->crossing == std::vector<std::size_t>{1});  // the next value of `a`
  CHECK(split->passed.empty());
  CHECK(split->next == std::vector<int>{0, 1, 0});
}

TEST_CASE("loops: the second part may read what the first had before the iteration") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor v = weights(1), w = weights(2);
  const State end = while_loop(
      [](const Tensor& i, const Tensor&, const Tensor&) { return i < kSteps; },
      [&](const Tensor& i, const Tensor& a, const Tensor& b) {
        return State{i + 1, tanh(matmul(a, v)), tanh(matmul(b, w) + a + cast(i, float32))};
      },
      State{constant(0), initial(3), initial(4)});
  const auto split = split_of(std::get<2>(end));
  REQUIRE(split);
  CHECK(split->passed == std::vector<std::size_t>{1});
  CHECK(split->crossing.size() == 1);  // the number of the iteration as a float
}

TEST_CASE("loops: not split are small bodies, cycles, branches, and values that change shape") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto below = [](const Tensor& i, const Tensor&, const Tensor&) { return i < kSteps; };
  const auto nothing = [](const Tensor&, const Tensor&) {
    return std::pair(constant(0.0F), constant(0.0F));
  };
  const State small = while_loop(
      below,
      [](const Tensor& i, const Tensor& a, const Tensor& b) {
        return State{i + 1, a * 2, b + a};
      },
      State{constant(0), constant(1.0F), constant(2.0F)});
  CHECK_FALSE(split_of(std::get<2>(small)));
  // The condition reads the last layer: nothing can be behind.
  const State tested =
      layers([](const Tensor& i, const Tensor&,
                const Tensor& b) { return logical_and(i < kSteps, reduce_sum(b) < 1e6F); },
             nothing);
  CHECK_FALSE(split_of(std::get<2>(tested)));
  const Tensor w = weights(1);
  const State cycle = while_loop(
      below,
      [&](const Tensor& i, const Tensor& a, const Tensor& b) {
        return State{i + 1, tanh(matmul(b, w)), tanh(matmul(a, w))};
      },
      State{constant(0), initial(3), initial(4)});
  CHECK_FALSE(split_of(std::get<2>(cycle)));
  const State branches = layers(below, [](const Tensor& i, const Tensor&) {
    const Tensor number = cond(
        i < 3, [] { return constant(1.0F); }, [] { return constant(2.0F); });
    return std::pair(number, number);
  });
  CHECK_FALSE(split_of(std::get<2>(branches)));
  const State steady = layers(below, nothing);
  CHECK_FALSE(split_of(std::get<2>(steady), {Shape{}, Shape{None, kUnits}, Shape{kRows, kUnits}}));
}

TEST_CASE("loops: not split are bodies and conditions that use what other threads see") {
  Graph graph;
  const auto guard = graph.as_default();
  const FIFOQueue queue(100, {float32}, {.shapes = {Shape{}}});
  const auto below = [](const Tensor& i, const Tensor&, const Tensor&) { return i < kSteps; };
  const auto nothing = [](const Tensor&, const Tensor&) {
    return std::pair(constant(0.0F), constant(0.0F));
  };
  const State taking = layers(below, [&](const Tensor&, const Tensor&) {
    return std::pair(constant(0.0F), queue.dequeue()[0]);
  });
  CHECK_FALSE(split_of(std::get<2>(taking)));
  // The first part would ask for the size before the second has taken its element.
  const State asking = layers(
      [&](const Tensor&, const Tensor&, const Tensor&) { return queue.size() > 0; }, nothing);
  CHECK_FALSE(split_of(std::get<2>(asking)));
}

TEST_CASE("loops: the gradients of one array stay in one part") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor v = weights(1), w = weights(2);
  const TensorArray rows =
      TensorArray(float32, {.size = kSteps + 1, .clear_after_read = false})
          .unstack(constant(random_array<float>({kSteps + 1, kRows, kUnits}, 7)));
  // Each layer reads the array, the second an element that the first reads one iteration later.
  const State end = layers([](const Tensor& i, const Tensor&, const Tensor&) { return i < kSteps; },
                           [&](const Tensor& i, const Tensor&) {
                             return std::pair(matmul(rows.read(i), v), matmul(rows.read(i + 1), w));
                           });
  const auto found = gradients({reduce_sum(std::get<2>(end))}, {v, w});
  PassLog log;
  const Fetch fetches[] = {*found[0], *found[1]};
  const PlanGraph plan = build_plan_graph(fetches, {}, log);
  int loops = 0;
  for (const PlanNode& node : plan.nodes) {
    if (node.loop == nullptr) continue;
    ++loops;
    std::vector<Shape> shapes;
    for (std::size_t i = 0; i < node.loop->feeds.size(); ++i) {
      shapes.push_back(plan.spec(node.inputs[i]).shape);
    }
    const auto split = split_body(*node.loop, shapes);
    if (!split) continue;
    const int first = living(split->first, "TensorArrayWriteV3"),
              second = living(split->second, "TensorArrayWriteV3");
    CHECK(std::min(first, second) == 0);
  }
  CHECK(loops == 2);
}

ConfigProto with_threads(int threads, bool splits) {
  ConfigProto config;
  config.intra_op_parallelism_threads = threads;
  config.passes.split_loops = splits;
  return config;
}

TEST_CASE("loops: what the second part reads of the first is not overwritten by the first") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor v = weights(1), w = weights(2);
  // `sum` is computed in its memory, but its value before the iteration passes to the second part.
  const auto end =
      while_loop([](const Tensor& i, const auto&...) { return i < kSteps; },
                 [&](const Tensor& i, const Tensor& a, const Tensor& sum, const Tensor& b) {
                   const Tensor next = tanh(matmul(a, v));
                   return std::tuple{i + 1, next, sum + next, tanh(matmul(b, w) + sum)};
                 },
                 std::tuple{constant(0), initial(3), initial(5), initial(4)});
  const std::vector<Fetch> fetches{std::get<2>(end), std::get<3>(end)};
  const auto split = split_of(std::get<3>(end));
  REQUIRE(split);
  REQUIRE(split->in_second == std::vector<bool>{false, false, false, true});
  REQUIRE(split->passed == std::vector<std::size_t>{2});
  Tensor a = initial(3), sum = initial(5), b = initial(4);
  for (int i = 0; i < kSteps; ++i) {
    a = tanh(matmul(a, v));
    b = tanh(matmul(b, w) + sum);
    sum = sum + a;
  }
  Session whole(graph, with_threads(2, false)), split_in_two(graph, with_threads(2, true));
  const std::vector<Array> expected = whole.run(std::vector<Fetch>{sum, b});
  CHECK(whole.run(fetches) == expected);
  for (int i = 0; i < 20; ++i) CHECK(split_in_two.run(fetches) == expected);
}

TEST_CASE("loops: in two parts, on one core and on several, the same values and gradients") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto [step, a, b] = layers();
  std::vector<Tensor> xs;  // the weights, and the initial values
  for (const char* name : {"Const", "Const_1", "Const_3", "Const_4"}) {
    xs.push_back(graph.get_tensor_by_name(std::string(name) + ":0"));
    REQUIRE(xs.back().shape().rank() == 2);
  }
  std::vector<Fetch> fetches{step, a, b};
  for (const auto& gradient : gradients({reduce_sum(b)}, xs)) fetches.push_back(*gradient);
  Session whole(graph, with_threads(2, false));
  const std::vector<Array> expected = whole.run(fetches);
  for (const int threads : {1, 2, 3}) {
    CAPTURE(threads);
    Session session(graph, with_threads(threads, true));
    for (int i = 0; i < 20; ++i) CHECK(session.run(fetches) == expected);
    RunMetadata metadata;
    CHECK(session.run(fetches, {}, {.trace_level = RunOptions::FULL_TRACE}, &metadata) == expected);
    const auto products = std::count_if(
        metadata.nodes.begin(), metadata.nodes.end(),
        [](const NodeStats& stats) { return stats.op.find("MatMul") != std::string::npos; });
    CHECK(products == kSteps * 6);  // of two layers: the values, and two gradients
  }
}

TEST_CASE("loops: the error of the earliest iteration is thrown, whatever part it is in") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor four = constant(std::vector<float>(4, 0.5F)),
               five = constant(std::vector<float>(5, 0.5F));
  const auto forever = [](const Tensor&, const Tensor&, const Tensor&) { return constant(true); };
  const auto failing = [&](int first, int second) {
    return std::get<2>(layers(forever, [&](const Tensor& i, const Tensor&) {
      return std::pair(gather(four, i + (4 - first)), gather(five, i + (5 - second)));
    }));
  };
  const Tensor in_second = failing(3, 2), in_first = failing(2, 3);
  CHECK(split_of(in_second));
  for (const int threads : {1, 2}) {
    CAPTURE(threads);
    Session session(graph, with_threads(threads, true));
    for (int i = 0; i < 10; ++i) {
      CHECK_THROWS_WITH_AS(session.run(in_second), doctest::Contains("= 5 is not in [0, 5)"),
                           errors::InvalidArgumentError);
      CHECK_THROWS_WITH_AS(session.run(in_first), doctest::Contains("= 4 is not in [0, 4)"),
                           errors::InvalidArgumentError);
    }
  }
}

}  // namespace
}  // namespace towerflow

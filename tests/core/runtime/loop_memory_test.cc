// Loop variables whose next values are computed in their memory, such as sums over the iterations.
#include "tests/core/runtime/two_towers.h"
#include "tests/ops/nn/support.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

using namespace testing;  // NOLINT

constexpr int kSide = 8, kSteps = 5;

Array matrix(int seed) {
  return random_array<float>({kSide, kSide}, static_cast<std::uint64_t>(seed));
}

const auto below = [](const Tensor& i, const auto&...) { return i < kSteps; };

TEST_CASE("plans: a result may be in the memory of a feed that only its kernel reads") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32, {kSide, kSide}), y = placeholder(float32, {kSide, kSide});
  const Tensor row = placeholder(float32, {kSide});
  Runtime runtime(graph, {});
  const Feeds feeds{{x, matrix(1)}, {y, matrix(2)}, {row, random_array<float>({kSide}, 3)}};
  const auto in_memory_of = [&](const std::vector<Fetch>& fetches) {
    return runtime.compile(fetches, feeds).in_memory_of;
  };
  CHECK(in_memory_of({x + row}) == std::vector<int>{0});
  CHECK(in_memory_of({matmul(x, x) + y}) == std::vector<int>{1});
  CHECK(in_memory_of({matmul(x, y) + x}) == std::vector<int>{-1});        // x is read twice
  CHECK(in_memory_of({x + row, x}) == std::vector<int>{-1, -1});          // x is fetched
  CHECK(in_memory_of({identity(x) + x}) == std::vector<int>{-1});         // once more by a view
  CHECK(in_memory_of({row + x, row * 2}) == std::vector<int>{0, -1});     // row is read twice
  CHECK(in_memory_of({reshape(x + row, {-1})}) == std::vector<int>{-1});  // a view is fetched
  CHECK(in_memory_of({cast(x, float64)}) == std::vector<int>{-1});
}

TEST_CASE("plans: a result is in the memory of a feed only if nobody else holds that") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32, {kSide, kSide});
  Runtime runtime(graph, {});
  const Array start = matrix(1);
  const Plan plan = runtime.compile({x + 1}, {{x, start}});
  Frame frame(plan, runtime.devices, runtime.resources);
  const auto memory_of_result = [&](const std::vector<Array>& feeds, bool spends_feeds) {
    frame.begin(runtime.arenas, feeds, false, spends_feeds);
    const void* memory = frame.address(plan.fetches[0]);
    frame.end(runtime.arenas);
    return memory;
  };
  std::vector<Array> feeds{start.copy()};
  CHECK(memory_of_result(feeds, false) != feeds[0].raw());
  {
    const Array held = feeds[0];
    CHECK(memory_of_result(feeds, true) != feeds[0].raw());
  }
  CHECK(memory_of_result(feeds, true) == feeds[0].raw());
}

TEST_CASE("loops: sums in the memory of their variables are those of the unrolled loop") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor start = placeholder(float32, {kSide, kSide});
  const Tensor v = constant(matrix(2));
  // Two sums; the old value of one leaves each iteration by an array, and the other one reads it.
  const auto body = [&](const Tensor& i, const Tensor& sum, const Tensor& other,
                        const TensorArray& old) {
    return std::tuple{i + 1, sum + matmul(v, v), other + sum, old.write(i, sum)};
  };
  const auto looped = while_loop(
      below, body, std::tuple{constant(0), start, start, TensorArray(float32, {.size = kSteps})});
  std::vector<Tensor> values;
  Tensor sum = start, other = start;
  for (int i = 0; i < kSteps; ++i) {
    values.push_back(sum);
    std::tie(sum, other) = std::pair(sum + matmul(v, v), other + sum);
  }
  Session session(graph);
  const Tensor unrolled = stack(values);
  const Array fed = matrix(1), before = fed.copy();
  const std::vector<Fetch> fetches{std::get<1>(looped),         sum,     std::get<2>(looped), other,
                                   std::get<3>(looped).stack(), unrolled};
  for (int i = 0; i < 2; ++i) {
    const std::vector<Array> results = session.run(fetches, {{start, fed}});
    CHECK(results[0] == results[1]);
    CHECK(results[2] == results[3]);
    CHECK(results[4] == results[5]);
    CHECK(fed == before);
  }
}

TEST_CASE("loops: a variable that passes its value on is not overwritten before") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto fibonacci = while_loop(
      below,
      [](const Tensor& i, const Tensor& a, const Tensor& b) {
        return std::tuple{i + 1, b, a + b};
      },
      std::tuple{constant(0), constant(std::vector<int>{0, 10}), constant(std::vector<int>{1, 1})});
  const auto shifted = while_loop(
      below,
      [](const Tensor& i, const Tensor& a, const Tensor&) {
        return std::tuple{i + 1, a + 1, a};
      },
      std::tuple{constant(0), constant(std::vector<int>{3, 4}), constant(std::vector<int>{0, 0})});
  const auto same = while_loop(
      below,
      [](const Tensor& i, const Tensor& a, const Tensor&) {
        const Tensor next = a * 2;
        return std::tuple{i + 1, next, next};
      },
      std::tuple{constant(0), constant(std::vector<int>{1, 2}), constant(std::vector<int>{0, 0})});
  Session session(graph);
  const auto ends = [&](const auto& loop) {
    return session.run(std::vector<Fetch>{std::get<1>(loop), std::get<2>(loop)});
  };
  const auto pair = [](std::vector<int> a, std::vector<int> b) {
    return std::vector<Array>{Array::of<int>({2}, a), Array::of<int>({2}, b)};
  };
  for (int i = 0; i < 2; ++i) {
    CHECK(ends(fibonacci) == pair({5, 35}, {8, 58}));
    CHECK(ends(shifted) == pair({8, 9}, {7, 8}));
    CHECK(ends(same) == pair({32, 64}, {32, 64}));
  }
}

}  // namespace
}  // namespace towerflow

// Nodes of the public functions, with TensorFlow 2.21's names, and results of runs.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "core/graph/op_def.h"
#include "core/runtime/session.h"
#include "ops/array/constant.h"
#include "ops/array/shape_of.h"
#include "ops/array/view.h"
#include "ops/data_flow/queue.h"
#include "ops/random/attributes.h"
#include "ops/random/distributions.h"
#include "ops/random/guarded.h"
#include "ops/random/random_ops.h"
#include "tests/ops/random/golden.h"

using namespace towerflow;
using Lines = std::vector<std::string>;

namespace {

/// Returns "name Type(inputs) dtype shape" of each node from `first` on.
Lines nodes(const Graph& graph, std::size_t first = 0) {
  Lines lines;
  for (std::size_t i = first; i < graph.size(); ++i) {
    const Operation op = graph.operation(i);
    Lines inputs;
    for (const Tensor& input : op.inputs()) inputs.push_back(input.name());
    lines.push_back(fmt::format("{} {}({}) {} {}", op.name(), op.type(), fmt::join(inputs, ", "),
                                dtype_name(op.output(0).dtype()), op.output(0).shape().text()));
  }
  return lines;
}

random::Seeds seeds_of(const Graph& graph, const std::string& node) {
  return graph.get_operation_by_name(node).attrs().as<DrawAttrs>().seeds;
}

/// Returns the message of the E that `f` throws.
template <class E, class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error.message();
  }
  return "no error";
}

}  // namespace

TEST_CASE("random_uniform from 0 to 1 is one node besides its shape") {
  Graph graph;
  const auto guard = graph.as_default();
  CHECK(random_uniform({2, 3}).name() == "random_uniform/RandomUniform:0");
  CHECK(random_uniform(Shape{}, {.maxval = 1, .dtype = DType::float64, .name = "u"}).name() ==
        "u/RandomUniform:0");
  CHECK(nodes(graph) == Lines{"random_uniform/shape Const() int32 (2,)",
                              "random_uniform/RandomUniform RandomUniform(random_uniform/shape:0) "
                              "float32 (2, 3)",
                              "u/shape Const() int32 (0,)",
                              "u/RandomUniform RandomUniform(u/shape:0) float64 ()"});
  CHECK(seeds_of(graph, "u/RandomUniform") == random::Seeds{0, 0});
}

TEST_CASE("random_uniform scales by nodes, whose names depend on how the limits are written") {
  Graph graph;
  const auto guard = graph.as_default();
  CHECK(random_uniform({2, 3}, {.maxval = 5.0, .seed = 3}).name() == "random_uniform/Mul:0");
  CHECK(nodes(graph) ==
        Lines{"random_uniform/shape Const() int32 (2,)", "random_uniform/min Const() float32 ()",
              "random_uniform/max Const() float32 ()",
              "random_uniform/RandomUniform RandomUniform(random_uniform/shape:0) float32 (2, 3)",
              "random_uniform/Mul Mul(random_uniform/RandomUniform:0, random_uniform/max:0) "
              "float32 (2, 3)"});
  CHECK(seeds_of(graph, "random_uniform/RandomUniform") == random::Seeds{87654321, 3});

  const Lines general{"u/shape Const() int32 (2,)",
                      "u/min Const() float64 ()",
                      "u/max Const() float64 ()",
                      "u/RandomUniform RandomUniform(u/shape:0) float64 (2, 3)",
                      "u/sub Sub(u/max:0, u/min:0) float64 ()",
                      "u/mul Mul(u/RandomUniform:0, u/sub:0) float64 (2, 3)",
                      "u AddV2(u/mul:0, u/min:0) float64 (2, 3)"};
  std::size_t first = graph.size();
  CHECK(random_uniform({2, 3}, {.minval = -1, .maxval = 2, .dtype = DType::float64, .name = "u"})
            .name() == "u:0");
  CHECK(nodes(graph, first) == general);
  // As in TensorFlow, 0.0 does not count as the literal 0.
  first = graph.size();
  CHECK(random_uniform({2}, {.minval = 0.0, .name = "v"}).name() == "v:0");
  CHECK(graph.size() == first + general.size());
}

TEST_CASE("random_uniform of integers is one node with its limits") {
  Graph graph;
  const auto guard = graph.as_default();
  set_random_seed(4);
  CHECK(random_uniform({2, 3}, {.minval = -1, .maxval = 2, .dtype = DType::int32}).name() ==
        "random_uniform:0");
  random_uniform({2}, {.maxval = 7, .dtype = DType::int64, .seed = 3});
  CHECK(nodes(graph) ==
        Lines{"random_uniform/shape Const() int32 (2,)", "random_uniform/min Const() int32 ()",
              "random_uniform/max Const() int32 ()",
              "random_uniform RandomUniformInt(random_uniform/shape:0, random_uniform/min:0, "
              "random_uniform/max:0) int32 (2, 3)",
              "random_uniform_1/shape Const() int32 (1,)", "random_uniform_1/min Const() int64 ()",
              "random_uniform_1/max Const() int64 ()",
              "random_uniform_1 RandomUniformInt(random_uniform_1/shape:0, random_uniform_1/min:0, "
              "random_uniform_1/max:0) int64 (2,)"});
  CHECK(seeds_of(graph, "random_uniform") == random::Seeds{4, 0});
  CHECK(seeds_of(graph, "random_uniform_1") == random::Seeds{4, 3});
}

TEST_CASE("random_normal and truncated_normal scale by nodes") {
  Graph graph;
  const auto guard = graph.as_default();
  CHECK(random_normal({2, 3}).name() == "random_normal:0");
  CHECK(truncated_normal({4}, {.mean = 0.5, .stddev = 0.05, .seed = 5, .name = "t"}).name() ==
        "t:0");
  CHECK(nodes(graph) ==
        Lines{"random_normal/shape Const() int32 (2,)", "random_normal/mean Const() float32 ()",
              "random_normal/stddev Const() float32 ()",
              "random_normal/RandomStandardNormal RandomStandardNormal(random_normal/shape:0) "
              "float32 (2, 3)",
              "random_normal/mul Mul(random_normal/RandomStandardNormal:0, random_normal/stddev:0) "
              "float32 (2, 3)",
              "random_normal AddV2(random_normal/mul:0, random_normal/mean:0) float32 (2, 3)",
              "t/shape Const() int32 (1,)", "t/mean Const() float32 ()",
              "t/stddev Const() float32 ()",
              "t/TruncatedNormal TruncatedNormal(t/shape:0) float32 (4,)",
              "t/mul Mul(t/TruncatedNormal:0, t/stddev:0) float32 (4,)",
              "t AddV2(t/mul:0, t/mean:0) float32 (4,)"});
  CHECK(seeds_of(graph, "t/TruncatedNormal") == random::Seeds{87654321, 5});
}

TEST_CASE("scaled numbers are TensorFlow's, run after run") {
  // From tests/golden/programs/randoms.json, whose normals are compared within 2 ulp.
  Graph graph;
  const auto guard = graph.as_default();
  set_random_seed(1234);
  const Tensor uniform = random_uniform({2, 3}, {.minval = -1.0, .maxval = 1.0, .seed = 6});
  set_random_seed(87);
  const Tensor normal = random_normal({2, 2}, {.mean = 3.0, .stddev = 0.5});
  const Tensor truncated = truncated_normal({4}, {.mean = 1.0, .stddev = 0.05, .seed = 3});
  Session session(graph);
  const auto check = [&](const Tensor& op, const std::vector<float>& expected, std::uint64_t ulps) {
    const Array values = session.run(op);
    REQUIRE(values.elements() == static_cast<std::int64_t>(expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CHECK(golden::ulps_apart(values.flat<float>()[i], expected[i]) <= ulps);
    }
  };
  check(uniform, {0.7025764F, -0.17239022F, 0.756891F, 0.3728032F, 0.6532569F, 0.6255107F}, 0);
  check(uniform, {0.8849795F, -0.2409172F, -0.13110447F, -0.69258F, 0.6761942F, 0.87259555F}, 0);
  check(normal, {3.3282661F, 3.9808743F, 3.4912245F, 2.962057F}, 2);
  check(normal, {2.4424021F, 2.4916892F, 2.5674212F, 2.503634F}, 2);
  check(truncated, {0.9863876F, 1.0548437F, 0.9866993F, 0.94649446F}, 2);
  check(truncated, {1.0192951F, 0.95060134F, 1.0497825F, 0.9648347F}, 2);
}

TEST_CASE("tensors as limits and shapes are taken as they are") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor low = identity(0.0, {.name = "low"});
  const Tensor sizes = random_uniform({2}, {.maxval = 9, .dtype = DType::int32, .name = "sizes"});
  const std::size_t first = graph.size();
  CHECK(random_uniform(sizes, {.minval = low, .maxval = 2, .name = "a"}).name() == "a:0");
  CHECK(nodes(graph, first) == Lines{"a/max Const() float32 ()",
                                     "a/RandomUniform RandomUniform(sizes:0) float32 (?, ?)",
                                     "a/sub Sub(a/max:0, low:0) float32 ()",
                                     "a/mul Mul(a/RandomUniform:0, a/sub:0) float32 (?, ?)",
                                     "a AddV2(a/mul:0, low:0) float32 (?, ?)"});
  Tensor part = random_normal(sizes, {.name = "b"});
  part.set_shape({None, 4});
  CHECK(random_uniform(towerflow::shape(part)).shape() == Shape{None, 4});
}

TEST_CASE("random_shuffle is one node") {
  Graph graph;
  const auto guard = graph.as_default();
  set_random_seed(4);
  CHECK(random_shuffle({1, 2, 3}).name() == "RandomShuffle:0");
  random_shuffle({{1.0, 2.0}}, {.seed = 3, .name = "q"});
  CHECK(nodes(graph) == Lines{"RandomShuffle/value Const() int32 (3,)",
                              "RandomShuffle RandomShuffle(RandomShuffle/value:0) int32 (3,)",
                              "q/value Const() float32 (1, 2)",
                              "q RandomShuffle(q/value:0) float32 (1, 2)"});
  const auto seeds = [&](const char* node) {
    return graph.get_operation_by_name(node).attrs().as<ShuffleAttrs>().seeds;
  };
  CHECK(seeds("RandomShuffle") == random::Seeds{4, 0});
  CHECK(seeds("q") == random::Seeds{4, 3});
}

TEST_CASE("what cannot be drawn is said when the node is made; seeds are counted as TensorFlow's") {
  Graph graph;
  const auto guard = graph.as_default();
  set_random_seed(4);
  CHECK(error_of<ValueError>([] { random_uniform({2}, {.dtype = DType::int32}); }) ==
        "Must specify maxval for integer dtype int32");
  CHECK(error_of<ValueError>([] {
          random_uniform({2}, {.dtype = DType::bool_});
        }).starts_with("Argument `dtype` got invalid value bool."));
  CHECK(graph.size() == 0);
  CHECK(error_of<TypeError>([] { random_normal({2}, {.dtype = DType::int32}); }) ==
        "Expected int32, but got 0 of type 'float'.");
  CHECK(graph.next_op_seed == 0);
  CHECK(error_of<TypeError>([] {
          random_normal({2.5});
        }).starts_with("Value passed to parameter 'shape' has DataType float32 not in list"));
  CHECK(error_of<ValueError>([] { random_normal({-2}); }) ==
        "Invalid value in tensor used for shape: -2");
  CHECK(graph.next_op_seed == 2);
  CHECK(error_of<TypeError>([] {
          random_normal({2}, {.mean = 0, .stddev = 1, .dtype = DType::int32});
        }).starts_with("Value passed to parameter 'dtype' has DataType int32 not in list"));
  CHECK(error_of<ValueError>([] { random_uniform(5); }) == "Shape must be rank 1 but is rank 0");
  CHECK(error_of<ValueError>([] { random_uniform({{5}}); }) ==
        "Shape must be rank 1 but is rank 2");
  CHECK(error_of<ValueError>([] {
          random_uniform({1 << 30, 1 << 30, 1 << 30});
        }).find("too large") != std::string::npos);
  CHECK(error_of<ValueError>([] {
          random_uniform({2}, {.minval = {0, 1}, .maxval = 7, .dtype = DType::int32});
        }) == "minval must be a scalar; got a tensor of shape (2,)");
  CHECK(error_of<ValueError>([] {
          random_uniform(Shape{None, 3});
        }) == "Cannot convert a partially known TensorShape (?, 3) to a Tensor.");
  CHECK(std::holds_alternative<NoGradient>(OpRegistry::global().get("RandomUniform").gradient));
}

TEST_CASE("errors of a run leave the stream where it was") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor limit = identity(Array::scalar<std::int32_t>(9));
  const Tensor numbers = random_uniform({4}, {.maxval = limit, .dtype = DType::int32, .seed = 1});
  Session fresh(graph), session(graph);
  const Array first = fresh.run(numbers);
  const Feeds none{{limit, Array::scalar<std::int32_t>(0)}};
  CHECK(error_of<errors::InvalidArgumentError>([&] { session.run(numbers, none); }) ==
        "Need minval < maxval, got 0 >= 0");
  CHECK(session.run(numbers) == first);
  const Tensor open = random_uniform({2, -1});
  CHECK(open.shape() == Shape{2, None});
  CHECK(error_of<errors::InvalidArgumentError>([&] { session.run(open); }) ==
        "Cannot draw numbers of shape (2, ?): every size must be >= 0");
  const Tensor none_drawn =
      random_uniform({0, 3}, {.minval = 1, .maxval = 1, .dtype = DType::int32});
  CHECK(session.run(none_drawn).shape() == Shape{0, 3});
}

TEST_CASE("a large output is the generator's own numbers, whatever the number of threads") {
  constexpr std::int64_t kCount = 300001;
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor numbers = random_uniform({kCount}, {.seed = 12});
  random::GuardedPhilox generator(87654321, 12);
  std::vector<Array> expected;
  for (int run = 0; run < 2; ++run) {
    std::vector<float> values(kCount);
    random::fill_uniform<float>(generator.reserve_outputs(kCount), values);
    expected.push_back(Array::of<float>(Shape{kCount}, values));
  }
  for (const int threads : {1, 3}) {
    Session session(graph, {.intra_op_parallelism_threads = threads});
    CHECK(session.run(numbers) == expected[0]);
    CHECK(session.run(numbers) == expected[1]);
  }
}

TEST_CASE("unseeded streams differ from session to session, two ops with one seed do not") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor unseeded = random_uniform({8});
  CHECK_FALSE(Session(graph).run(unseeded) == Session(graph).run(unseeded));
  const Tensor a = random_uniform({8}, {.seed = 2}), b = random_uniform({8}, {.seed = 2});
  Session session(graph);
  const auto both = session.run({a, b});
  CHECK(both[0] == both[1]);
  CHECK_FALSE(session.run(a) == both[0]);
}

TEST_CASE("random_shuffle moves whole rows of any dtype") {
  Graph graph;
  const auto guard = graph.as_default();
  Session session(graph);
  CHECK(session.run(random_shuffle(3)).item<std::int32_t>() == 3);
  const Array words =
      session.run(random_shuffle({{"a", "A"}, {"b", "B"}, {"c", "C"}, {"d", "D"}}, {.seed = 1}));
  std::string seen;
  for (std::int64_t row = 0; row < 4; ++row) {
    const std::string small = words.data<std::string>()[2 * row];
    CHECK(words.data<std::string>()[2 * row + 1][0] == small[0] - 'a' + 'A');
    seen += small;
  }
  std::sort(seen.begin(), seen.end());
  CHECK(seen == "abcd");

  // Rows of 40 KB, so that several slices are used.
  constexpr std::int64_t kRows = 50, kColumns = 10007;
  std::vector<std::int32_t> values(kRows * kColumns);
  std::iota(values.begin(), values.end(), 0);
  const Array shuffled =
      session.run(random_shuffle(Array::of<std::int32_t>(Shape{kRows, kColumns}, values)));
  std::vector<bool> rows(kRows, false);
  for (std::int64_t row = 0; row < kRows; ++row) {
    const auto* at = shuffled.data<std::int32_t>() + row * kColumns;
    REQUIRE(at[0] % kColumns == 0);
    rows[static_cast<std::size_t>(at[0] / kColumns)] = true;
    for (std::int64_t i = 1; i < kColumns; ++i) REQUIRE(at[i] == at[0] + i);
  }
  CHECK(std::count(rows.begin(), rows.end(), true) == kRows);
}

TEST_CASE("a queue may have the name of a random op: their states are apart") {
  Graph graph;
  const auto guard = graph.as_default();
  const FIFOQueue queue(4, {float32}, {.shapes = {{}}, .shared_name = "dice/RandomUniform"});
  const Operation put = queue.enqueue({tf::constant(1.0F)});
  const Tensor thrown = tf::random_uniform({2}, {.seed = 7, .name = "dice"});
  REQUIRE(thrown.op().name() == "dice/RandomUniform");
  for (const bool queue_first : {false, true}) {
    Session session;
    if (queue_first) session.run(put);
    const Array first = session.run(thrown);
    if (!queue_first) session.run(put);
    CHECK(session.run(queue.size()).item<int>() == 1);
    CHECK_FALSE(session.run(thrown) == first);
  }
}

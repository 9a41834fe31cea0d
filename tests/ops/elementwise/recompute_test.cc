// Results of chains that are computed again for the backward pass: the same values, less memory.
#include <cstdlib>

#include "autodiff/gradients.h"
#include "core/graph/scopes.h"
#include "tests/ops/nn/support.h"
#include "tests/ops/ran.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

using namespace testing;  // NOLINT

constexpr std::int64_t kRows = 16384, kColumns = 32;  // 2 MiB a value
constexpr int kLayers = 12;

/// A network of products and chains, whose gradients need the chains' results and what they read.
struct Network {
  Tensor x = placeholder(float32, {.shape = Shape{kRows, kColumns}});
  Tensor scale = placeholder(float32, {.shape = Shape{kColumns}});
  Tensor offset = placeholder(float32, {.shape = Shape{kColumns}});
  std::vector<Tensor> results;  // of the chains
  Tensor loss;
  std::vector<Fetch> fetches;

  /// If `reads` is given, the chains read the variable instead of the placeholder.
  explicit Network(const Variable* reads = nullptr) {
    const Tensor factor = reads != nullptr ? Tensor(*reads) : scale;
    std::vector<Tensor> weights{factor};
    Tensor y = x;
    for (int i = 0; i < kLayers; ++i) {
      weights.push_back(
          constant(random_array<float>({kColumns, kColumns}, static_cast<std::uint64_t>(i))));
      const Tensor product = matmul(y, weights.back());
      y = tanh(product * factor + offset);
      results.push_back(y);
    }
    loss = reduce_sum(y);
    fetches.emplace_back(loss);
    for (const auto& gradient : gradients(loss, weights)) fetches.emplace_back(*gradient);
  }
  Feeds feeds() const {
    return {{x, random_array<float>({kRows, kColumns}, 90)},
            {scale, random_array<float>({kColumns}, 91)},
            {offset, random_array<float>({kColumns}, 92)}};
  }
};

RunResult run_from(Graph& graph, const Network& network, std::size_t bytes, int accelerators = 0,
                   const Operation* init = nullptr) {
  ConfigProto config;
  config.passes.recompute_from = bytes;
  config.simulated.count = accelerators;
  Session session(graph, config);
  if (init != nullptr) session.run(*init);
  return run_fetches(session, network.fetches, network.feeds());
}

/// Returns the bytes of a frame's first memory, as the report says.
long frame_bytes(const RunResult& ran, const std::string& where) {
  const std::size_t end = ran.report.find(" bytes in a frame on " + where);
  REQUIRE(end != std::string::npos);
  const std::size_t begin = ran.report.rfind(' ', end - 1);
  return std::strtol(ran.report.c_str() + begin, nullptr, 10);
}

TEST_CASE("recompute: the same values in less memory") {
  Graph graph;
  const auto guard = graph.as_default();
  const Network network;
  const RunResult kept = run_from(graph, network, 0);
  const RunResult again = run_from(graph, network, 1);
  CHECK(same_bits(kept, again));
  CHECK_FALSE(kept.has("recompute:"));
  CHECK(again.has("recompute:"));
  CHECK(again.launches > kept.launches);
  // At least half of the chains' results need no memory at the end of the forward pass.
  CHECK(frame_bytes(again, "the host") <
        frame_bytes(kept, "the host") - kLayers / 2 * kRows * kColumns * 4);
}

TEST_CASE("recompute: also on an accelerator") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto on = device("/gpu:0");
  const Network network;
  const RunResult kept = run_from(graph, network, 0, 1);
  const RunResult again = run_from(graph, network, 1, 1);
  CHECK(same_bits(kept, again));
  CHECK(again.has("recompute:"));
  const std::string where = "/job:localhost/replica:0/task:0/device:SIM:0";
  CHECK(frame_bytes(again, where) < frame_bytes(kept, where));
}

TEST_CASE("recompute: not below the size that the options say") {
  Graph graph;
  const auto guard = graph.as_default();
  const Network network;
  CHECK_FALSE(run_from(graph, network, std::size_t{64} << 20).has("recompute:"));
}

TEST_CASE("recompute: not what is fetched, nor what reads a variable") {
  Graph graph;
  const auto guard = graph.as_default();
  Network network;
  for (const Tensor& result : network.results) network.fetches.emplace_back(result);
  CHECK_FALSE(run_from(graph, network, 1).has("recompute:"));
  const Variable scale(random_array<float>({kColumns}, 7));
  const Operation init = global_variables_initializer();
  const Network reading(&scale);
  CHECK_FALSE(run_from(graph, reading, 1, 0, &init).has("recompute:"));
}

}  // namespace
}  // namespace towerflow

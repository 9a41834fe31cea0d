// Every case of the op table, run on an emulated GPU as graphs, gives the bits of single calls in
// each of three runs. A kernel whose launch depends on something that differs from run to run, and
// that is neither in its operands nor among its parameters, is found here.
//
// TOWERFLOW_TEST_CASE limits the test to cases whose names start with it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "cuda/backend/graph_limits.h"
#include "tests/cuda/recording.h"
#include "tests/ops/cases/build_case.h"
#include "tests/ops/cases/plan_case.h"
#include "tests/support/error_text.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::BuiltCase;
using testing::OpCase;

namespace {

/// The values of three runs of a case, or the error.
struct Outcome {
  std::vector<std::vector<Array>> values;
  std::string error;
};

/// Returns whether a case can run several times: none that closes a queue or waits for its
/// elements.
bool can_repeat(const OpCase& one) {
  const BuiltCase built(one, {.dtype = one.dtypes.front()});
  const PlanGraph graph =
      testing::plan_case(built, testing::case_arrays(one.inputs, one.dtypes.front()));
  return std::none_of(graph.nodes.begin(), graph.nodes.end(), [](const PlanNode& node) {
    return node.op->effect == Effect::stateful || node.op->effect == Effect::io;
  });
}

Outcome three_runs(const OpCase& one, bool graphs) {
  BuiltCase built(one, {.dtype = one.dtypes.front(), .device = "/device:GPU:0"});
  ConfigProto config{.allow_soft_placement = true};
  config.cuda = {.count = 1, .graphs = graphs, .emulated = true};
  Session session(built.graph(), config);
  Outcome outcome;
  outcome.error = testing::error_text([&] {
    const std::vector<Fetch> before = built.initializers();
    if (!before.empty()) session.run(before);
    const std::vector<Fetch> fetches(built.tensors().begin(), built.tensors().end());
    const Feeds feeds = built.feeds();
    for (int run = 0; run < 3; ++run) outcome.values.push_back(session.run(fetches, feeds));
  });
  return outcome;
}

/// Makes every launch a graph while it exists.
struct EveryLaunch {
  EveryLaunch() { cuda::least_graph_nodes() = 1; }
  ~EveryLaunch() { cuda::least_graph_nodes() = 4; }
};

}  // namespace

TEST_SUITE("op cases as CUDA graphs") {
  TEST_CASE("three runs of each case give the bits of single calls") {
    const EveryLaunch scope;
    const auto layer = std::make_shared<testing::Recording>();
    const testing::ScopedLayer recording(layer);
    const char* only = std::getenv("TOWERFLOW_TEST_CASE");
    std::size_t cases = 0, replays = 0;
    for (const OpCase& one : testing::op_cases()) {
      if (only != nullptr && !one.name.starts_with(only)) continue;
      if (!can_repeat(one)) continue;
      CAPTURE(one.name);
      const Outcome single = three_runs(one, false);
      layer->recorder().clear();
      const Outcome graphs = three_runs(one, true);
      for (const std::string& call : layer->recorder().calls()) {
        replays += call.starts_with("cudaGraphLaunch") ? 1 : 0;
      }
      layer->recorder().clear();
      ++cases;
      CHECK(graphs.error == single.error);
      CHECK(graphs.values == single.values);
    }
    CAPTURE(cases);
    if (only == nullptr) CHECK(replays > cases);  // two of three runs; some cases stay on the host
  }
}

// What a training step of two towers asks of CUDA: the pinned log of each stream, copies on streams
// of their own, and neither allocations nor waits of the host before the end of the step.
//
// TOWERFLOW_WRITE_DOCS=1 rewrites the logs.
#include "tests/cuda/step_log.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/cuda/long_hold.h"
#include "tests/cuda/recording.h"
#include "tests/cuda/resnet_step.h"
#include "tests/models/steps.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::LoggedCall;
using testing::Recording;
using testing::ScopedLayer;
using testing::Step;
using testing::StepLog;

namespace {

/// Returns the log of the fifth step, in which all that repeats is launched as graphs.
StepLog recorded(Step (*make)(), std::uint64_t seed) {
  const testing::LongHold hold;
  const auto layer = std::make_shared<Recording>();
  const ScopedLayer scope(layer);
  Graph graph;
  const auto guard = graph.as_default();
  tf::set_random_seed(11);
  const Step step = make();
  ConfigProto config{.allow_soft_placement = true};
  config.cuda = {.count = 2, .emulated = true, .seed = seed};
  Session session(graph, config);
  session.run(tf::global_variables_initializer());
  session.run(tf::local_variables_initializer());
  for (int i = 0; i < 4; ++i) session.run(step.fetches, step.feeds);
  cuda::Recorder& recorder = layer->recorder();
  const auto before = recorder.calls();
  recorder.clear();
  session.run(step.fetches, step.feeds);
  return StepLog(before, recorder.calls());
}

bool is_host(const std::string& place) {
  return place == "host" || place.starts_with("pinned") || place.starts_with("registered");
}

bool copies_between_memories(const LoggedCall& call) {
  return call.name == "cudaMemcpyAsync" &&
         (is_host(call.arguments[0]) || is_host(call.arguments[1]));
}

bool computes(const LoggedCall& call) {
  return call.name == "cudaLaunchKernelExC" || call.name == "cublasLtMatmul" ||
         call.name == "cudnnBackendExecute";
}

/// Checks the rules that hold for every step.
void check_rules(const StepLog& log) {
  int copying = 0, computing = 0;
  for (const auto& stream : log.streams()) {
    CAPTURE(stream.first);
    const auto& calls = stream.second;
    const bool copies = std::any_of(calls.begin(), calls.end(), copies_between_memories);
    const bool runs = std::any_of(calls.begin(), calls.end(), computes);
    CHECK_FALSE((copies && runs));
    copying += copies ? 1 : 0;
    computing += runs ? 1 : 0;
    for (const LoggedCall& call : calls) {
      // Pageable memory would make the host wait for the copy.
      if (copies_between_memories(call)) {
        CHECK(call.arguments[0] != "host");
        CHECK(call.arguments[1] != "host");
      }
      CHECK((call.name != "cudaStreamSynchronize" || &call == &calls.back()));
    }
  }
  CHECK(copying == 4);  // one in each direction for each GPU
  CHECK(computing == 2);
  const std::set<std::string> harmless = {
      "cudaSetDevice",
      "cudaEventQuery",  // asked by CPUs, whose work follows that of GPUs
      "cudaGetLastError",
      "cublasLtMatmulDescSetAttribute",
      "cudnnBackendCreateDescriptor",
      "cudnnBackendSetAttribute",
      "cudnnBackendFinalize",
      "cudnnBackendDestroyDescriptor",
  };
  for (const auto& other : log.others()) {
    CAPTURE(other.first);
    CHECK(harmless.contains(other.first));
  }
}

void check_log(const std::string& model, Step (*make)()) {
  const StepLog log = recorded(make, 0);
  check_rules(log);
  const std::string text = log.text();
  CHECK(recorded(make, 3).text() == text);
  const std::string path = "tests/cuda/" + model + "_step.txt";
  if (std::getenv("TOWERFLOW_WRITE_DOCS") != nullptr) std::ofstream(path) << text;
  std::stringstream pinned;
  pinned << std::ifstream(path).rdbuf();
  CHECK_MESSAGE(pinned.str() == text, "TOWERFLOW_WRITE_DOCS=1 build/tests/test_cuda_log");
}

}  // namespace

TEST_SUITE("the log of a step") {
  TEST_CASE("two towers of MNIST") { check_log("mnist", testing::mnist_step); }
  TEST_CASE("two towers of ResNet-20") { check_log("resnet20", testing::resnet_step<20>); }
}

// A session gives back all that it has got from CUDA, and calls that are left out are noticed: one
// in ten by default, all with TOWERFLOW_CUDA_MUTANTS=all.
#include <doctest/doctest.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <utility>

#include "tests/cuda/ledger.h"
#include "tests/cuda/recording.h"
#include "tests/models/steps.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::Ledger;
using testing::ScopedLayer;

namespace {

/// Runs three steps of two towers of MNIST, with graphs.
void train_mnist(VariableHome home, std::shared_ptr<Ledger> ledger) {
  const ScopedLayer scope(std::move(ledger));
  Graph graph;
  const auto guard = graph.as_default();
  const auto variable_scope = tf::variable_scope(tf::get_variable_scope(), {.home = home});
  const testing::Step step = testing::mnist_step();
  ConfigProto config{.allow_soft_placement = true};
  config.cuda = {.count = 2, .emulated = true};
  if (home == VariableHome::mirrored) config.passes.all_reduce = {AllReduce::nccl};
  Session session(graph, config);
  session.run(tf::global_variables_initializer());
  session.run(tf::local_variables_initializer());
  for (int i = 0; i < 3; ++i) session.run(step.fetches, step.feeds);
}

constexpr VariableHome kHomes[] = {VariableHome::host, VariableHome::mirrored};

}  // namespace

TEST_SUITE("what a session gives back") {
  TEST_CASE("is all that it has got") {
    for (const VariableHome home : kHomes) {
      train_mnist(home, std::make_shared<Ledger>());
      CHECK(Ledger::kept() == Ledger::Counts{});
      const Ledger::Counts given_back = Ledger::given_back();
      for (const char* call :
           {"cudaFree", "cudaFreeHost", "cudaHostUnregister", "cudaEventDestroy",
            "cudaStreamDestroy", "cudaGraphDestroy", "cudaGraphExecDestroy", "cublasLtDestroy",
            "cublasLtMatmulDescDestroy", "cublasLtMatrixLayoutDestroy",
            "cublasLtMatmulPreferenceDestroy", "cudnnDestroy", "cudnnBackendDestroyDescriptor"}) {
        CAPTURE(call);
        CHECK(given_back.contains(call));
      }
      CHECK(given_back.contains("ncclCommDestroy") == (home == VariableHome::mirrored));
    }
  }

  // A thing that is kept hides no other, so that many calls can be left out of one run.
  TEST_CASE("calls that are left out are noticed") {
    constexpr std::size_t kEvery = 10;
    const bool all = std::getenv("TOWERFLOW_CUDA_MUTANTS") != nullptr;
    for (const VariableHome home : kHomes) {
      int left_out = 0;
      for (std::size_t first = all ? 0 : kEvery / 2; first < (all ? kEvery : kEvery / 2 + 1);
           ++first) {
        train_mnist(home, std::make_shared<Ledger>(first, kEvery));
        CHECK(Ledger::kept() == Ledger::left_out());
        for (const auto& [call, count] : Ledger::left_out()) left_out += count;
      }
      CHECK(left_out > 40);
      if (all) std::cout << left_out << " calls that give something back were left out\n";
    }
  }
}

// Mutants of the calls of a training step: a wait, a record of an event, a memset or a copy is left
// out, or two neighbouring calls are exchanged, on their way to the emulation. Nearly all are
// found: by the check of the order of accesses, by another error, or by wrong values.
//
// A sample runs by default; scripts/cuda-mutants runs all (TOWERFLOW_CUDA_MUTANTS=all).
#include "tests/cuda/mutants.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>

#include "tests/cuda/recording.h"
#include "tests/models/steps.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::Mutant;
using testing::mutants_of;
using testing::Mutations;
using testing::ScopedLayer;
using testing::StreamCall;

namespace {

struct Ran {
  std::vector<Array> values;
  std::string error;
  std::vector<StreamCall> calls;  // of the step with the mutant
  bool changed = false;           // whether the mutant's call was made
};

/// Runs three steps of two towers of MNIST, the second with a mutant. Between the steps the input
/// changes, so that data of the step before are wrong.
Ran run_steps(const Mutant& mutant) {
  const auto layer = std::make_shared<Mutations>();
  const ScopedLayer scope(layer);
  Ran ran;
  Graph graph;
  const auto guard = graph.as_default();
  tf::set_random_seed(11);
  const testing::Step step = testing::mnist_step();
  std::vector<Operation> next_input;
  std::vector<Fetch> variables;
  for (const auto& variable : tf::global_variables()) {
    variables.emplace_back(variable);
    const auto cpu = tf::device("/cpu:0");
    if (variable.op().name().ends_with("images")) {
      next_input.push_back(tf::assign(variable, variable * 0.5F).op());
    } else if (variable.op().name().ends_with("labels")) {
      next_input.push_back(tf::assign(variable, tf::constant(5) - variable).op());
    }
  }
  REQUIRE(next_input.size() >= 2);
  ConfigProto config{.allow_soft_placement = true};
  config.cuda = {.count = 2, .emulated = true};
  try {
    Session session(graph, config);
    const auto run_step = [&] {
      for (Array& value : session.run(step.fetches, step.feeds)) ran.values.push_back(value);
      for (const Operation& op : next_input) session.run(op);
    };
    session.run(tf::global_variables_initializer());
    session.run(tf::local_variables_initializer());
    run_step();
    layer->arm(mutant);
    run_step();
    layer->disarm();
    run_step();
    for (Array& value : session.run(variables)) ran.values.push_back(value);
  } catch (const std::exception& error) {
    ran.error = error.what();
  }
  layer->disarm();
  ran.calls = layer->calls();
  ran.changed = layer->changed();
  return ran;
}

/// Returns how a mutant was found: "order", "error", "values", or "" if it was not; "unmade" if
/// the host waited in place of the stream.
std::string verdict(const Ran& ran, const Ran& expected) {
  if (!ran.changed) return "unmade";
  if (ran.error.find("unordered accesses") != std::string::npos) return "order";
  if (!ran.error.empty()) return "error";
  return ran.values == expected.values ? "" : "values";
}

/// Returns every n-th mutant so that about `count` remain.
std::vector<Mutant> sample(std::vector<Mutant> all, std::size_t count) {
  const std::size_t every = std::max<std::size_t>(all.size() / count, 1);
  std::vector<Mutant> some;
  for (std::size_t i = every / 2; i < all.size(); i += every) some.push_back(all[i]);
  return some;
}

}  // namespace

TEST_SUITE("mutants of the calls of a step") {
  TEST_CASE("each that changes anything is found") {
    const Ran expected = run_steps({});
    REQUIRE(expected.error == "");
    const char* wanted = std::getenv("TOWERFLOW_CUDA_MUTANTS");
    const bool all = wanted != nullptr && std::string(wanted) == "all";
    std::vector<Mutant> mutants = mutants_of(expected.calls);
    REQUIRE(mutants.size() > 50);
    if (!all) mutants = sample(mutants, 5);
    std::map<std::string, int> found;
    for (const Mutant& mutant : mutants) {
      const Ran ran = run_steps(mutant);
      const std::string how = verdict(ran, expected);
      ++found[how];
      if (all) std::cout << fmt::format("{:8} {}\n", how.empty() ? "-" : how, to_string(mutant));
      if (!all) CHECK_MESSAGE(how != "", to_string(mutant));
    }
    if (all) {
      std::cout << fmt::format(
          "{} mutants: {} found by the order of accesses, {} by an error, {} by values, {} not "
          "found; {} where the host waited\n",
          mutants.size(), found["order"], found["error"], found["values"], found[""],
          found["unmade"]);
    }
    CHECK(found[""] * 20 <= static_cast<int>(mutants.size()));
  }
}

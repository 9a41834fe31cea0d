// Mutants of the calls of a training step: a wait, a record of an event, a memset, a copy or a call
// of NCCL is left out, or two neighbouring calls are exchanged, on their way to the emulation.
// Nearly all are found: by the check of the order of accesses, by another error, or by wrong
// values.
//
// A sample runs by default; scripts/cuda-mutants runs all (TOWERFLOW_CUDA_MUTANTS=all). A part of
// them, such as numbers 20 to 29, runs with TOWERFLOW_CUDA_MUTANTS=20:30.
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
using testing::is_of_nccl;
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
/// changes, so that data of the step before are wrong. With a seed, each piece of work of a stream
/// begins up to 3 ms late: the host, whose reads of pinned memory the emulation does not see, reads
/// old values if it does not wait. Gradients of mirrored variables are averaged by NCCL.
Ran run_steps(VariableHome home, const Mutant& mutant, std::uint64_t seed = 0) {
  const auto layer = std::make_shared<Mutations>();
  const ScopedLayer scope(layer);
  Ran ran;
  Graph graph;
  const auto guard = graph.as_default();
  tf::set_random_seed(11);
  const auto variable_scope = tf::variable_scope(tf::get_variable_scope(), {.home = home});
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
  if (home == VariableHome::mirrored) config.passes.all_reduce = {AllReduce::nccl};
  config.cuda = {.count = 2, .graphs = false, .emulated = true, .seed = seed, .max_delay_us = 3000};
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
/// the host waited in place of the stream; "implied" if other calls of that run gave the same
/// order.
std::string verdict(const Mutant& mutant, const Ran& ran, const Ran& expected) {
  if (!ran.changed) return "unmade";
  if (ran.error.find("unordered accesses") != std::string::npos) return "order";
  if (!ran.error.empty()) return "error";
  if (ran.values != expected.values) return "values";
  return changes_order(ran.calls, mutant) ? "" : "implied";
}

/// Returns how a mutant was found, if need be with delays.
std::string hunt(VariableHome home, const Mutant& mutant, const Ran& expected) {
  std::string how;
  for (std::uint64_t seed = 0; how.empty() && seed <= 3; ++seed) {
    how = verdict(mutant, run_steps(home, mutant, seed), expected);
  }
  return how;
}

/// Returns `count` of the mutants that are found in each run, whatever the timing:
/// copies left out, and records before the work that they are about; with NCCL, its calls left out.
std::vector<Mutant> sample(VariableHome home, std::vector<Mutant> all, std::size_t count) {
  std::erase_if(all, [home](const Mutant& mutant) {
    if (home == VariableHome::mirrored) {
      return mutant.change != Mutant::Change::drop || !is_of_nccl(mutant.call);
    }
    const std::string& kind = mutant.call.kind;
    return mutant.change == Mutant::Change::drop ? kind != "copy"
                                                 : kind != "launch" && kind != "product";
  });
  const std::size_t every = (all.size() + count - 1) / count;
  std::vector<Mutant> some;
  for (std::size_t i = every / 2; i < all.size(); i += every) some.push_back(all[i]);
  return some;
}

/// Returns those that TOWERFLOW_CUDA_MUTANTS names: "all", or "20:30".
std::vector<Mutant> part(const std::vector<Mutant>& all, const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return all;
  const std::size_t end = std::min<std::size_t>(std::stoul(text.substr(colon + 1)), all.size());
  const std::size_t begin = std::min<std::size_t>(std::stoul(text.substr(0, colon)), end);
  return {all.begin() + static_cast<std::ptrdiff_t>(begin),
          all.begin() + static_cast<std::ptrdiff_t>(end)};
}

/// Checks all mutants of a step that the environment names, or a sample of `count`.
void check_mutants(VariableHome home, std::size_t count) {
  const Ran expected = run_steps(home, {});
  REQUIRE(expected.error == "");
  const char* wanted = std::getenv("TOWERFLOW_CUDA_MUTANTS");
  const bool all = wanted != nullptr;
  if (all) {
    for (const StreamCall& call : expected.calls) {
      std::cout << fmt::format("call     stream {}: {} {} {}\n", call.stream, call.kind,
                               call.number, call.what);
    }
  }
  std::vector<Mutant> mutants = mutants_of(expected.calls);
  REQUIRE(mutants.size() > 50);
  const std::size_t implied = std::erase_if(
      mutants, [&](const Mutant& mutant) { return !changes_order(expected.calls, mutant); });
  mutants = wanted == nullptr ? sample(home, mutants, count) : part(mutants, wanted);
  std::map<std::string, int> found;
  for (const Mutant& mutant : mutants) {
    const std::string how = hunt(home, mutant, expected);
    ++found[how];
    if (all)
      std::cout << fmt::format("{:8} {}\n", how.empty() ? "-" : how, to_string(mutant))
                << std::flush;
    if (!all) CHECK_MESSAGE(how != "", to_string(mutant));
  }
  if (all) {
    std::cout << fmt::format(
        "{} mutants, without {} that change no order: {} found by the order of accesses, {} by "
        "an error, {} by values, {} not found, {} where another wait did it\n",
        mutants.size(), implied, found["order"], found["error"], found["values"], found[""],
        found["unmade"] + found["implied"]);
  }
}

}  // namespace

TEST_SUITE("mutants of the calls of a step") {
  TEST_CASE("each that changes anything is found") { check_mutants(VariableHome::host, 5); }
  TEST_CASE("with NCCL too") { check_mutants(VariableHome::mirrored, 3); }
}

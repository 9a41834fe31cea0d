#include "models/update_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>

#include "core/graph/nearest.h"
#include "towerflow/tf.h"

namespace towerflow::models {
namespace {

/// Runs a step; the time is virtual on simulated accelerators.
UpdateStep timed_step(StepBench& bench, bool is_virtual) {
  const auto start = std::chrono::steady_clock::now();
  RunMetadata metadata;
  const std::vector<Array> values =
      is_virtual ? bench.session().run(bench.fetches(), {}, {.trace_level = RunOptions::FULL_TRACE},
                                       &metadata)
                 : bench.session().run(bench.fetches());
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  return {is_virtual ? metadata.virtual_seconds : wall.count(), values.back().item<float>()};
}

bool has_virtual_time(const StepBenchOptions& options) {
  return options.devices.simulated.count > 0;
}

/// All towers in one step.
class TogetherBench final : public UpdateBench {
 public:
  TogetherBench(const Model& model, const StepBenchOptions& options)
      : bench_(model, options), is_virtual_(has_virtual_time(options)) {}

  std::vector<UpdateStep> steps(int count) override {
    std::vector<UpdateStep> made;
    for (int i = 0; i < count; ++i) made.push_back(timed_step(bench_, is_virtual_));
    return made;
  }

 private:
  StepBench bench_;
  bool is_virtual_;
};

/// Returns the options of a session that has one of the simulated devices, as number 0.
SimulatedDevices device_alone(const SimulatedDevices& all, int device) {
  SimulatedDevices alone = all;
  alone.count = 1;
  alone.slow.clear();
  if (const auto slow = all.slow.find(device); slow != all.slow.end()) {
    alone.slow[0] = slow->second;
  }
  alone.fault = all.fault.device == device ? all.fault : SimulatedFault{};
  alone.fault.device = 0;
  return alone;
}

/// A session for each tower, which has a device and a part of the threads of its own.
class IndependentBench final : public UpdateBench {
 public:
  IndependentBench(const Model& model, StepBenchOptions options)
      : is_virtual_(has_virtual_time(options)) {
    const int towers = std::exchange(options.num_towers, 1);
    const SimulatedDevices simulated = options.devices.simulated;
    options.devices.cpus = 0;
    const int threads = options.devices.threads > 0
                            ? options.devices.threads
                            : static_cast<int>(std::thread::hardware_concurrency());
    options.devices.threads = std::max(1, threads / towers);
    for (int i = 0; i < towers; ++i) {
      if (is_virtual_) options.devices.simulated = device_alone(simulated, i);
      towers_.push_back(std::make_unique<StepBench>(model, options));
    }
  }

  std::vector<UpdateStep> steps(int count) override {
    std::vector<std::vector<UpdateStep>> each(towers_.size());
    std::vector<std::exception_ptr> errors(towers_.size());
    const auto run = [&](std::size_t tower) {
      try {
        for (int i = 0; i < count; ++i) {
          each[tower].push_back(timed_step(*towers_[tower], is_virtual_));
        }
      } catch (...) {
        errors[tower] = std::current_exception();
      }
    };
    if (is_virtual_) {
      // Kernels are timed on this machine's cores: one tower at a time has them.
      for (std::size_t tower = 0; tower < towers_.size(); ++tower) run(tower);
    } else {
      std::vector<std::thread> threads;
      for (std::size_t tower = 0; tower < towers_.size(); ++tower) threads.emplace_back(run, tower);
      for (std::thread& thread : threads) thread.join();
    }
    for (const std::exception_ptr& error : errors) {
      if (error) std::rethrow_exception(error);
    }
    std::vector<UpdateStep> made;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      double rate = 0;  // steps per second of all towers
      for (const auto& tower : each) rate += 1 / tower[i].seconds;
      made.push_back({static_cast<double>(each.size()) / rate, each.back()[i].loss});
    }
    return made;
  }

 private:
  bool is_virtual_;
  std::vector<std::unique_ptr<StepBench>> towers_;
};

/// Workers that do not wait for each other; as many of their updates as there are workers are a
/// step.
class AsyncBench final : public UpdateBench {
 public:
  AsyncBench(const Model& model, StepBenchOptions options)
      : is_virtual_(has_virtual_time(options)),
        workers_(std::exchange(options.num_towers, 1)),
        bench_(model, workers(options, workers_)) {}

  std::vector<UpdateStep> steps(int count) override {
    const auto made = parallel::train_async(bench_.session(), bench_.fetches(),
                                            {.workers = workers_,
                                             .steps = std::int64_t{count} * workers_,
                                             .virtual_time = is_virtual_});
    std::vector<UpdateStep> steps;
    double before = made.front().begin;
    for (const parallel::AsyncStep& step : made) {
      staleness_ += static_cast<double>(step.staleness);
      ++updates_;
      if ((step.update + 1) % workers_ != 0) continue;
      steps.push_back({step.end - before, step.values.back().item<float>()});
      before = step.end;
    }
    return steps;
  }

  std::string remark() const override {
    return fmt::format("mean staleness: {:.2f}", staleness_ / static_cast<double>(updates_));
  }

 private:
  static StepBenchOptions workers(StepBenchOptions options, int workers) {
    options.workers = workers;
    return options;
  }

  bool is_virtual_;
  int workers_;
  StepBench bench_;
  double staleness_ = 0;
  std::int64_t updates_ = 0;
};

}  // namespace

const std::vector<std::string>& variable_update_words() {
  static const std::vector<std::string> words{"independent", "parameter_server", "replicated",
                                              "distributed_all_reduce", "async"};
  return words;
}

VariableUpdate variable_update(const std::string& word) {
  const auto& words = variable_update_words();
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) {
    throw ValueError(fmt::format("there is no variable update '{}'", word),
                     {.hint = nearest_hint(word, words)});
  }
  return static_cast<VariableUpdate>(found - words.begin());
}

std::unique_ptr<UpdateBench> UpdateBench::make(VariableUpdate update, const Model& model,
                                               const StepBenchOptions& given) {
  StepBenchOptions options = given;
  const bool together = update != VariableUpdate::independent && update != VariableUpdate::async;
  if (!together && (options.deferred_gradients || options.staged_variables)) {
    throw ValueError(
        fmt::format("towers whose variable update is '{}' can neither defer gradients nor stage "
                    "variables",
                    variable_update_words()[static_cast<std::size_t>(update)]),
        {.hint = "they exchange nothing, or do not wait for each other"});
  }
  switch (update) {
    case VariableUpdate::independent:
      return std::make_unique<IndependentBench>(model, options);
    case VariableUpdate::async:
      return std::make_unique<AsyncBench>(model, options);
    case VariableUpdate::parameter_server:
      break;
    case VariableUpdate::replicated:
      options.devices.home = VariableHome::mirrored;
      break;
    case VariableUpdate::distributed_all_reduce:
      options.across_processes = true;
      break;
  }
  return std::make_unique<TogetherBench>(model, options);
}

}  // namespace towerflow::models

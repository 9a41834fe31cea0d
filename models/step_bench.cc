#include "models/step_bench.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/processes.h"
#include "parallel/processes/training_hooks.h"
#include "towerflow/tf.h"

namespace towerflow::models {
namespace {

/// Builds the training graph on batches in memory, or on the input of the whole program, repeated
/// endlessly.
TrainingGraph build(const Model& model, const StepBenchOptions& options) {
  BuildOptions build_options{.num_towers = options.num_towers,
                             .learning_rate = model.learning_rate,
                             .batch_size = options.batch_size,
                             .values = options.values,
                             .staged_variables = options.staged_variables};
  if (options.data_dir.empty()) {
    const auto batch = [&] { return model.batch_in_memory(options.batch_size); };
    return model.build(build_options, [&] { return batch; });
  }
  const auto files = model.data->files_of(options.data_dir, Part::train);
  build_options.examples = model.data->count(files);
  return model.build(build_options, [&] {
    return model.input({.files = files,
                        .examples = build_options.examples,
                        .batch_size = options.batch_size,
                        .num_towers = options.num_towers,
                        .num_threads = model.reader_threads,
                        .values = options.values});
  });
}

void check_delays(const Model& model, const StepBenchOptions& options) {
  if (options.workers > 1 && (options.deferred_gradients || options.staged_variables)) {
    throw ValueError(
        "workers that do not wait for each other can neither defer gradients nor stage variables",
        {.hint = "they would share what is kept for the next step"});
  }
  if (options.staged_variables && !model.can_stage_variables) {
    throw ValueError(fmt::format("model '{}' cannot stage its variables", model.name),
                     {.hint = "the networks of models/cnn can"});
  }
}

}  // namespace

struct StepBench::State {
  State(const Model& of, const StepBenchOptions& options)
      : model(of), batch_size(options.batch_size * options.num_towers) {
    check_delays(model, options);
    const auto default_graph = graph.as_default();
    tf::set_random_seed(1);
    const Processes processes(options.across_processes);
    const auto averaged = processes.averaged_gradients();
    const auto homes = tf::variable_scope(tf::get_variable_scope(), {.home = options.devices.home});
    const auto shared = share_devices(options.num_towers, options.devices);
    parallel::DeferredGradients deferred;
    std::unique_ptr<train::GradientScope> deferral;
    if (options.deferred_gradients) {
      deferral = std::make_unique<train::GradientScope>(
          graph, train::GradientChanges{.computed = [&](const std::vector<GradAndVar>& grads) {
            return deferred.previous(grads);
          }});
    }
    built = build(model, options);
    Operation train_op = built.stages.back().train_op;
    if (options.deferred_gradients) train_op = tf::group({train_op, deferred.keep()});
    const Operation init = tf::global_variables_initializer();
    const Operation init_local = tf::local_variables_initializer();
    ConfigProto config =
        session_config(std::max(options.num_towers, options.workers), options.devices);
    config.passes = options.passes;
    config.passes.all_reduce = options.devices.all_reduce;
    session = std::make_unique<Session>(graph, config);
    session->run(init);
    if (processes.several()) parallel::broadcast_global_variables(*session);
    session->run(init_local);  // staged variables begin with the values of the others
    if (!tf::get_collection<tf::train::QueueRunner>(GraphKeys::QUEUE_RUNNERS).empty()) {
      threads = tf::train::start_queue_runners(*session, {.coord = &coord});
    }
    fetches = {train_op, built.stages.back().losses.back()};
  }

  ~State() {
    coord.request_stop();
    try {
      coord.join(threads);
    } catch (const Error&) {  // an input error, which the waiting step has thrown as well
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const Model& model;
  Graph graph;
  TrainingGraph built;
  std::vector<Fetch> fetches;
  std::unique_ptr<Session> session;
  tf::train::Coordinator coord;
  std::vector<tf::train::Thread> threads;
  std::int64_t batch_size;
  double loss = 0;
};

StepBench::StepBench(const Model& model, const StepBenchOptions& options)
    : state_(std::make_unique<State>(model, options)) {}
StepBench::~StepBench() = default;

BenchResult StepBench::run(const BenchOptions& options) {
  BenchResult result = tf::bench(*state_->session, state_->fetches, options);
  state_->loss = result.values[1].item<float>();
  return result;
}

double StepBench::window(int steps) {
  const BenchResult result = run({.windows = 1, .steps = steps, .warm_up = 0});
  return static_cast<double>(state_->batch_size) / result.seconds[0];
}

double StepBench::loss() const { return state_->loss; }

RunMetadata StepBench::trace() {
  RunMetadata metadata;
  state_->session->run(state_->fetches, {}, {.trace_level = RunOptions::FULL_TRACE}, &metadata);
  return metadata;
}

WhoTrains StepBench::who_trains() const { return models::who_trains(state_->model, state_->built); }

Session& StepBench::session() { return *state_->session; }
const std::vector<Fetch>& StepBench::fetches() const { return state_->fetches; }

}  // namespace towerflow::models

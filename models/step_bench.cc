#include "models/mnist_bench.h"

#include <chrono>

#include "towerflow/tf.h"

namespace towerflow::models::mnist {
namespace {

/// A batch held in two variables: uniform noise as images, labels 0 to 9 in turn.
Batch batch_in_memory(std::int64_t batch_size) {
  const auto cpu = tf::device("/cpu:0");
  const Tensor pixels =
      tf::random_uniform({batch_size, kImagePixels}, {.minval = -0.5, .maxval = 0.5, .seed = 1});
  Array digits(tf::int32, Shape{batch_size});
  for (std::int64_t i = 0; i < batch_size; ++i) {
    digits.data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 10);
  }
  const Variable images(pixels, {.trainable = false, .name = "images"});
  const Variable labels(digits, {.trainable = false, .name = "labels"});
  return {images, labels};
}

/// The whole program's input, which does not end.
Batch batch_of_files(const BenchOptions& options) {
  constexpr int kEndless = 1 << 30;
  return inputs(record_file(options.data_dir, "train"),
                {.batch_size = options.batch_size, .num_epochs = kEndless});
}

}  // namespace

struct StepBench::State {
  explicit State(const BenchOptions& options)
      : batch_size(options.batch_size * options.num_towers) {
    const auto default_graph = graph.as_default();
    tf::set_random_seed(1);
    towers = build_towers(
        {.num_towers = options.num_towers, .net = options.net, .average = options.average}, [&] {
          return options.data_dir.empty() ? batch_in_memory(options.batch_size)
                                          : batch_of_files(options);
        });
    ConfigProto config = session_config(options.num_towers, options.devices);
    config.passes = options.passes;
    session = std::make_unique<Session>(graph, config);
    session->run(towers.init);
    threads = tf::train::start_queue_runners(*session, {.coord = &coord});
    fetches = {towers.train_op, towers.losses.back()};
    step = session->make_callable(fetches);
  }

  ~State() {
    coord.request_stop();
    try {
      coord.join(threads);
    } catch (const Error&) {  // of reading: the step that wanted the batch has thrown as well
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Graph graph;
  Towers towers;
  std::vector<Fetch> fetches;
  std::unique_ptr<Session> session;
  tf::train::Coordinator coord;
  std::vector<tf::train::Thread> threads;
  Callable step;
  std::int64_t batch_size;
  double loss = 0;
};

StepBench::StepBench(const BenchOptions& options) : state_(std::make_unique<State>(options)) {}
StepBench::~StepBench() = default;

double StepBench::window(int steps) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) state_->loss = state_->step({})[1].item<float>();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return static_cast<double>(steps * state_->batch_size) / seconds.count();
}

double StepBench::loss() const { return state_->loss; }

RunMetadata StepBench::trace() {
  RunMetadata metadata;
  state_->session->run(state_->fetches, {}, {.trace_level = RunOptions::FULL_TRACE}, &metadata);
  return metadata;
}

Session& StepBench::session() { return *state_->session; }
const std::vector<Fetch>& StepBench::fetches() const { return state_->fetches; }

}  // namespace towerflow::models::mnist

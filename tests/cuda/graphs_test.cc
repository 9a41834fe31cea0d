// Steps that are launched as CUDA graphs give the bits of steps whose calls are made one by one,
// whatever changes from step to step: fed values and their addresses, variables, random numbers.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "models/global_step.h"
#include "models/models.h"
#include "tests/cuda/classifier.h"
#include "tests/cuda/long_hold.h"
#include "tests/cuda/recording.h"
#include "tests/cuda/resnet_step.h"
#include "tests/models/steps.h"
#include "tests/support/error_text.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::LongHold;
using testing::Recording;
using testing::ScopedLayer;
using testing::Step;

namespace {

constexpr int kRuns = 4;

ConfigProto on_gpus(int count, bool graphs, std::uint64_t seed = 0) {
  ConfigProto config{.allow_soft_placement = true};
  config.cuda = {.count = count, .graphs = graphs, .emulated = true, .seed = seed};
  return config;
}

/// How often calls were made in a step, by name.
struct Calls {
  explicit Calls(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      // How often a thread asks for the end of work depends on the time that it takes.
      all += !line.starts_with("cudaEventQuery") && !line.starts_with("cudaGetLastError");
      replays += line.starts_with("cudaGraphLaunch");
      captures += line.starts_with("cudaStreamBeginCapture");
      updates += line.starts_with("cudaGraphExecUpdate");
      instantiations += line.starts_with("cudaGraphInstantiate");
      launches += line.starts_with("cudaLaunchKernelExC") || line.starts_with("cublasLtMatmul(") ||
                  line.starts_with("cudnnBackendExecute");
    }
  }
  int all = 0, replays = 0, captures = 0, updates = 0, instantiations = 0, launches = 0;
};

/// Runs something `kRuns` times in a session, and returns the calls of each run.
std::vector<Calls> calls_of(const std::shared_ptr<Recording>& layer,
                            const std::function<void(int run)>& run) {
  std::vector<Calls> calls;
  for (int i = 0; i < kRuns; ++i) {
    layer->recorder().clear();
    run(i);
    calls.emplace_back(layer->recorder().calls());
  }
  return calls;
}

struct Ran {
  std::vector<Array> values;
  std::vector<Calls> calls;
};

/// Returns what `kRuns` steps fetch, and the variables after them.
Ran run_steps(Graph& graph, const ConfigProto& config, const std::vector<Fetch>& fetches,
              const std::function<Feeds(int)>& feeds) {
  const LongHold hold;
  const auto layer = std::make_shared<Recording>();
  const ScopedLayer scope(layer);
  Session session(graph, config);
  session.run(tf::global_variables_initializer());
  session.run(tf::local_variables_initializer());
  Ran ran;
  const auto add = [&](std::vector<Array> values) {
    std::move(values.begin(), values.end(), std::back_inserter(ran.values));
  };
  ran.calls = calls_of(layer, [&](int i) { add(session.run(fetches, feeds(i))); });
  const auto variables = tf::global_variables();
  add(session.run(std::vector<Fetch>(variables.begin(), variables.end())));
  return ran;
}

Ran run_towers(Step (*make)(), const ConfigProto& config) {
  Graph graph;
  const auto guard = graph.as_default();
  tf::set_random_seed(11);
  const Step step = make();
  return run_steps(graph, config, step.fetches, [&](int) { return step.feeds; });
}

Ran run_model(const models::Model& model, std::int64_t batch_size,
              const models::OptionValues& values, const ConfigProto& config) {
  models::GlobalStep step(
      model, {.batch_size = batch_size, .values = values, .devices = {.cuda = config.cuda}});
  const auto guard = step.graph().as_default();
  const ComparedRun run = step.run();
  ConfigProto own = run.config;
  own.cuda = config.cuda;
  return run_steps(step.graph(), own, run.step,
                   [&](int i) { return run.feeds ? run.feeds(i + 1) : Feeds{}; });
}

/// Checks that the values are those of single calls, and that the last step made fewer calls.
void check_same(const Ran& graphs, const Ran& single) {
  CHECK(graphs.values == single.values);
  CHECK(single.calls.back().replays == 0);
  const Calls &last = graphs.calls.back(), &last_single = single.calls.back();
  CHECK(last.captures == 0);
  CHECK(last.replays > 0);
  CHECK(last.launches < last_single.launches);
  CHECK(last.all < last_single.all);
  MESSAGE("calls of a step: ", last_single.all, ", with graphs ", last.all);
}

/// A step on /gpu:0 with random numbers, whose result depends on a variable and on fed values.
struct Noisy {
  Noisy() {
    tf::set_random_seed(7);
    const auto gpu = tf::device("/gpu:0");
    weights = tf::Variable(tf::ones({3, 5}), {.name = "weights", .home = VariableHome::device});
    x = tf::placeholder(tf::float32, {.shape = {4, 3}});
    Tensor y = tf::matmul(x, weights);
    y = tf::nn::dropout(y, 0.5F);
    y = tf::sigmoid(y) + tf::random_uniform({4, 5});
    result = tf::reduce_sum(tf::square(y), {.axis = 0});
    halve = tf::assign(weights, weights * 0.5F).op();
  }
  tf::Variable weights;
  Tensor x, result;
  Operation halve;
};

}  // namespace

TEST_SUITE("steps as CUDA graphs") {
  TEST_CASE("two towers of MNIST and ResNet-8 give the same bits, whatever the delays") {
    for (const auto make : {testing::mnist_step, testing::resnet_step<8>}) {
      const Ran single = run_towers(make, on_gpus(2, false));
      for (const std::uint64_t seed : {1, 2, 3}) {
        CAPTURE(seed);
        const Ran graphs = run_towers(make, on_gpus(2, true, seed));
        check_same(graphs, single);
        CHECK(graphs.calls.front().captures == 0);
        CHECK(graphs.calls.back().launches < single.calls.back().launches / 2);
      }
    }
  }

  TEST_CASE("so do models on one GPU") {
    struct Small {
      const models::Model* model;
      std::int64_t batch_size;
      models::OptionValues values{};
      std::vector<std::uint64_t> seeds{};
    };
    for (const Small& small :
         {Small{&models::vaegan::kModel, 2, {}, {1, 2, 3}},
          Small{&models::char_lstm::kModel, 1, {{"rnn-size", std::int64_t{4}}}, {1}}}) {
      const std::string name = small.model->name;
      CAPTURE(name);
      const Ran single = run_model(*small.model, small.batch_size, small.values, on_gpus(1, false));
      for (const std::uint64_t seed : small.seeds) {
        CAPTURE(seed);
        check_same(run_model(*small.model, small.batch_size, small.values, on_gpus(1, true, seed)),
                   single);
      }
    }
  }

  TEST_CASE("random numbers, fed values at other addresses and an assigned variable are seen") {
    std::vector<std::vector<Array>> found;
    for (const ConfigProto& config : {on_gpus(0, false), on_gpus(1, false), on_gpus(1, true)}) {
      Graph graph;
      const auto guard = graph.as_default();
      const Noisy model;
      const auto layer = std::make_shared<Recording>();
      const ScopedLayer scope(layer);
      Session session(graph, config);
      session.run(tf::global_variables_initializer());
      std::vector<Array> fed, values;
      for (int i = 0; i < 6; ++i) {
        if (i == 4) session.run(model.halve);
        fed.push_back(testing::ramp({4, 3}));  // those before stay where they are
        fed.back().data<float>()[i] += static_cast<float>(i);
        if (config.cuda.count > 0) layer->recorder().clear();
        values.push_back(session.run(model.result, {{model.x, fed.back()}}));
      }
      if (config.cuda.graphs && config.cuda.count > 0) {
        const Calls last(layer->recorder().calls());
        CHECK(last.replays == 1);
        CHECK(last.launches == 0);  // all are in the graph
      }
      for (std::size_t i = 1; i < values.size(); ++i) CHECK(values[i] != values[i - 1]);
      found.push_back(values);
    }
    CHECK(testing::largest_difference(found[1], found[0]) < 1e-5);
    CHECK(found[2] == found[1]);
  }

  TEST_CASE("runs at the same time that read and change one variable end, on one GPU and on two") {
    for (const char* other : {"/gpu:0", "/gpu:1"}) {
      CAPTURE(other);
      Graph graph;
      const auto guard = graph.as_default();
      std::optional<tf::Variable> counter;
      {
        const auto gpu = tf::device("/gpu:0");
        counter.emplace(tf::zeros({4}),
                        tf::VariableOptions{.name = "counter", .home = VariableHome::device});
      }
      Tensor read = *counter * 2.0F;
      {
        const auto gpu = tf::device(other);
        for (int i = 0; i < 4; ++i) read = tf::cumsum(read);
      }
      const Operation add = tf::assign_add(*counter, tf::ones({4})).op();
      Session session(graph, on_gpus(2, true, 3));
      session.run(tf::global_variables_initializer());
      constexpr int kThreads = 3, kEach = 20;
      std::vector<std::thread> threads;
      for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&] {
          for (int run = 0; run < kEach; ++run) session.run(std::vector<Fetch>{read, add});
        });
      }
      for (std::thread& thread : threads) thread.join();
      CHECK(session.run(*counter).data<float>()[3] == kThreads * kEach);
    }
  }

  TEST_CASE("wrong data in a replayed graph are an error with the CPU's text, and change nothing") {
    std::vector<std::string> texts;
    for (const int gpus : {0, 1}) {
      Graph graph;
      const auto guard = graph.as_default();
      const testing::Classifier model(VariableHome::device);
      Session session(graph, on_gpus(gpus, true));
      session.run(tf::global_variables_initializer());
      const auto run = [&](std::vector<std::int32_t> labels) {
        session.run(model.train, {{model.labels, Array::of(Shape{4}, std::move(labels))}});
      };
      for (int i = 0; i < 3; ++i) run({0, 1, 4, 2});
      const Array before = session.run(model.weights);
      texts.push_back(testing::error_text([&] { run({0, 1, 9, 2}); }));
      CHECK(session.run(model.weights) == before);
      run({0, 1, 4, 2});
      CHECK(session.run(model.weights) != before);
    }
    CHECK(texts[0].find("Received a label value of 9 which is outside the valid range of [0, 5)") !=
          std::string::npos);
    const auto first_line = [](const std::string& text) { return text.substr(0, text.find('\n')); };
    CHECK(first_line(texts[1]) == first_line(texts[0]));
    CHECK(texts[1].find("classifier.h:") != std::string::npos);
  }

  TEST_CASE("wrong data on one GPU are its error, not that of another which computes with them") {
    for (const std::uint64_t seed : {0, 1, 2}) {
      CAPTURE(seed);
      const LongHold hold;
      Graph graph;
      const auto guard = graph.as_default();
      const Tensor rows = tf::placeholder(tf::int32, {.shape = {4}});
      Tensor found, divided;
      {
        const auto gpu = tf::device("/gpu:0");
        // Wrong rows are zeros.
        found = tf::gather(tf::range(24) + 1, rows, {.name = "lookup"});
      }
      {
        const auto gpu = tf::device("/gpu:1");
        Tensor before = tf::range(8);
        for (int i = 0; i < 4; ++i) before = tf::cumsum(before);
        divided = tf::floordiv(tf::fill({4}, 24), found) + tf::reduce_sum(before);
      }
      Session session(graph, on_gpus(2, true, seed));
      for (int run = 0; run < 6; ++run) {
        CAPTURE(run);
        const bool wrong = run % 2 == 1;  // in a graph from the third run on
        const std::vector<std::int32_t> ids{0, 2, wrong ? 99 : 3, 1};
        const std::string text = testing::error_text([&] {
          session.run(divided, {{rows, Array::of(Shape{4}, ids)}});
        });
        CHECK((text.find("lookup") != std::string::npos) == wrong);
        CHECK((text == "nothing was thrown") == !wrong);
      }
    }
  }
}

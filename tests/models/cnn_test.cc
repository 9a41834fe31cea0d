// The networks of tf_cnn_benchmarks: variables and numbers of parameters as published, and what a
// first step gives, however the towers share variables.
#include <doctest/doctest.h>

#include "models/cnn/cnn.h"
#include "models/models.h"
#include "models/update_bench.h"
#include "tests/support/error_text.h"

using namespace towerflow;
using models::UpdateBench;
using models::VariableUpdate;
namespace cnn = models::cnn;

namespace {

const models::Model& lenet5() {
  for (const models::Model* model : cnn::all()) {
    if (model->name == "lenet5") return *model;
  }
  throw ValueError("no lenet5");
}

std::int64_t trained_values() {
  std::int64_t values = 0;
  for (const Variable& variable : tf::trainable_variables()) values += variable.shape().elements();
  return values;
}

}  // namespace

TEST_CASE("networks have the sizes and names of tf_cnn_benchmarks") {
  const auto built = [](const cnn::Network& network) {
    const auto size = network.image_size;
    const Tensor logits =
        cnn::inference(network, tf::placeholder(float32, {.shape = {2, size, size, 3}}), true);
    CHECK(logits.shape() == Shape{2, cnn::kClasses});
  };
  const std::map<const cnn::Network*, std::int64_t> sizes{
      {&cnn::kTrivial, 227 * 227 * 3 + 1 + 4096 + 4096 + 4096 * 1001 + 1001},
      {&cnn::kLenet5,
       75 * 32 + 32 + 25 * 32 * 64 + 64 + 7 * 7 * 64 * 512 + 512 + 512 * 1001 + 1001},
      {&cnn::kAlexnet, 61'842'345},
      {&cnn::kVgg16, 138'361'641},    // 138.36 M
      {&cnn::kResnet50, 25'559'081},  // 25.56 M
  };
  for (const auto& entry : sizes) {
    const cnn::Network* network = entry.first;
    CAPTURE(network->name);
    Graph graph;
    const auto guard = graph.as_default();
    built(*network);
    CHECK(trained_values() == entry.second);
  }
  Graph graph;
  const auto guard = graph.as_default();
  built(cnn::kResnet50);
  std::vector<std::string> names;
  for (const Variable& variable : tf::trainable_variables()) names.push_back(variable.name());
  CHECK(names.size() == 161);
  CHECK(names[0] == "cg/conv0/conv2d/kernel:0");
  CHECK(names[1] == "cg/conv0/batchnorm0/gamma:0");
  CHECK(names[3] == "cg/resnet_v10/conv1/conv2d/kernel:0");
  CHECK(names.back() == "cg/affine0/biases:0");
}

TEST_CASE("towers that share variables in any way begin at the loss of a guess") {
  for (const bool simulated : {false, true}) {
    for (const std::string& word : models::variable_update_words()) {
      const VariableUpdate update = models::variable_update(word);
      if (update == VariableUpdate::replicated && !simulated) continue;
      CAPTURE(word);
      CAPTURE(simulated);
      models::StepBenchOptions options{.num_towers = 2, .batch_size = 4};
      if (simulated) options.devices.simulated = {.count = 2};
      const auto bench = UpdateBench::make(update, lenet5(), options);
      const auto steps = bench->steps(3);
      REQUIRE(steps.size() == 3);
      // ln(1001), what the initial logits add, and the weight decay.
      CHECK(steps[0].loss > 6.5F);
      CHECK(steps[0].loss < 8.5F);
      for (const models::UpdateStep& step : steps) CHECK(step.seconds > 0);
      CHECK(bench->remark().empty() == (update != VariableUpdate::async));
    }
  }
  CHECK(testing::error_text([] {
          models::variable_update("replicate");
        }).find("nearest existing: 'replicated'") != std::string::npos);
}

TEST_CASE("relaxed consistency and staged variables delay a step, where towers share variables") {
  const auto losses = [](VariableUpdate update, bool deferred, bool staged, bool simulated) {
    models::StepBenchOptions options{.num_towers = 2,
                                     .batch_size = 4,
                                     .deferred_gradients = deferred,
                                     .staged_variables = staged};
    if (simulated) options.devices.simulated = {.count = 2};
    std::vector<double> found;
    for (const auto& step : UpdateBench::make(update, lenet5(), options)->steps(4)) {
      found.push_back(step.loss);
    }
    return found;
  };
  const auto server = VariableUpdate::parameter_server;
  const auto strong = losses(server, false, false, false);
  const auto deferred = losses(server, true, false, false);
  const auto staged = losses(server, false, true, false);
  const auto both = losses(server, true, true, false);
  // The batch is the same in each step: a loss that repeats is that of the same variables.
  CHECK(deferred[0] == strong[0]);
  CHECK(deferred[1] == deferred[0]);
  CHECK(deferred[2] == doctest::Approx(strong[1]).epsilon(1e-5));
  CHECK(staged[0] == strong[0]);
  CHECK(staged[1] == staged[0]);
  CHECK(staged[2] == doctest::Approx(strong[1]).epsilon(1e-5));
  CHECK(both[2] == both[0]);
  CHECK(both[3] < both[0]);
  for (const bool with_staged : {false, true}) {
    const auto expected = with_staged ? both : deferred;
    const auto replicated = losses(VariableUpdate::replicated, true, with_staged, true);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CHECK(replicated[i] == doctest::Approx(expected[i]).epsilon(1e-5));
    }
  }
}

TEST_CASE("a benchmark refuses delays that its model or its variable update cannot have") {
  const auto text = [](const char* name, VariableUpdate update, bool deferred) {
    return testing::error_text([&] {
      const models::Model& model = std::string(name) == "lenet5" ? lenet5() : models::find(name);
      UpdateBench::make(
          update, model,
          {.batch_size = 2, .deferred_gradients = deferred, .staged_variables = !deferred});
    });
  };
  for (const bool deferred : {false, true}) {
    CHECK_SAYS(text("lenet5", VariableUpdate::independent, deferred), "ValueError",
               "'independent'");
    CHECK_SAYS(text("lenet5", VariableUpdate::async, deferred), "ValueError", "'async'");
  }
  CHECK_SAYS(text("cifar10", VariableUpdate::parameter_server, false), "ValueError",
             "model 'cifar10' cannot stage its variables");
  CHECK_SAYS(text("resnet20", VariableUpdate::parameter_server, true), "ValueError",
             "there are no gradients to keep", "tf::gradients");
}

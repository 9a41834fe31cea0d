// Training on emulated GPUs gives the values of the CPU, whatever the delays of streams and the
// order of blocks.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda/classifier.h"
#include "tests/models/steps.h"
#include "tests/support/cuda_devices.h"
#include "tests/support/error_text.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::kSteps;
using testing::largest_difference;
using testing::Start;
using testing::Step;
using testing::trained;

namespace {

ConfigProto on_gpus(int count, std::uint64_t seed = 0) {
  ConfigProto config{.allow_soft_placement = true};
  if (count > 0) config.cuda = testing::cuda_devices(count, seed);
  return config;
}

}  // namespace

TEST_SUITE("training on emulated GPUs") {
  TEST_CASE("models on two towers give the CPU's values") {
    for (const auto& model : kSteps) {
      const std::string& name = model.first;
      const auto make = model.second;
      CAPTURE(name);
      const auto expected = trained(make, {.allow_soft_placement = true});
      std::string report;
      const auto found = trained(make, on_gpus(2), [&](Session& session, const Step& step) {
        report = session.plan_report(step.fetches, step.feeds);
      });
      // How far a step moves values that are rounded otherwise depends on the processor's kernels.
      const auto rounded = trained(make, {.allow_soft_placement = true}, {}, Start::rounded);
      const double moved = largest_difference(rounded, expected);
      CAPTURE(moved);
      CHECK(largest_difference(found, expected) < std::max(1e-5, 4 * moved));
      const bool two = testing::cuda_devices(2).count == 2;
      CHECK((report.find("device:GPU:1, compute") != std::string::npos) == two);
      CHECK(report.find("[" + testing::cuda_label("cuBLASLt") + "]") != std::string::npos);
    }
  }

  TEST_CASE("mnist runs on GPUs alone but for its updates and its input") {
    std::string report;
    trained(kSteps.at("mnist"), on_gpus(2), [&](Session& session, const Step& step) {
      report = session.plan_report(step.fetches, step.feeds);
    });
    const std::pair<const char*, const char*> kernels[] = {
        {"_FusedConv2D", "cuDNN"},        {"_FusedMatMul", "cuBLASLt"},
        {"_MaxPoolReluGrad", "cuda"},     {"Conv2DBackpropFilter", "cuDNN"},
        {"Conv2DBackpropInput", "cuDNN"}, {"SparseSoftmaxCrossEntropyWithLogits", "cuda"}};
    for (const auto& [op, library] : kernels) {
      const std::string kernel = std::string(op) + " [" + testing::cuda_label(library) + "]";
      CAPTURE(kernel);
      CHECK(report.find(kernel) != std::string::npos);
    }
    for (const char* kernel :
         {"Conv2D [oneDNN", "MatMul [oneDNN", "MaxPool [simd", "Relu [simd", "BiasAddGrad [simd"}) {
      CAPTURE(kernel);
      CHECK(report.find(kernel) == std::string::npos);
    }
  }

  TEST_CASE("delays and the order of blocks change no bit") {
    const auto expected = trained(kSteps.at("mnist"), on_gpus(2));
    for (const std::uint64_t seed : {0, 1, 2, 3}) {
      CAPTURE(seed);
      CHECK(trained(kSteps.at("mnist"), on_gpus(2, seed)) == expected);
    }
  }

  TEST_CASE("a label that is no class is an error with the CPU's text, and changes nothing") {
    Graph graph;
    const auto guard = graph.as_default();
    const testing::Classifier model;
    Session session(graph, on_gpus(1));
    session.run(tf::global_variables_initializer());
    const Array before = session.run(model.weights);
    const auto run = [&](std::vector<std::int32_t> labels) {
      session.run(model.train, {{model.labels, Array::of(Shape{4}, labels)}});
    };
    const std::string text = testing::error_text([&] { run({0, 1, 9, 2}); });
    CAPTURE(text);
    CHECK(text.find("Received a label value of 9 which is outside the valid range of [0, 5).") !=
          std::string::npos);
    CHECK(text.find("SparseSoftmaxCrossEntropyWithLogits") != std::string::npos);
    CHECK(text.find("classifier.h:") != std::string::npos);
    CHECK(session.run(model.weights) == before);
    run({0, 1, 4, 2});  // the next step works
    CHECK(session.run(model.weights) != before);
  }

  TEST_CASE("a product takes the sum with a matrix of its shape along") {
    for (const bool gpus : {false, true}) {
      CAPTURE(gpus);
      Graph graph;
      const auto guard = graph.as_default();
      const auto gpu = tf::device("/gpu:0");
      const Tensor a = tf::placeholder(tf::float32, {.shape = {2, 3}});
      const Tensor c = tf::placeholder(tf::float32, {.shape = {2, 2}});
      const Tensor y = tf::nn::relu(tf::matmul(a, tf::transpose(a)) + c);
      Session session(graph, on_gpus(gpus ? 1 : 0));
      const Feeds feeds{{a, testing::ramp({2, 3})},
                        {c, Array::of(Shape{2, 2}, std::vector<float>{-9, 1, 2, 3})}};
      const Array found = session.run(y, feeds);
      const Array ramp = testing::ramp({2, 3});
      const float* x = ramp.data<float>();
      CHECK(found.data<float>()[0] == 0);
      CHECK(found.data<float>()[1] ==
            doctest::Approx(1 + x[0] * x[3] + x[1] * x[4] + x[2] * x[5]).epsilon(1e-6));
      const std::string report = session.plan_report(std::vector<Fetch>{y}, feeds);
      CAPTURE(report);
      const std::string library = gpus ? testing::cuda_label("cuBLASLt") : "oneDNN";
      CHECK(report.find("_FusedMatMul [" + library + "]") != std::string::npos);
    }
  }

  TEST_CASE("a program that needs more memory than a GPU has is told so") {
    if (!testing::cuda_devices(1).emulated) return;
    Graph graph;
    const auto guard = graph.as_default();
    const auto gpu = tf::device("/gpu:0");
    const Tensor big = tf::zeros({64, 1024, 1024}) + tf::placeholder(tf::float32, {.shape = {1}});
    ConfigProto config = on_gpus(1);
    config.cuda.memory = std::size_t{16} << 20;
    Session session(graph, config);
    const std::string text = testing::error_text([&] {
      session.run(tf::reduce_sum(big), {{big.op().input(1), Array::zeros(tf::float32, {1})}});
    });
    CAPTURE(text);
    CHECK(text.find("/device:GPU:0 is out of memory") != std::string::npos);
  }
}

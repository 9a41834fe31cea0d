// Layers in float16 and bfloat16 on two towers with a dynamic loss scale: emulated GPUs against
// CPUs, and against layers in float32.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/graph/short_float.h"
#include "tests/support/cuda_devices.h"
#include "towerflow/tf.h"

using namespace towerflow;

namespace {

/// What a training gave.
struct Outcome {
  std::vector<float> losses;   ///< of each step
  std::vector<float> weights;  ///< of the first layer, in the end
  float scale = 0;
  std::string report;
};

/// Trains a convolution, batch normalisation, pooling and a matrix for four steps; the images of
/// the third are too large for float16.
Outcome trained(DType dtype, ConfigProto config) {
  Graph graph;
  const auto guard = graph.as_default();
  tf::set_random_seed(3);
  const Tensor images = tf::placeholder(tf::float32, {.shape = Shape{2, 4, 12, 12, 3}});
  const auto weights = [dtype](const char* name, const Shape& shape) {
    return tf::cast(tf::get_variable(name, shape), dtype);
  };
  tf::train::experimental::MixedPrecisionLossScaleOptimizer opt(
      tf::train::MomentumOptimizer(0.1, 0.9), "dynamic");
  std::vector<Tensor> losses;
  const tf::parallel::Towers towers(
      opt,
      [&](int tower, const std::string&) {
        const Tensor x = tf::cast(tf::gather(images, tower), dtype);
        const Tensor convolved =
            tf::nn::conv2d(x, weights("filter", {3, 3, 3, 8}), {1, 1, 1, 1}, "SAME");
        const Variable scale =
            tf::get_variable("scale", {8}, {.initializer = tf::ones_initializer()});
        const Variable offset =
            tf::get_variable("offset", {8}, {.initializer = tf::zeros_initializer()});
        const Tensor normal = tf::nn::fused_batch_norm(convolved, scale, offset).y;
        const Tensor biased = tf::nn::bias_add(tf::nn::relu(normal), weights("bias", {8}));
        const Tensor pooled = tf::nn::max_pool(biased, {1, 2, 2, 1}, {1, 2, 2, 1}, "SAME");
        const Tensor logits =
            tf::matmul(tf::reshape(pooled, {4, 6 * 6 * 8}), weights("matrix", {6 * 6 * 8, 5}));
        losses.push_back(tf::reduce_mean(tf::nn::sparse_softmax_cross_entropy_with_logits(
            {.labels = tf::constant({1, 2, 3, 4}), .logits = tf::cast(logits, tf::float32)})));
        return losses.back();
      },
      {.num_towers = 2});
  config.allow_soft_placement = true;
  Session session(graph, config);
  session.run(tf::global_variables_initializer());
  Outcome made;
  const Array input = session.run(tf::random_normal(images.shape(), {.seed = 7}));
  Array large = input.copy();
  large.data<float>()[100] = 1e6F;
  const std::vector<Fetch> fetches{towers.train_op, losses[0], losses[1]};
  for (const Array& fed : {input, input, large, input}) {
    const auto found = session.run(fetches, {{images, fed}});
    made.losses.push_back(found[1].item<float>() + found[2].item<float>());
  }
  made.report = session.plan_report(fetches, {{images, input}});
  const Array last = session.run(graph.get_tensor_by_name("filter:0"));
  made.weights.assign(last.data<float>(), last.data<float>() + last.elements());
  made.scale = session.run(opt.loss_scale()()).item<float>();
  return made;
}

float largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

std::vector<float> numbers(const Array& array) {
  const Array wide = widened(array);
  const auto all = wide.flat<float>();
  return {all.begin(), all.end()};
}

ConfigProto on_gpus() {
  ConfigProto config;
  config.cuda = testing::cuda_devices(2);
  return config;
}

}  // namespace

TEST_CASE("layers in float16 on GPUs train as on CPUs, and skip a step that overflows") {
  const Outcome cpu = trained(tf::float16, {}), gpu = trained(tf::float16, on_gpus());
  CHECK(cpu.scale == 16384);
  CHECK(gpu.scale == 16384);
  CHECK(std::isnan(cpu.losses[2]));
  CHECK(std::isnan(gpu.losses[2]));
  for (const std::size_t step : {0, 1, 3}) {
    CAPTURE(step);
    CHECK(gpu.losses[step] == doctest::Approx(cpu.losses[step]).epsilon(2e-3));
  }
  CHECK(gpu.losses[1] < gpu.losses[0]);
  CHECK(gpu.losses[3] < gpu.losses[1]);
  CHECK(largest_difference(gpu.weights, cpu.weights) < 2e-3F);
  const std::string cuda = "[" + testing::cuda_label("cuda") + "]";
  for (const std::string& kernel :
       {"Conv2D [" + testing::cuda_label("cuDNN"), "MatMul [" + testing::cuda_label("cuBLASLt"),
        "FusedBatchNormV3 " + cuda, "BiasAddGrad " + cuda, "MaxPoolGrad " + cuda}) {
    CAPTURE(kernel);
    CHECK(gpu.report.find(kernel) != std::string::npos);
  }
}

TEST_CASE("layers in bfloat16 on GPUs train as on CPUs") {
  const Outcome cpu = trained(tf::bfloat16, {}), gpu = trained(tf::bfloat16, on_gpus());
  CHECK(cpu.scale == 32768);
  CHECK(gpu.scale == 32768);
  for (const std::size_t step : {0, 1, 2, 3}) {
    CAPTURE(step);
    CHECK(gpu.losses[step] == doctest::Approx(cpu.losses[step]).epsilon(2e-2));
  }
}

TEST_CASE("variables in float16 have the same values whatever computes the towers") {
  const auto trained_on = [](ConfigProto config, VariableHome home) {
    Graph graph;
    const auto guard = graph.as_default();
    tf::set_random_seed(1);
    tf::train::AdamOptimizer opt(0.01, {.epsilon = 1e-3});
    const tf::parallel::Towers towers(
        opt,
        [](int tower, const std::string&) {
          const Tensor x = tf::constant({{0.5, 1.0, 2.0}}, {.dtype = tf::float16}) * (tower + 1);
          return tf::reduce_sum(
              tf::square(tf::layers::dense(x, 4, {.activation = tf::nn::relu, .name = "dense"})));
        },
        {.num_towers = 2, .home = home});
    config.allow_soft_placement = true;
    Session session(graph, config);
    session.run(tf::global_variables_initializer());
    for (int step = 0; step < 3; ++step) session.run(towers.train_op);
    return session.run(graph.get_tensor_by_name("dense/kernel:0"));
  };
  const Array expected = trained_on({}, VariableHome::host);
  CHECK(expected.dtype() == DType::float16);
  for (const VariableHome home :
       {VariableHome::host, VariableHome::device, VariableHome::mirrored}) {
    CHECK(trained_on({.simulated = {.count = 2}}, home) == expected);
    const Array found = trained_on(on_gpus(), home);
    CHECK(largest_difference(numbers(found), numbers(expected)) < 2e-3F);
  }
}

TEST_CASE("layers in short dtypes train nearly as those in float32") {
  const Outcome wide = trained(tf::float32, {});
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    const Outcome cpu = trained(dtype, {});
    const double tolerance = dtype == DType::float16 ? 5e-3 : 4e-2;
    CHECK(cpu.losses[0] == doctest::Approx(wide.losses[0]).epsilon(tolerance));
    CHECK(cpu.losses[1] == doctest::Approx(wide.losses[1]).epsilon(tolerance));
  }
}

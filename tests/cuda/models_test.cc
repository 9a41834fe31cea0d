// Every model trains on one, two and four emulated GPUs to the CPU's values, and to the same bits
// whatever the delays of streams and the order of blocks.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "models/inception3/inception3.h"
#include "tests/cuda/small_models.h"
#include "tests/models/contract_models.h"
#include "tests/support/cuda_devices.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::largest_difference;
using testing::small_models;
using testing::SmallModel;
using testing::Start;
using testing::two_steps;

namespace {

CudaDevices gpus(int count, std::uint64_t seed) {
  CudaDevices devices = testing::cuda_devices(count);
  devices.seed += seed;
  return devices;
}

/// Returns the length of the difference of all numbers, relative to that of the expected ones.
double relative_distance(const std::vector<Array>& found, const std::vector<Array>& expected) {
  double squares = 0, all = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].empty() || found[i].dtype() != float32) continue;
    for (std::int64_t k = 0; k < found[i].elements(); ++k) {
      const double wanted = expected[i].data<float>()[k];
      const double off = found[i].data<float>()[k] - wanted;
      squares += off * off;
      all += wanted * wanted;
    }
  }
  return std::sqrt(squares / all);
}

/// Returns the losses of a step of Inception v3 on the smallest images that its auxiliary head
/// takes, and the momenta after it, which its gradients make.
std::vector<Array> inception_step(int towers, const CudaDevices& cuda,
                                  std::string* report = nullptr) {
  constexpr std::int64_t kSide = 107;
  Graph graph;
  const auto guard = graph.as_default();
  tf::set_random_seed(11);
  const auto built = models::inception3::build_towers(
      {.num_towers = towers, .batch_size = 4, .examples = 64, .classes = 9}, [] {
        return [] {
          const auto cpu = tf::device("/cpu:0");
          const Array images = testing::features_of(1, {4, kSide, kSide, 3});
          return models::Batch{tf::constant(images) - 0.5F, tf::constant({3, 1, 0, 7})};
        };
      });
  ConfigProto config{.allow_soft_placement = true};
  config.cuda = cuda;
  Session session(graph, config);
  session.run(tf::global_variables_initializer());
  session.run(tf::local_variables_initializer());
  std::vector<Fetch> step{built.train_op};
  for (const Tensor& loss : built.losses) step.emplace_back(loss);
  std::vector<Array> values = session.run(step);
  std::vector<Fetch> momenta;
  for (const tf::Variable& variable : tf::global_variables()) {
    if (variable.name().find("/RMSProp_1") != std::string::npos) momenta.emplace_back(variable);
  }
  CHECK(momenta.size() > 190);
  for (Array& value : session.run(momenta)) values.push_back(std::move(value));
  if (report != nullptr) *report = session.plan_report(step, {});
  return values;
}

}  // namespace

TEST_SUITE("models on emulated GPUs") {
  TEST_CASE("models train to the CPU's values, repeatably") {
    for (const SmallModel& small : small_models()) {
      const std::string name = small.model->name;
      CAPTURE(name);
      for (const int count : {1, 2, 4}) {
        CAPTURE(count);
        std::string report;
        const auto expected = two_steps(small, count, {});
        const auto found = two_steps(small, count, gpus(count, 1), &report);
        CHECK(expected.size() == found.size());
        const auto rounded = two_steps(small, count, {}, nullptr, Start::rounded);
        const double moved = largest_difference(rounded, expected);
        CHECK(largest_difference(found, expected) < std::max(1e-5, 4 * moved));
        if (count == 2) CHECK(two_steps(small, count, gpus(count, 2)) == found);
        CAPTURE(report);
        for (const std::string& kernel : small.kernels) {
          CAPTURE(kernel);
          CHECK(report.find(kernel + "[" + testing::cuda_label("cuda") + "]") != std::string::npos);
        }
        const std::string last = "device:GPU:" + std::to_string(gpus(count, 0).count - 1);
        CHECK(report.find(last + ", compute") != std::string::npos);
      }
    }
  }

  TEST_CASE("inception3 has the CPU's loss and gradient") {
    std::string report;
    const auto expected = inception_step(1, {});
    const auto found = inception_step(1, gpus(1, 1), &report);
    CHECK(expected.size() == found.size());
    CHECK(largest_difference({found[1]}, {expected[1]}) < 1e-5);
    // Among millions of activations some are so near to 0, or to their neighbour in a pool, that
    // rounding decides where the gradient goes; it has the direction of the CPU's all the same.
    CHECK(relative_distance(found, expected) < 0.1);
    CAPTURE(report);
    for (const char* library : {"cuDNN", "cuBLASLt", "cuda"}) {
      CHECK(report.find("[" + testing::cuda_label(library) + "]") != std::string::npos);
    }
  }
}

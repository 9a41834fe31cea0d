// Values that are computed in memory of the kernel that reads them.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "core/device/cpu/cpu_backend.h"
#include "core/device/kernel.h"
#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "tests/support/eager.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::array_of;

namespace {

constexpr std::size_t kPlace = 64 * 1024;  // bytes for each input

/// The memory of a node.
struct TestMemory final : Resource {
  Array places{DType::uint8, Shape{4 * kPlace}};
  std::byte* place(std::size_t i) { return static_cast<std::byte*>(places.raw()) + i * kPlace; }
};

/// Tells which inputs are in the memory, and the sum of each.
class FindInputs final : public PreparedKernel {
 public:
  explicit FindInputs(const KernelRequest& request) : node_(request.node) {
    for (const TensorDesc& input : request.inputs) elements_.push_back(input.shape.elements());
  }

  bool has_input_memory() const override { return true; }
  std::shared_ptr<void> input_memory(ResourceStore& resources,
                                     std::span<void*> addresses) const override {
    for (std::size_t i = 0; i < addresses.size(); ++i) addresses[i] = memory(resources).place(i);
    return memory(resources).places.owner();
  }

  void enqueue(Queue&, const LaunchArgs& args) const override {
    TestMemory& own = memory(args.run->resources);
    for (std::size_t i = 0; i < 4; ++i) {
      const auto* values = args.input<float>(i);
      args.output<bool>(0)[i] = args.input<std::byte>(i) == own.place(i);
      args.output<float>(1)[i] = std::accumulate(values, values + elements_[i], 0.0F);
    }
  }

 private:
  TestMemory& memory(ResourceStore& resources) const {
    return resources.resource<TestMemory>(node_, [] { return std::make_unique<TestMemory>(); });
  }

  std::string node_;
  std::vector<std::int64_t> elements_;
};

/// Adds the op that finds its inputs; returns where they are and their sums.
std::vector<Tensor> find_inputs(const std::vector<Tensor>& values) {
  [[maybe_unused]] static const bool added = [] {
    OpRegistry::global().add({.name = "TestFindInputs",
                              .inputs = {"values: N * T"},
                              .outputs = {"inside: bool", "sums: T"},
                              .shape =
                                  [](InferenceContext& context) {
                                    context.add_output(DType::bool_, Shape{4});
                                    context.add_output(context.dtype(0), Shape{4});
                                  },
                              .gradient = NoGradient{"for tests"},
                              .effect = Effect::stateful});
    cpu_kernels().add({.op = "TestFindInputs",
                       .label = "test",
                       .accepts = {},
                       .prepare = [](const KernelRequest& request) {
                         return std::make_unique<FindInputs>(request);
                       }});
    return true;
  }();
  const Operation op =
      OpBuilder("TestFindInputs", "find", Site::current()).inputs(values, "values").build();
  return {op.output(0), op.output(1)};
}

}  // namespace

TEST_CASE("a value is computed in the memory of a kernel that reads it, once and if it can be") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(float32, {.shape = {100}});
  const Tensor constant = tf::ones({100});
  const Tensor e = tf::exp(x), later = e * 3.0F;
  const auto found = find_inputs({e, x, constant, e});
  Session session;
  for (const float value : {0.5F, 1.5F, -1.0F}) {
    const Array fed = array_of(float32, {100}, std::vector<double>(100, value));
    const auto got = session.run({found[0], found[1], e, later}, {{x, fed}});
    CHECK(testing::numbers(got[0]) == std::vector<double>{1, 0, 0, 0});
    const float power = std::exp(value);
    CHECK(got[1].flat<float>()[0] == doctest::Approx(100 * power));
    CHECK(got[1].flat<float>()[1] == doctest::Approx(100 * value));
    CHECK(got[1].flat<float>()[2] == 100);
    CHECK(got[1].flat<float>()[3] == got[1].flat<float>()[0]);
    CHECK(got[2].flat<float>()[99] == doctest::Approx(power));
    CHECK(got[3].flat<float>()[99] == doctest::Approx(3 * power));
  }
}

TEST_CASE("a value that another one overwrites in place is in the memory too") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(float32, {.shape = {100, 100}});
  const Tensor once = tf::matmul(x, x, {.name = "once"});
  const Tensor twice = tf::matmul(x, x, {.transpose_b = true, .name = "twice"});
  const auto found = find_inputs({tf::nn::relu(once) + x, twice + x, tf::exp(x), tf::ones({100})});
  const std::vector<Fetch> fetches{found[0], found[1], tf::reduce_max(twice)};
  Session session;
  const Feeds feeds{{x, array_of(float32, {100, 100}, std::vector<double>(10000, 1))}};
  for (int run = 0; run < 3; ++run) {
    const auto got = session.run(fetches, feeds);
    CHECK(testing::numbers(got[0]) == std::vector<double>{1, 1, 1, 0});
    CHECK(got[1].flat<float>()[0] == 1010000);
    CHECK(got[1].flat<float>()[1] == 1010000);
    CHECK(got[2].flat<float>()[0] == 100);
  }
  const std::string plan = session.plan_report(fetches, feeds);
  CHECK_MESSAGE(plan.find("once: feed:(100, 100) feed:(100, 100) -> given:") != plan.npos, plan);
  // It is read after the sum that could take its memory.
  CHECK_MESSAGE(plan.find("twice: feed:(100, 100) feed:(100, 100) -> (100, 100)@") != plan.npos,
                plan);
}

// A backend that a program adds: all models run on it although it lacks kernels.
#include <doctest/doctest.h>

#include <set>

#include "core/device/backend_registry.h"
#include "core/device/sim/sim_backend.h"
#include "tests/models/steps.h"

using namespace towerflow;
using testing::kSteps;
using testing::largest_difference;
using testing::Step;

namespace {

/// Ops without a kernel on the backend, besides those that only rewrites make.
std::set<std::string> unsupported_ops;

/// An accelerator with kernels for single ops, but none for fused ops.
class PlainBackend final : public SimBackend {
 public:
  explicit PlainBackend(int count) : SimBackend({.count = count, .latency = 0}) {}
  const char* type() const override { return "PLAIN"; }
  const char* kind() const override { return "a plain accelerator"; }
  const KernelEntry* find_kernel(const KernelRequest& request) const override {
    const std::string& op = request.op->name;
    return op.starts_with("_") || unsupported_ops.contains(op) ? nullptr
                                                               : SimBackend::find_kernel(request);
  }
};

ConfigProto plain_config(bool soft = true) {
  static const bool added = [] {
    add_backend({"PLAIN", [](const ConfigProto& config) -> std::shared_ptr<Backend> {
                   const auto count = config.device_count.find("PLAIN");
                   if (count == config.device_count.end()) return nullptr;
                   return std::make_shared<PlainBackend>(count->second);
                 }});
    return true;
  }();
  REQUIRE(added);
  return {.device_count = {{"PLAIN", 2}}, .allow_soft_placement = soft};
}

struct Outcome {
  std::vector<Array> values;
  std::string report;
  std::vector<Placement> placements;
};

Outcome run(Step (*make)(), const ConfigProto& config) {
  Outcome ran;
  ran.values = testing::trained(make, config, [&](Session& session, const Step& step) {
    ran.report = session.plan_report(step.fetches, step.feeds);
    ran.placements = session.placements(step.fetches);
  });
  return ran;
}

/// Returns how many nodes of `op`, or of any op for "", are placed on a device.
int placed_on(const std::vector<Placement>& placements, const std::string& op,
              const std::string& device) {
  return static_cast<int>(
      std::count_if(placements.begin(), placements.end(), [&](const Placement& placement) {
        return (op.empty() || placement.op == op) &&
               placement.given.find(device) != std::string::npos;
      }));
}

}  // namespace

TEST_CASE("a backend without fused kernels runs every model") {
  for (const auto& model : kSteps) {
    const std::string& name = model.first;
    const auto make = model.second;
    CAPTURE(name);
    unsupported_ops.clear();
    const Outcome expected = run(make, {.allow_soft_placement = true});
    const Outcome ran = run(make, plain_config());
    CHECK(largest_difference(ran.values, expected.values) < 1e-5);
    CHECK(placed_on(ran.placements, "", "device:PLAIN:1") > 0);
    const auto launched = ran.report.find("[simulated, ");
    CHECK(launched != std::string::npos);
    for (const char* fused : {"_FusedMatMul", "_FusedConv2D", "_Elementwise", "_MaxPoolReluGrad"}) {
      CHECK(ran.report.find(std::string(fused) + " [simulated") == std::string::npos);
    }
  }
}

TEST_CASE(
    "a backend that lacks kernels: soft placement moves their nodes, strict mode names them") {
  for (const auto& model : kSteps) {
    const std::string& name = model.first;
    const auto make = model.second;
    for (const char* op : {"MatMul", "Relu", "Mul", "Sum"}) {
      CAPTURE(name);
      CAPTURE(op);
      unsupported_ops = {op};
      const Outcome expected = run(make, {.allow_soft_placement = true});
      const Outcome ran = run(make, plain_config());
      CHECK(largest_difference(ran.values, expected.values) < 1e-5);
      CHECK(placed_on(ran.placements, op, "PLAIN") == 0);
    }
  }
  unsupported_ops = {"Tanh"};
  Graph graph;
  const auto guard = graph.as_default();
  Tensor y;
  {
    const auto gpu = tf::device("/device:PLAIN:1");
    y = tf::tanh(tf::constant(1.0F) * tf::placeholder(float32, {.shape = {}, .name = "x"}),
                 {.name = "missing"});
  }
  Session strict(graph, plain_config(false));
  CHECK_THROWS_WITH_AS(strict.run(y, {{graph.get_tensor_by_name("x:0"), 2.0F}}),
                       doctest::Contains("no supported kernel for PLAIN devices"),
                       errors::InvalidArgumentError);
  CHECK_THROWS_WITH(strict.run(y, {{graph.get_tensor_by_name("x:0"), 2.0F}}),
                    doctest::Contains("node: missing"));
  unsupported_ops.clear();
}

TEST_CASE("a backend is registered once, with what it needs") {
  const auto none = [](const ConfigProto&) { return std::shared_ptr<Backend>(); };
  CHECK_THROWS_WITH_AS(add_backend({"CPU", none}),
                       doctest::Contains("backend 'CPU' is registered already"), ValueError);
  CHECK_THROWS_AS(add_backend({"", none}), ValueError);
  CHECK_THROWS_AS(add_backend({"NONE", {}}), ValueError);
}

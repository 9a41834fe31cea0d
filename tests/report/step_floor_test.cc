#include <doctest/doctest.h>

#include "report/step_report.h"

namespace towerflow::report {
namespace {

NodeStats product(const char* node, const char* device, double seconds) {
  return {.node = node, .op = "MatMul", .device = device, .end = seconds, .flops = 8, .bytes = 2};
}

RunMetadata step_of(std::vector<NodeStats> nodes) {
  return {.nodes = std::move(nodes), .seconds = 1};
}

TEST_CASE("the floor of a step counts the work of every tower") {
  // A single tower's product took 3 s on two cores and 8 s on one, which would be 4 s on two.
  const std::vector<IsolatedSteps> alone{{2, {step_of({product("tower_0/a", "CPU:0", 3)})}},
                                         {1, {step_of({product("tower_0/a", "CPU:0", 8)})}}};
  const RunMetadata one = step_of({product("tower_0/a", "CPU:0", 5)});
  CHECK(step_floor(one, alone, 2, 1e9) == doctest::Approx(3));
  // With two towers at once, a product may sometimes have had both cores, so its 2 s do not lower
  // the floor.
  const RunMetadata two =
      step_of({product("tower_0/a", "CPU:0", 2), product("tower_1/a", "CPU:1", 7)});
  CHECK(step_floor(two, alone, 2, 1e9) == doctest::Approx(6));
}

TEST_CASE("the floor of a step: passes and updates by their bytes, waits and copies not at all") {
  NodeStats pass{.node = "relu", .op = "ReluGrad", .bytes = 4};
  NodeStats update{.node = "apply", .op = "ApplyMomentum", .updates = true, .flops = 9, .bytes = 6};
  NodeStats wait{.kind = NodeStats::Kind::wait, .end = 5};
  NodeStats copy{.kind = NodeStats::Kind::copy, .end = 5, .bytes = 100};
  CHECK(step_floor(step_of({pass, update, wait, copy}), {}, 2, 2) == doctest::Approx(5));
}

TEST_CASE("the floor of a step: a product that was never seen alone had one core at least") {
  CHECK(step_floor(step_of({product("a", "CPU:0", 4)}), {}, 2, 1e9) == doctest::Approx(2));
}

}  // namespace
}  // namespace towerflow::report

// Colocation groups: the device constraints of their members are merged, and conflicts are refused.
// The expectations are what TensorFlow 2.21 does with three CPUs.
#include <doctest/doctest.h>

#include <string>

#include "towerflow/tf.h"

namespace towerflow {
namespace {

ConfigProto three_cpus(bool soft) {
  return {.device_count = {{"CPU", 3}}, .allow_soft_placement = soft};
}

TEST_CASE("a mistyped number of devices is refused before any is made") {
  Graph graph;
  for (const int count : {-1, 0, 1025, 1 << 30}) {
    CAPTURE(count);
    CHECK_THROWS_WITH_AS(Session(graph, {.device_count = {{"CPU", count}}}),
                         doctest::Contains("from 1 to 1024"), ValueError);
  }
}

/// Returns the device on which a session places the node, as in "CPU:1".
std::string placed_device(const Fetch& fetch, const std::string& node, bool soft = true) {
  Session session(three_cpus(soft));
  for (const Placement& entry : session.placements(std::span<const Fetch>(&fetch, 1))) {
    if (entry.node == node) return entry.given.substr(entry.given.rfind(':') - 3);
  }
  return "nowhere";
}

Tensor unknown(const std::string& name) {
  return nn::relu(random_uniform({2}, {.seed = 1}), {.name = name});
}

Tensor unknown_tensor_on(const std::string& device, const std::string& name) {
  const auto on = tf::device(device);
  return unknown(name);
}

TEST_CASE("a group runs where a later member asks to") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor a = unknown("a");
  const auto beside = colocate_with(a.op());
  const Tensor sum = a + unknown_tensor_on("/cpu:1", "b");
  for (const bool soft : {false, true}) {
    CHECK(placed_device(sum, "a", soft) == "CPU:1");
    CHECK(placed_device(sum, "b", soft) == "CPU:1");
  }
}

TEST_CASE("members that contradict each other are refused, or agree on less softly") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor a = unknown("a");
  const Tensor other = unknown("other");
  {
    const auto beside = colocate_with(a.op());
    unknown_tensor_on("/cpu:1", "b");
  }
  Session strict(three_cpus(false));
  strict.run(other);
  Tensor c;
  {
    const auto beside = colocate_with(a.op());
    c = unknown_tensor_on("/cpu:2", "c");
  }
  // A session places its whole graph, so even a run that does not need the group is refused.
  for (const Tensor& fetch : {c, other, other}) {
    CHECK_THROWS_WITH_AS(strict.run(fetch),
                         doctest::Contains("Cannot merge devices with incompatible ids: "
                                           "'/device:CPU:1' and '/device:CPU:2'"),
                         errors::InvalidArgumentError);
  }
  Session(three_cpus(true)).run(c);
}

TEST_CASE("types that contradict each other") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor a = unknown("a");
  const auto beside = colocate_with(a.op());
  unknown_tensor_on("/cpu:1", "b");
  const Tensor c = unknown_tensor_on("/gpu:1", "c");
  CHECK_THROWS_WITH_AS(Session(three_cpus(false)).run(a),
                       doctest::Contains("incompatible types: '/device:CPU:1' and '/device:GPU:1'"),
                       errors::InvalidArgumentError);
  Session(three_cpus(true)).run(c);
}

TEST_CASE("two groups become one") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor a = unknown("a");
  const Tensor b = unknown("b");
  const auto beside_a = colocate_with(a.op());
  const Tensor on_one = unknown_tensor_on("/cpu:1", "on_one");
  const auto beside_both = colocate_with(b.op());
  const Tensor all = a + b + on_one + unknown("both");
  for (const char* node : {"a", "b", "on_one", "both"}) {
    CAPTURE(node);
    CHECK(placed_device(all, node) == "CPU:1");
  }
}

TEST_CASE("groups that contradict each other become one that asks for no number") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor a = unknown("a");
  const Tensor b = unknown("b");
  Tensor c, d;
  {
    const auto beside = colocate_with(a.op());
    c = unknown_tensor_on("/cpu:1", "c");
  }
  {
    const auto beside = colocate_with(b.op());
    d = unknown_tensor_on("/cpu:2", "d");
  }
  CHECK(placed_device(c + d, "a") == "nowhere");
  CHECK(placed_device(c + d, "d") == "CPU:2");
  const auto beside_a = colocate_with(a.op());
  const auto beside_both = colocate_with(b.op());
  const Tensor all = a + b + c + d + unknown("both");
  for (const char* node : {"a", "b", "c", "d", "both"}) {
    CAPTURE(node);
    CHECK(placed_device(all, node) == "CPU:0");
  }
  CHECK_THROWS_AS(Session(three_cpus(false)).run(all), errors::InvalidArgumentError);
}

}  // namespace
}  // namespace towerflow

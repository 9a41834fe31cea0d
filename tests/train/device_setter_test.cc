// The devices that replica_device_setter requests, compared with TensorFlow's.
#include "train/device_setter.h"

#include "tests/data/support.h"
#include "towerflow/tf.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

void add_variable(const char* name) { Variable(1.0, {.name = name}); }

/// Returns the requested devices of the program of make_utilities.py.
std::string devices_of(const tf::train::ReplicaDeviceSetterOptions& options) {
  Graph graph;
  const auto guard = graph.as_default();
  const DeviceFunction setter = tf::train::replica_device_setter(options);
  {
    const auto replica = tf::device(setter);
    for (const char* name : {"v0", "v1", "v2"}) add_variable(name);
    {
      const auto gpu = tf::device("/gpu:1");
      tf::constant(1.0, {.name = "c"});
      add_variable("g");
    }
    {
      const auto server = tf::device("/job:ps/task:7");
      add_variable("h");
    }
    {
      const auto other = tf::device("/job:other");
      add_variable("o");
    }
  }
  {
    const auto gpu = tf::device("/gpu:1");
    const auto replica = tf::device(setter);
    add_variable("k");
  }
  std::string lines;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    lines += graph.operation(i).name() + " " + graph.operation(i).device() + "\n";
  }
  return lines;
}

}  // namespace

TEST_CASE("replica_device_setter: the devices are TensorFlow's") {
  const tf::train::ClusterSpec cluster{{"ps", {"a:1", "b:1"}}, {"worker", {"c:1"}}};
  const tf::train::ClusterSpec workers{{"worker", {"c:1"}}};
  const std::vector<tf::train::ReplicaDeviceSetterOptions> all{
      {.ps_tasks = 2},
      {.cluster = cluster},
      {.ps_tasks = 1, .ps_device = "/job:a/cpu:0", .worker_device = "/job:w/task:3"},
      {.ps_tasks = 2, .merge_devices = false},
      {.ps_tasks = 3, .ps_ops = {"Const"}},
      {.ps_tasks = 3, .ps_strategy = [](const Operation&) { return 2; }},
      {.cluster = workers},
      {}};
  std::string text;
  for (const auto& options : all) text += (text.empty() ? "" : "\n") + devices_of(options);
  CHECK(text == read_raw("tests/train/golden/device_setter.txt"));
}

TEST_CASE("ClusterSpec: jobs and tasks") {
  const tf::train::ClusterSpec cluster{{"worker", {"c:1", "d:1"}}, {"ps", {"a:1"}}};
  CHECK(cluster.jobs() == std::vector<std::string>{"ps", "worker"});
  CHECK(cluster.num_tasks("worker") == 2);
  CHECK(cluster.task_address("worker", 1) == "d:1");
  CHECK_THROWS_AS(cluster.num_tasks("none"), ValueError);
  CHECK_THROWS_AS(cluster.task_address("ps", 1), ValueError);
}

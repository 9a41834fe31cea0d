// Variables whose home is an accelerator: where they are stored, read and written.
#include <doctest/doctest.h>

#include <map>

#include "core/device/resource_store.h"
#include "tests/core/runtime/two_towers.h"
#include "tests/data/support.h"

using namespace towerflow;
using testing::numbers;
using testing::Program;
using testing::simulated;

namespace {

constexpr VariableHome kDevice = VariableHome::device;

/// Returns the placement of a node and its reason: "SIM:0: its device is its home (as asked)".
std::string placement_and_reason(Session& session, const std::vector<Fetch>& fetches,
                                 const std::string& node) {
  for (const Placement& placement : session.placements(fetches)) {
    if (placement.node == node) {
      return placement.given.substr(placement.given.find("device:") + 7) + ": " + placement.why;
    }
  }
  return "";
}

std::string variable_device(Session& session, const Variable& variable) {
  const std::string text =
      placement_and_reason(session, {variable.initializer()}, variable.op().name());
  return text.substr(0, text.find(": "));
}

/// Returns a variable of two ones on /gpu:0.
Variable ones_on_gpu(const char* name) {
  const auto gpu = tf::device("/gpu:0");
  return tf::get_variable(name, {2}, {.initializer = tf::ones_initializer(), .home = kDevice});
}

}  // namespace

TEST_CASE("the update of a variable runs at its home, which no step uploads it to") {
  Program program(kDevice);
  Session session(program.graph, simulated({.count = 2}));
  session.run(program.init);
  const Feeds feeds = program.feeds(0);
  for (const Transfer& transfer : session.transfers(program.fetches, feeds)) {
    CAPTURE(transfer.value);
    const bool fed = transfer.from.find("CPU") != std::string::npos;
    CHECK(fed == (transfer.value.find("/x") != std::string::npos));
    if (transfer.to.find("CPU") != std::string::npos) {
      CHECK(transfer.readers == std::vector<std::string>{"(fetched)"});
      CHECK_FALSE(transfer.replica);  // the losses
    }
  }
  const std::string report = session.plan_report(program.fetches, feeds);
  CHECK(report.find("_MeanApplyMomentum [simulated, one pass] Momentum/update_w/ApplyMomentum") !=
        std::string::npos);
  CHECK(placement_and_reason(session, {program.train}, "w") ==
        "SIM:0: its device is its home (a simulated accelerator stands in for the GPU)");
  CHECK(placement_and_reason(session, {program.train}, "b/Momentum") ==
        "SIM:1: its device is its home (a simulated accelerator stands in for the GPU)");
  CHECK(placement_and_reason(session, {program.train}, "Momentum/update_b/ApplyMomentum") ==
        "SIM:1: beside b");
  const auto holdings = session.device_holdings(program.fetches, feeds);
  CHECK(holdings[0].variables == 0);
  CHECK(holdings[1].variables == 4);  // w, u and their slots
  CHECK(holdings[2].variables == 2);
  CHECK(holdings[1].variable_bytes == 2 * 8 * (30 + 15));
}

TEST_CASE("what belongs to a variable lives with it") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = ones_on_gpu("w");
  const Variable h = tf::get_variable("h", {2}, {.initializer = tf::ones_initializer()});
  std::map<std::string, VariableHome> homes;
  tf::train::AdamOptimizer opt(0.1);
  opt.minimize(tf::reduce_sum(w * h), {.var_list = {w, h}});
  tf::train::ExponentialMovingAverage average(0.9);
  average.apply({w, h});
  for (const Variable& v : tf::global_variables()) homes.emplace(v.op().name(), v.home());
  const std::map<std::string, VariableHome> expected{
      {"w", kDevice},
      {"w/Adam", kDevice},
      {"w/Adam_1", kDevice},
      {"w/ExponentialMovingAverage", kDevice},
      {"h", VariableHome::host},
      {"h/Adam", VariableHome::host},
      {"h/Adam_1", VariableHome::host},
      {"h/ExponentialMovingAverage", VariableHome::host},
      {"beta1_power", VariableHome::host},  // colocated with h, the first variable by name
      {"beta2_power", VariableHome::host}};
  CHECK(homes == expected);
  Session session(graph, simulated({.count = 1}));
  for (const Variable& v : tf::global_variables()) {
    CHECK(variable_device(session, v) == (v.home() == kDevice ? "SIM:0" : "CPU:0"));
  }
}

TEST_CASE("a scope says where variables live, and a call says otherwise") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto get = [](const char* name, GetVariableOptions options = {}) {
    return tf::get_variable(name, {2}, std::move(options)).home();
  };
  const auto outer = tf::variable_scope("outer", {.home = kDevice});
  CHECK(outer->home() == kDevice);
  CHECK(get("a") == kDevice);
  CHECK(get("b", {.home = VariableHome::host}) == VariableHome::host);
  const auto inner = tf::variable_scope("inner");
  CHECK(get("a") == kDevice);
  inner->set_home(VariableHome::host);
  CHECK(get("c") == VariableHome::host);
  const Variable parts =
      tf::get_variable("d", {4}, {.partitioner = tf::fixed_size_partitioner(2), .home = kDevice});
  CHECK(parts.home() == kDevice);
  CHECK(parts.parts()[1].home() == kDevice);
}

TEST_CASE("a home is part of a graph that is exported") {
  Graph graph, imported;
  GraphDef def;
  {
    const auto guard = graph.as_default();
    ones_on_gpu("w");
    def = graph.as_graph_def();
  }
  const auto guard = imported.as_default();
  tf::import_graph_def(def, {.name = ""});
  Session session(imported, simulated({.count = 1}));
  const Operation assign = imported.get_operation_by_name("w/Assign");
  CHECK(placement_and_reason(session, {assign}, "w").starts_with("SIM:0: its device is its home"));
}

TEST_CASE("a home stays what it was, whatever is asked later") {
  Graph graph;
  const auto guard = graph.as_default();
  Variable w;
  {
    const auto gpu = tf::device("/gpu:1");
    w = tf::get_variable("w", {2}, {.initializer = tf::ones_initializer(), .home = kDevice});
  }
  Session session(graph, simulated({.count = 2}));
  session.run(w.initializer());
  CHECK(variable_device(session, w) == "SIM:1");
  Tensor other;
  {
    const auto gpu = tf::device("/gpu:0");
    other = tf::constant({3.0F, 4.0F}) * 2.0F;
  }
  {  // the group has conflicting device numbers, so it requires none
    const auto beside = tf::colocate_with(w.op());
    const auto same = tf::colocate_with(other.op());
    tf::identity(other, {.name = "both"});
  }
  const Tensor both = graph.get_tensor_by_name("both:0");
  const Tensor sum = w + both;
  CHECK(numbers(session.run(sum)) == std::vector<double>{7, 9});
  CHECK(placement_and_reason(session, {sum}, "w") == "SIM:1: its home since an earlier run");
  ResourceStore& resources = session.resources();
  CHECK_THROWS_WITH_AS(
      resources.variable("w", kHostSpace, float32, {2}, [](std::size_t) { return nullptr; }),
      doctest::Contains(
          "variable 'w' is in memory 17 of this session, but a plan expects it in memory 0"),
      errors::InvalidArgumentError);
}

TEST_CASE("a variable of an accelerator that has no value yet") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = ones_on_gpu("w");
  const Variable twice(w.initialized_value() * 2.0F, {.name = "twice"});
  const Tensor is_set = tf::is_variable_initialized(w);
  const Tensor unset = tf::report_uninitialized_variables();
  const Tensor sum = tf::reduce_sum(w);
  Tensor there;
  {
    const auto gpu = tf::device("/gpu:0");
    there = tf::reduce_sum(w);
  }
  const Tensor added = tf::assign_add(w, tf::ones({2}));
  Session session(graph, simulated({.count = 1}));
  for (const Fetch& fetch : {Fetch(w), Fetch(w.value()), Fetch(sum), Fetch(there), Fetch(added)}) {
    CAPTURE(fetch.operation().name());
    CHECK_THROWS_WITH_AS(session.run(fetch),
                         doctest::Contains("Attempting to use uninitialized value w"),
                         errors::FailedPreconditionError);
  }
  CHECK_FALSE(session.run(is_set).item<bool>());
  CHECK(session.run(unset).elements() == 2);
  // Fetching is_set does not replace the check: without a value, a step fails and writes nothing.
  CHECK_THROWS_AS(session.run({is_set, added}), errors::FailedPreconditionError);
  session.run(twice.initializer());
  CHECK(numbers(session.run(twice)) == std::vector<double>{2, 2});  // from w's initial value
  session.run(w.initializer());
  CHECK(session.run(is_set).item<bool>());
  CHECK(session.run(unset).elements() == 0);
  session.run(added);
  session.run(twice.initializer());
  CHECK(numbers(session.run(twice)) == std::vector<double>{4, 4});
  CHECK(session.run(sum).item<float>() == 4.0F);
  CHECK(placement_and_reason(session, {is_set}, is_set.op().name()) ==
        "CPU:0: it asks the session, not the device");
}

TEST_CASE("what is fetched of a variable is what a CPU gives") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = ones_on_gpu("w");
  const Tensor first = w.read_value(), host = w + 0.5F;
  const Tensor added = tf::assign_add(w, {1.0F, 2.0F});
  Tensor after, seen;
  {
    const auto control = tf::control_dependencies({added});
    after = w.read_value();
    const auto gpu = tf::device("/gpu:1");
    seen = w * 10.0F;
  }
  const Tensor chained = tf::identity(added) * 2.0F;
  const Tensor again = tf::assign_sub(w, {5.0F, 5.0F});
  const std::vector<Fetch> fetches{w, w.value(), first, host, added, after, seen, chained, again};
  std::vector<std::vector<Array>> all;
  for (const int devices : {0, 1, 2}) {
    Session session(graph, simulated({.count = devices}));
    session.run(w.initializer());
    all.push_back(session.run(fetches));
    for (Array& value : session.run(fetches)) all.back().push_back(std::move(value));
    all.back().push_back(session.run(w));
  }
  for (std::size_t i = 0; i < all[0].size(); ++i) {
    CAPTURE(i);
    CHECK(numbers(all[1][i]) == numbers(all[0][i]));
    CHECK(numbers(all[2][i]) == numbers(all[0][i]));
  }
  CHECK(numbers(all[0][1]) == std::vector<double>{1, 1});
  CHECK(numbers(all[0][0]) == std::vector<double>{-3, -2});
}

TEST_CASE("a shape that is read from a variable of an accelerator") {
  Graph graph;
  const auto guard = graph.as_default();
  Variable sizes;
  {
    const auto gpu = tf::device("/gpu:0");
    sizes = Variable(tf::constant({2, 3}), {.name = "sizes", .home = kDevice});
  }
  const Tensor filled = tf::fill(sizes, 7.0F);
  const Tensor turned = tf::assign(sizes, tf::constant({4, 1}));
  Session session(graph, simulated({.count = 1}));
  session.run(sizes.initializer());
  CHECK(variable_device(session, sizes) == "SIM:0");
  CHECK(session.run(filled).shape() == Shape{2, 3});
  session.run(turned);
  CHECK(session.run(filled).shape() == Shape{4, 1});
}

TEST_CASE("a checkpoint does not know homes") {
  const testing::ScratchFolder folder;
  const std::string path = (folder / "model.ckpt").string();
  Program on_host, on_devices(kDevice);
  const auto save = [&](Program& program, const ConfigProto& config) {
    const auto guard = program.graph.as_default();
    Session session(program.graph, config);
    session.run(program.init);
    session.run(program.fetches, program.feeds(0));
    tf::train::Saver(program.variables).save(session, path);
    return program.values(session);
  };
  const auto restored = [&](Program& program, const ConfigProto& config) {
    const auto guard = program.graph.as_default();
    Session session(program.graph, config);
    tf::train::Saver(program.variables).restore(session, path);
    session.run(program.fetches, program.feeds(1));
    return program.values(session);
  };
  const ConfigProto accelerators = simulated({.count = 2});
  const auto there = save(on_devices, accelerators);
  CHECK(restored(on_host, accelerators) == restored(on_devices, accelerators));
  CHECK(save(on_host, {.allow_soft_placement = true}) == there);
  CHECK(restored(on_devices, accelerators) == restored(on_host, {.allow_soft_placement = true}));
}

TEST_CASE("an accelerator that is too small for a variable says so") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto gpu = tf::device("/gpu:0");
  const Variable w = tf::get_variable("large", {300, 300}, {.home = kDevice});
  Session session(graph, simulated({.count = 1, .memory = 100000}));
  CHECK_THROWS_WITH_AS(session.run(w.initializer()),
                       doctest::Contains("node: large on /job:localhost/replica:0/task:0/"
                                         "device:SIM:0"),
                       errors::ResourceExhaustedError);
}

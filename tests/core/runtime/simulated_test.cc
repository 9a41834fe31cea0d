// Plans over two memories: edges between them are copies, and values are those of one memory.
#include <doctest/doctest.h>

#include "tests/support/eager.h"
#include "towerflow/tf.h"

using namespace towerflow;

namespace {

ConfigProto simulated(int devices) {
  return {.allow_soft_placement = true, .simulated = {.count = devices}};
}

std::vector<float> floats(const Array& array) {
  return {array.data<float>(), array.data<float>() + array.elements()};
}

std::string placed(const std::vector<Placement>& ledger, const std::string& node) {
  for (const Placement& entry : ledger) {
    if (entry.node == node) return entry.given + ": " + entry.why;
  }
  return "not there";
}

}  // namespace

TEST_CASE("a value that crosses is copied once, whoever reads it") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(tf::float32, {.shape = {2, 2}, .name = "x"});
  Tensor product, sum;
  {
    const auto gpu = tf::device("/gpu:0");
    product = tf::matmul(x, x, {.name = "product"});
    sum = tf::add(product, x * 2.0F, {.name = "sum"});
  }
  const std::vector<Fetch> fetches{product, sum};
  Session session(simulated(1));
  const Array value = testing::array_of(float32, {2, 2}, {1, 2, 3, 4});
  const auto results = session.run(fetches, {{x, value}});
  CHECK(floats(results[0]) == std::vector<float>{7, 10, 15, 22});
  CHECK(floats(results[1]) == std::vector<float>{9, 14, 21, 30});

  const auto transfers = session.transfers(fetches, {{x, value}});
  REQUIRE(transfers.size() == 3);
  CHECK(transfers[0].value == "x");
  CHECK(transfers[0].bytes == 16);
  CHECK(transfers[0].from == "/job:localhost/replica:0/task:0/device:CPU:0");
  CHECK(transfers[0].to == "/job:localhost/replica:0/task:0/device:SIM:0");
  CHECK(transfers[0].readers.size() == 2);
  CHECK(transfers[1].value == "product");
  CHECK(transfers[1].readers == std::vector<std::string>{"(fetched)"});
  CHECK(session.plan_counts(fetches, {{x, value}}).copies == 3);
  const std::string report = session.plan_report(fetches, {{x, value}});
  CHECK(report.find("MatMul [simulated, ") != std::string::npos);
  CHECK(report.find("device:SIM:0, upload") != std::string::npos);
  CHECK(report.find("device:SIM:0, download") != std::string::npos);
}

TEST_CASE("a constant that waits for something crosses too") {
  for (const bool fed : {false, true}) {
    Graph graph;
    const auto guard = graph.as_default();
    const Tensor x = tf::placeholder(tf::float32, {.shape = {}});
    const Operation positive = tf::assert_greater(x, 0.0F);
    const Tensor k = tf::constant({1.0F, 2.0F});
    const Tensor given = fed ? tf::placeholder_with_default(k, {2}) : k;
    const Tensor waiting = [&] {
      const auto after = tf::control_dependencies({positive});
      return tf::reshape(tf::identity(given), {2, 1});
    }();
    const auto gpu = tf::device("/gpu:0");
    const Tensor y = waiting * 2.0F;
    Session session(simulated(1));
    CHECK(floats(session.run(y, {{x, 1.0F}})) == std::vector<float>{2, 4});
    CHECK_THROWS_AS(session.run(y, {{x, -1.0F}}), errors::InvalidArgumentError);
  }
}

TEST_CASE("what two branches write is kept until the second has") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor p = tf::placeholder(tf::bool_, {.shape = {}});
  const Tensor x = tf::placeholder(tf::float32, {.shape = {4}});
  const Variable w = tf::get_variable("w", {4}, {.initializer = tf::ones_initializer()});
  const Variable v = [] {
    const auto gpu = tf::device("/gpu:0");
    const auto scope = tf::variable_scope("home", {.home = VariableHome::device});
    return tf::get_variable("v", {4}, {.initializer = tf::constant_initializer(7.0)});
  }();
  const auto cpu = tf::device("/cpu:0");
  const Tensor merged = tf::cond(
      p, [&] { return tf::broadcast_to(tf::reduce_mean(v), {4}); },
      [&] { return tf::cumsum(x) + 1.0F; });
  const Tensor a = tf::tanh(x * 0.5F), b = tf::cumsum(x), c = tf::sin(x * 2.0F);
  const Operation initialize = tf::global_variables_initializer();
  std::vector<Operation> all{merged.op()};
  {
    const auto after = tf::control_dependencies({merged});
    for (const Tensor& one : {a, b, c}) all.push_back(tf::assign_sub(w, one).op());
  }
  const Operation step = tf::group(all);
  std::vector<std::vector<float>> found;
  for (const int devices : {0, 1}) {
    Session session(simulated(devices));
    session.run(initialize);
    session.run(step, {{p, true}, {x, {1.0F, 2.0F, 3.0F, 4.0F}}});
    found.push_back(floats(session.run(w)));
  }
  for (std::size_t i = 0; i < 4; ++i) CHECK(found[1][i] == doctest::Approx(found[0][i]));
}

TEST_CASE("a default with a known shape runs on the accelerator, whatever shape was promised") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto gpu = tf::device("/gpu:0");
  const Variable held(tf::ones({1, 2}), {.name = "held"});
  const Tensor x = tf::placeholder_with_default(held, {None, 2});
  const Tensor y = tf::tanh(tf::matmul(x, tf::ones({2, 3})), {.name = "y"});
  Session session(simulated(1));
  const Fetch fetch = y;
  session.run(held.initializer());
  CHECK(session.plan_report({&fetch, 1}).find("Tanh [simulated, ") != std::string::npos);
  CHECK(session.run(y, {{x, {{1.0F, 2.0F}, {3.0F, 4.0F}}}}).shape() == Shape{2, 3});
}

TEST_CASE("what leaves an accelerator is computed first, so that its copy passes meanwhile") {
  Graph graph;
  const auto guard = graph.as_default();
  Tensor first, last, sum;
  {
    const auto gpu = tf::device("/gpu:0");
    const Tensor x = tf::placeholder(tf::float32, {.shape = {4, 4}, .name = "x"});
    first = tf::matmul(x, x);
    last = first;
    for (int i = 0; i < 8; ++i) last = tf::matmul(last, x);
    sum = tf::negative(first, {.name = "leaves"});
  }
  Session session(simulated(1));
  const std::vector<Fetch> fetches{last, sum};
  const std::string report =
      session.plan_report(fetches, {{graph.get_tensor_by_name("x:0"), Array(float32, {4, 4})}});
  const std::size_t compute = report.find("SIM:0, compute"), leaves = report.find("Neg ", compute);
  REQUIRE(leaves != std::string::npos);
  std::size_t products = 0;
  for (std::size_t at = report.find("MatMul [", compute); at < leaves; ++products) {
    at = report.find("MatMul [", at + 1);
  }
  CHECK(products == 1);
}

TEST_CASE(
    "simulated accelerators stand in for GPUs; what they lack goes to the host, with a reason") {
  Graph graph;
  const auto guard = graph.as_default();
  Tensor number, text, late;
  Variable w;
  {
    const auto gpu = tf::device("/gpu:0");
    w = tf::Variable(tf::constant(2.0F), {.name = "w"});
    number = tf::multiply(w, 3.0F, {.name = "number"});
    const Tensor mask = tf::placeholder(tf::bool_, {.shape = {3}, .name = "mask"});
    late = tf::boolean_mask(tf::constant({1.0F, 2.0F, 3.0F}), mask, {.name = "late"});
    const FIFOQueue queue(1, {int32}, {.shapes = {{}}, .name = "queue"});
    text = queue.size({.name = "size"});
  }
  Session session(simulated(2));
  session.run(w.initializer());
  CHECK(session.run(number).item<float>() == 6.0F);
  CHECK(session.run(text).item<std::int32_t>() == 0);
  const Array mask = testing::array_of(bool_, {3}, {1, 0, 1});
  CHECK(floats(session.run(late, {{graph.get_tensor_by_name("mask:0"), mask}})) ==
        std::vector<float>{1, 3});
  const std::vector<Fetch> fetches{number, text};
  const auto ledger = session.placements(fetches);
  CHECK(placed(ledger, "number") ==
        "/job:localhost/replica:0/task:0/device:SIM:0: a simulated accelerator stands in for the "
        "GPU");
  CHECK(placed(ledger, "w").find("device:CPU:0: variables live in the host's memory") !=
        std::string::npos);
  CHECK(placed(ledger, "size").find("/device:SIM:0 has no kernel of it") != std::string::npos);

  Session strict({.simulated = {.count = 1}});
  CHECK(strict.run(tf::constant(1.0F)).item<float>() == 1.0F);
  CHECK_THROWS_WITH_AS(strict.run(text), doctest::Contains("no supported kernel for SIM devices"),
                       errors::InvalidArgumentError);
}

TEST_CASE("visible_device_list chooses and orders") {
  Graph graph;
  const auto guard = graph.as_default();
  ConfigProto config = simulated(4);
  config.gpu_options.visible_device_list = "3,1";
  CHECK(Session(config).list_devices().size() == 3);
  for (const char* bad : {"4", "1,1", "a", "1,", "-1"}) {
    config.gpu_options.visible_device_list = bad;
    CHECK_THROWS_AS(Session{config}, ValueError);
  }
}

TEST_CASE("a device reads a variable at its own place, its replica follows each change") {
  for (const int devices : {0, 1}) {
    CAPTURE(devices);
    Graph graph;
    const auto guard = graph.as_default();
    const Variable w(tf::constant({1.0F, 2.0F}), {.name = "w"});
    Tensor before, after, waited, seen;
    {
      const auto gpu = tf::device("/gpu:0");
      before = w * 10.0F;
    }
    const Tensor added = tf::assign_add(w, {1.0F, 1.0F});
    {
      const auto control = tf::control_dependencies({added});
      waited = w.read_value();
      const auto gpu = tf::device("/gpu:0");
      after = w * 10.0F;
    }
    const Tensor again = tf::assign_add(w, {5.0F, 5.0F});
    {
      const auto gpu = tf::device("/gpu:0");
      const auto control = tf::control_dependencies({again});
      seen = tf::reshape(waited, {1, 2}) * 1.0F;
    }
    Session session(simulated(devices));
    session.run(w.initializer());
    for (int step = 0; step < 3; ++step) {
      const float base = 1.0F + 6.0F * static_cast<float>(step);
      const auto [b, a, s, last] = session.run({before, after, seen, w});
      CHECK(floats(b) == std::vector<float>{10 * base, 10 * (base + 1)});
      CHECK(floats(a) == std::vector<float>{10 * (base + 1), 10 * (base + 2)});
      CHECK(floats(s) == std::vector<float>{base + 1, base + 2});
      CHECK(floats(last) == std::vector<float>{base + 6, base + 7});
    }
  }
}

TEST_CASE("a replica is copied only when its variable has changed") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w(tf::zeros({1000}), {.name = "w"});
  Tensor sum;
  {
    const auto gpu = tf::device("/gpu:0");
    sum = tf::reduce_sum(w + 1.0F);
  }
  const Tensor change = tf::assign_add(w, tf::ones({1000}));
  Session session(simulated(1));
  session.run(w.initializer());
  const auto copied = [&] {
    RunMetadata metadata;
    const std::vector<Fetch> fetches{sum};
    session.run(fetches, {}, {.trace_level = RunOptions::FULL_TRACE}, &metadata);
    for (const NodeStats& stats : metadata.nodes) {
      if (stats.lane == Lane::upload && stats.kind == NodeStats::Kind::copy) {
        return stats.virtual_end > stats.virtual_begin;
      }
    }
    return false;
  };
  CHECK(copied());
  CHECK_FALSE(copied());
  session.run(change);
  CHECK(copied());
  CHECK(session.run(sum).item<float>() == 2000.0F);
}

TEST_CASE("out of memory says what the plan keeps there; a smaller run goes on") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(tf::float32, {.shape = {None, 64}, .name = "x"});
  Tensor y;
  {
    const auto gpu = tf::device("/gpu:0");
    y = tf::reduce_sum(tf::matmul(tf::exp(x), tf::ones({64, 512}), {.name = "wide"}));
  }
  Session session({.simulated = {.count = 1, .memory = 1 << 20}});
  const auto feed = [](std::int64_t rows) { return Array::zeros(float32, Shape{rows, 64}); };
  CHECK(session.run(y, {{x, feed(10)}}).item<float>() == 10 * 512 * 64);
  CHECK_THROWS_WITH_AS(session.run(y, {{x, feed(2000)}}), doctest::Contains("(2000, 512) of wide"),
                       errors::ResourceExhaustedError);
  CHECK(session.run(y, {{x, feed(20)}}).item<float>() == 20 * 512 * 64);
}

TEST_CASE("what an earlier plan left idle on a device is not in the way of another one") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable v = tf::get_variable("v", {512, 1024}, {.initializer = tf::ones_initializer()});
  const auto device = tf::device("/gpu:0");
  const Tensor large = tf::reduce_sum(tf::random_uniform({700, 1024}, {.seed = 1}));
  const Tensor of_variable = tf::reduce_sum(v * 2.0F);
  Session session({.allow_soft_placement = true, .simulated = {.count = 1, .memory = 4'718'592}});
  session.run(tf::global_variables_initializer());
  session.run(large);
  CHECK(session.run(of_variable).item<float>() == 2.0F * 512 * 1024);
}

TEST_CASE("a device sees a changed variable in the shape that is asked for") {
  for (const bool read_first : {true, false}) {
    for (const int count : {0, 2}) {
      CAPTURE(read_first);
      CAPTURE(count);
      Graph graph;
      const auto guard = graph.as_default();
      const Variable v = tf::get_variable("v", {3}, {.initializer = tf::zeros_initializer()});
      const auto times_ten = [&] {
        const auto device = tf::device("/gpu:0");
        return v * 10.0F;
      };
      Tensor y, z;
      if (read_first) y = times_ten();
      const Tensor added = tf::assign_add(v, tf::constant({1.0, 2.0, 3.0}));
      if (!read_first) y = times_ten();
      {
        const auto device = tf::device("/gpu:0");
        z = tf::reshape(added, {3, 1}) + tf::constant({100.0, 200.0, 300.0});
      }
      Session session({.allow_soft_placement = true, .simulated = {.count = count}});
      session.run(v.initializer());
      const Array sums = session.run({y, z})[1];
      CHECK(sums.shape() == Shape{3, 3});
      for (int row = 0; row < 3; ++row) {
        for (int column = 0; column < 3; ++column) {
          CHECK(sums.data<float>()[3 * row + column] ==
                static_cast<float>(row + 1 + 100 * (column + 1)));
        }
      }
    }
  }
}

// Simulated steps against arithmetic, and against published curves.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "core/graph/error.h"
#include "report/scale/curve.h"

namespace towerflow::report {
namespace {

/// A step of 9 s, of which the backward pass takes 6: four gradients of 1 GB.
StepProfile four_gradients() {
  StepProfile profile{.name = "four", .examples = 10, .compute = 9};
  for (int i = 0; i < 4; ++i) {
    profile.gradients.push_back({"g", 1e9, (3 - i) * 0.75, 4.5 + 1.5 * i});
  }
  return profile;
}

/// Towers on one host each, whose memory takes no time.
Cluster plain(double bytes_per_second, double latency = 0) {
  return {.towers_per_host = 1,
          .inside = {1e18, 0},
          .between = {bytes_per_second, latency},
          .tower_memory = 1e18,
          .host_memory = 1e18};
}

ScaleOptions with(const char* word) {
  return {.strategy = scale_strategy(word), .bucket_bytes = 1};
}

TEST_CASE("independent towers take as long as one, and so do towers with a fast network") {
  for (const ScaleStrategy& strategy : scale_strategies()) {
    CAPTURE(strategy.word);
    for (const int towers : {1, 2, 5, 16}) {
      const ScaleResult result =
          simulate_step(four_gradients(), plain(1e18), with(strategy.word.c_str()), towers);
      CHECK(result.step == doctest::Approx(9));
      CHECK(result.efficiency() == doctest::Approx(1));
      CHECK(result.bound() == "compute");
    }
  }
}

TEST_CASE("a simulated all-reduce takes what its messages take") {
  // The last gradient is ready at 9 s; before that, there is time for all others.
  const double gigabyte = 1.0;  // seconds
  const auto added = [&](const char* word, int towers) {
    return simulate_step(four_gradients(), plain(1e9), with(word), towers).step - 9;
  };
  for (const char* word : {"gather", "shuffle", "ring", "tree", "hierarchical", "rotated_ring"}) {
    CAPTURE(word);
    // Two towers: each sends its half and gets the other's sum, or sends all at once.
    const bool halves = std::set<std::string>{"shuffle", "rotated_ring"}.contains(word);
    const double expected = std::string(word) == "gather" ? 1 : halves ? 1 : 2;
    if (std::string(word) == "ring") {
      // Both halves go to the second tower, then both come back; the first comes back meanwhile.
      CHECK(added(word, 2) == doctest::Approx(1.5 * gigabyte));
    } else {
      CHECK(added(word, 2) == doctest::Approx(expected * gigabyte));
    }
  }
  // 2 (N - 1) / N of the gradient passes each link of a ring.
  CHECK(added("rotated_ring", 4) == doctest::Approx(1.5));
}

TEST_CASE("latency, bandwidth, memory and slow towers each bound a step") {
  const auto bound = [](const Cluster& cluster, double jitter = 0) {
    ScaleOptions options = with("rotated_ring");
    options.jitter = jitter;
    return simulate_step(four_gradients(), cluster, options, 4).bound();
  };
  CHECK(bound(plain(1e8)) == "network");
  CHECK(bound(plain(1e18, 1)) == "latency");
  CHECK(bound(plain(1e18), 0.1) == "stragglers");
  Cluster cluster = plain(1e18);
  cluster.tower_memory = 1e9;
  CHECK(bound(cluster) == "memory");
  cluster = plain(1e18);
  cluster.towers_per_host = 4;
  cluster.inside = {1e8, 0};
  CHECK(bound(cluster) == "host links");
}

TEST_CASE("the critical path of a simulated step adds up to the step") {
  for (const ScaleStrategy& strategy : scale_strategies()) {
    CAPTURE(strategy.word);
    Cluster cluster = plain(7e8, 1e-2);
    cluster.towers_per_host = 2;
    cluster.inside = {2e9, 1e-3};
    cluster.tower_memory = cluster.host_memory = 3e10;
    ScaleOptions options = with(strategy.word.c_str());
    for (const bool at_start : {false, true}) {
      options.read_at_start = at_start;
      options.add_in_host = at_start;
      const ScaleResult result = simulate_step(four_gradients(), cluster, options, 6);
      CHECK(result.path.total() == doctest::Approx(result.step));
      CHECK(result.step >= 9);
      CHECK(result.hidden() + result.exposed() >= result.messages * (1 - 1e-9));
    }
  }
}

TEST_CASE("servers: links carry the gradients of all towers and the variables back") {
  Cluster cluster = plain(1e9);
  ScaleOptions options = with("parameter_server");
  options.servers = 1;
  // Three towers of other hosts send 4 GB each through the link of the server; the last 3 GB
  // begin at 9 s, or when those before them are through. Then the variables go out.
  const double in = std::max(9.0, 4.5 + 9) + 3, out = 3;
  CHECK(simulate_step(four_gradients(), cluster, options, 4).step == doctest::Approx(in + out));
  // All four hosts are servers: each has one variable, so that four links share the work.
  options.servers = 0;
  const double shared = simulate_step(four_gradients(), cluster, options, 4).step;
  CHECK(shared < in + out);
  CHECK(shared >= 9 + 1);
  // Hosts that add first send once for all their towers.
  cluster.towers_per_host = 4;
  options.servers = 1;
  const double each = simulate_step(four_gradients(), cluster, options, 8).step;
  options.add_in_host = true;
  CHECK(simulate_step(four_gradients(), cluster, options, 8).step < each);
}

TEST_CASE("jitter follows its seed, and the slowest tower decides") {
  ScaleOptions options = with("independent");
  options.jitter = 0.05;
  options.steps = 200;
  const auto step = [&](int towers) {
    return simulate_step(four_gradients(), plain(1e18), options, towers).step;
  };
  CHECK(step(1) == doctest::Approx(9).epsilon(0.02));
  // The mean of the largest of n draws from a normal distribution: tables of order statistics.
  CHECK(step(10) == doctest::Approx(9 * (1 + 0.05 * 1.539)).epsilon(0.01));
  CHECK(step(100) == doctest::Approx(9 * (1 + 0.05 * 2.508)).epsilon(0.01));
  const double first = step(10);
  CHECK(step(10) == first);
  options.seed = 1;
  CHECK(step(10) != first);
}

TEST_CASE("mistakes in a simulation are errors that say what is wanted") {
  const StepProfile profile = four_gradients();
  const Cluster cluster = plain(1e9);
  const auto message = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const ValueError& error) {
      return error.message();
    }
    return "";
  };
  const auto contains = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(contains(message([] { scale_strategy("rign"); }), "'rign'"));
  CHECK(
      contains(message([&] { simulate_step(profile, cluster, {}, 0); }), "from 1 to 1024 towers"));
  CHECK(contains(message([&] { simulate_step(profile, cluster, {}, 1025); }), "got 1025"));
  CHECK(contains(message([&] { simulate_step(profile, cluster, {.jitter = -1}, 2); }), "jitter"));
  CHECK(contains(message([&] { simulate_step(profile, plain(-1), {}, 2); }), "bandwidth"));
  CHECK(contains(message([&] { simulate_step(profile, plain(1, -1), {}, 2); }), "latency"));
  CHECK(contains(message([&] { simulate_step({}, cluster, {}, 2); }), "profile"));
  StepProfile late = profile;
  late.gradients[3].ready = 10;
  CHECK(contains(message([&] { simulate_step(late, cluster, {}, 2); }), "ready at 10 s of 9 s"));
  for (const char* bad : {"", "8..", "..8", "0..4", "8..4", "1..1025", "4,2", "2,,4", "-1", "x"}) {
    CAPTURE(bad);
    CHECK(contains(message([&] { parse_tower_counts(bad); }), "numbers of towers: wanted"));
  }
  CHECK(parse_tower_counts("8") == std::vector{8});
  CHECK(parse_tower_counts("3..20") == std::vector{3, 6, 12, 20});
  CHECK(parse_tower_counts("8..1024").size() == 8);
  CHECK(parse_tower_counts("1,5,9") == std::vector{1, 5, 9});
}

TEST_CASE("published curves are reproduced within 10 % where docs/scale.md says so") {
  int reproduced = 0;
  for (const PublishedCurve& curve : published_curves()) {
    CAPTURE(curve.name);
    bool differs = false;
    for (const PublishedPoint& point : curve.points) {
      CAPTURE(point.towers);
      const ScaleResult result =
          simulate_step(curve.profile, curve.cluster, curve.options, point.towers);
      const double rate = point.towers * curve.profile.examples / result.step;
      CAPTURE(rate);
      const bool near = std::abs(rate / point.examples_per_second - 1) <= 0.1;
      CHECK(near != point.differs);
      reproduced += near ? 1 : 0;
      differs |= point.differs;
    }
    CHECK(differs != curve.differs.empty());
  }
  CHECK(reproduced == 46);
}

TEST_CASE("the sizes of published networks are those of their papers") {
  std::map<std::string, double> millions;
  for (const PublishedCurve& curve : published_curves()) {
    millions[curve.name.substr(0, curve.name.find(','))] = curve.profile.bytes() / 4e6;
  }
  CHECK(millions.at("Inception v3") == doctest::Approx(23.8).epsilon(0.01));
  CHECK(millions.at("ResNet-50") == doctest::Approx(25.6).epsilon(0.01));
  CHECK(millions.at("ResNet-101") == doctest::Approx(44.5).epsilon(0.01));
  CHECK(millions.at("ResNet-152") == doctest::Approx(60.2).epsilon(0.01));
  CHECK(millions.at("VGG-16") == doctest::Approx(138.4).epsilon(0.01));
  CHECK(millions.at("AlexNet") == doctest::Approx(61.8).epsilon(0.02));
}

TEST_CASE("curves as a table and as a picture") {
  ScaleCurve curve{"ring & tree", 10, {1, 2, 4}, {}};
  for (const int towers : curve.towers) {
    curve.results.push_back(simulate_step(four_gradients(), plain(1e9), with("ring"), towers));
  }
  const std::string table = curve_table({curve});
  CHECK(table.find("ring & tree") != std::string::npos);
  CHECK(table.find("efficiency") != std::string::npos);
  const std::string picture = curve_picture("a < b", {curve}, {{{2, 2.0}, {4, 3.5}}});
  CHECK(picture.starts_with("<svg xmlns="));
  CHECK(picture.ends_with("</svg>\n"));
  CHECK(picture.find("a &lt; b") != std::string::npos);
  CHECK(picture.find("ring &amp; tree") != std::string::npos);
  CHECK(picture.find("nan") == std::string::npos);
  const ScaleCurve point{"one", 10, {3}, {curve.results[0]}};
  CHECK(curve_picture("one", {point}).find("nan") == std::string::npos);
  // The ninth curve has the colour of the first, so it is dashed.
  CHECK(picture.find("stroke-dasharray=\"6 4\"") == std::string::npos);
  CHECK(curve_picture("nine", std::vector<ScaleCurve>(9, curve)).find("stroke-dasharray=\"6 4\"") !=
        std::string::npos);
}

}  // namespace
}  // namespace towerflow::report

// Checks the numbers in docs/rewrites.md against the MNIST step.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <sstream>

#include "core/graph/rewrite.h"
#include "models/digits.h"
#include "models/mnist.h"
#include "models/training.h"
#include "tests/ops/ran.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

namespace mnist = models::mnist;

/// The training step of `towerflow bench mnist`.
struct Step {
  explicit Step(int towers) : num_towers(towers) {
    const auto guard = graph.as_default();
    const mnist::Towers made = mnist::build_towers({.num_towers = towers}, [] {
      const auto cpu = tf::device("/cpu:0");
      const Variable images(tf::zeros({64, models::kImagePixels}), {.trainable = false});
      const Variable labels(Array::zeros(tf::int32, {64}), {.trainable = false});
      return models::Batch{images, labels};
    });
    fetches = {made.train_op, made.losses.back()};
  }

  std::string report(const PassOptions& passes) {
    ConfigProto config = models::session_config(num_towers, {});
    config.passes = passes;
    Session session(graph, config);
    return session.plan_report(fetches);
  }
  int launches(const PassOptions& passes) {
    return testing::RunResult{{}, report(passes), 0}.times(" [");
  }

  int num_towers;
  Graph graph;
  std::vector<Fetch> fetches;
};

std::string page_text() {
  std::ifstream file("docs/rewrites.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Checks that the line of the page that starts with `start` ends with `end`.
void check_line(const std::string& text, const std::string& start, const std::string& end) {
  const auto at = text.find("\n" + start);
  REQUIRE_MESSAGE(at != std::string::npos, start);
  const std::string line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  CHECK_MESSAGE(line.ends_with(end), line << " should end with " << end);
}

TEST_CASE("rewrites.md: launches of the MNIST step with each pass off") {
  const std::string text = page_text();
  Step one(1), two(2);
  for (const auto& [name, switch_off] : testing::pass_switches()) {
    PassOptions passes;
    switch_off(passes);
    check_line(text, "| " + name + " |",
               fmt::format("| {} | {} |", one.launches(passes), two.launches(passes)));
  }
  const PassOptions none = testing::only_rewrites();
  check_line(
      text, "it takes ",
      fmt::format("it takes {} and {}, without any {} and {}. A test measures them again.",
                  one.launches({}), two.launches({}), one.launches(none), two.launches(none)));
}

TEST_CASE("rewrites.md: how often each rule applies") {
  const std::string text = page_text();
  const std::string report = Step(1).report({});
  for (const RewriteRule& rule : rewrite_rules()) {
    const std::string log = "rewrite: " + rule.name + " applied ";
    const auto at = report.find(log);
    const int times = at == std::string::npos ? 0 : std::stoi(report.substr(at + log.size()));
    check_line(text, "| " + rule.name + " |", fmt::format("| {} |", times));
  }
}

}  // namespace
}  // namespace towerflow

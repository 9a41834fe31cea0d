// Several devices of a session on one card, each with its part of the memory.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/models/steps.h"
#include "tests/support/error_text.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::kSteps;
using testing::trained;

namespace {

ConfigProto gpus(int count, int share, std::size_t limit = 0) {
  ConfigProto config{.allow_soft_placement = true};
  config.cuda = {.count = count, .emulated = true, .share = share, .limit = limit};
  return config;
}

}  // namespace

TEST_SUITE("devices on one emulated card") {
  TEST_CASE("towers on one card train as those on two") {
    for (const auto& named : kSteps) {
      const std::string& model = named.first;
      const auto make = named.second;
      CAPTURE(model);
      for (const VariableHome home : {VariableHome::host, VariableHome::mirrored}) {
        const auto at_home = [&] {
          const auto scope = tf::variable_scope(tf::get_variable_scope(), {.home = home});
          return make();
        };
        const auto found =
            trained(at_home, gpus(2, 2), [](Session& session, const testing::Step& step) {
              const std::string report = session.plan_report(step.fetches, step.feeds);
              CHECK(report.find("device:GPU:1, compute") != report.npos);
            });
        CHECK(found == trained(at_home, gpus(2, 1)));
      }
    }
  }

  TEST_CASE("devices are dealt to the visible cards") {
    ConfigProto config = gpus(4, 2);
    const auto described = [&] {
      Graph graph;
      Session session(graph, config);
      std::vector<std::string> texts;
      for (const DeviceHolding& holding : session.device_holdings(std::vector<Fetch>{})) {
        if (holding.name.find("GPU") != holding.name.npos) texts.push_back(holding.description);
      }
      return texts;
    };
    const auto all = described();
    REQUIRE(all.size() == 4);
    CHECK(all[1].find("0.5 GiB of the 1.0 GiB of card 0") != std::string::npos);
    CHECK(all[2].find("0.5 GiB of the 1.0 GiB of card 1") != std::string::npos);
    config.gpu_options.visible_device_list = "1";
    const auto second = described();
    REQUIRE(second.size() == 2);
    CHECK(second[0].find("of card 1") != std::string::npos);
    CHECK(second[1].find("of card 1") != std::string::npos);
    config = gpus(3, 2);
    CHECK_THROWS_AS(described(), ValueError);
  }

  TEST_CASE("out of memory tells the limit and what the plan needs") {
    Graph graph;
    const auto guard = graph.as_default();
    const auto gpu = tf::device("/gpu:1");
    const Tensor fed = tf::placeholder(tf::float32, {.shape = {1}});
    const Tensor sum = tf::reduce_sum(tf::zeros({4, 1024, 1024}) + fed);
    const auto run = [&](std::size_t limit) {
      Session session(graph, gpus(2, 2, limit));
      return session.run(sum, {{fed, Array::of(Shape{1}, std::vector<float>{2})}}).item<float>();
    };
    const std::string text = testing::error_text([&] { run(std::size_t{8} << 20); });
    CAPTURE(text);
    CHECK(text.find("/device:GPU:1 is out of memory: ") != text.npos);
    CHECK(text.find(" of its 8388608 are used") != text.npos);
    CHECK(text.find("add") != text.npos);  // a value of the plan's map
    // What is given back can be used again.
    for (int i = 0; i < 3; ++i) CHECK(run(std::size_t{64} << 20) == 2.0F * 4 * 1024 * 1024);
  }
}

// The reports that a user's program gets of its step with one call.
#include <doctest/doctest.h>

#include "towerflow/tf.h"

using namespace towerflow;

namespace {

/// A matrix product on an accelerator, and a variable that counts the runs.
struct Program {
  Program() {
    x = tf::placeholder(tf::float32, {.shape = {2, 2}, .name = "x"});
    count = tf::get_variable("count", Shape{}, {.initializer = tf::zeros_initializer()});
    const auto gpu = tf::device("/gpu:0");
    product = tf::matmul(x, x, {.name = "product"});
    add = tf::assign_add(count, 1.0);
  }
  Feeds feeds() const { return {{x, {{1.0, 2.0}, {3.0, 4.0}}}}; }

  Graph graph;
  DefaultGraphGuard guard = graph.as_default();
  Tensor x, product, add;
  Variable count;
};

}  // namespace

TEST_CASE("explain shows who holds what, what crosses, who works, and what the planner did") {
  const Program program;
  Session session({.allow_soft_placement = true, .simulated = {.count = 1}});
  session.run(program.count.initializer());
  const std::string text = tf::explain(session, {program.product, program.add},
                                       {.feeds = program.feeds(), .warm_up = 2});
  std::size_t at = 0;
  for (const char* part :
       {"Who holds what\n", "/device:SIM:0: simulated accelerator", "\nWhat crosses in a step\n",
        "/device:CPU:0 -> /device:SIM:0  x", "\nWho works and who waits\n",
        "(simulated: virtual time)", "\nWhat the planner did\n", "prune:"}) {
    CAPTURE(part);
    at = text.find(part, at);
    CHECK(at != std::string::npos);
  }
  CHECK(text.find("The plan") == std::string::npos);
  CHECK(session.run(program.count).item<float>() == 3);
  const std::string more =
      tf::explain(session, std::vector<Tensor>{program.product},
                  {.feeds = program.feeds(), .warm_up = 0, .plan = true, .times = true});
  CHECK(more.find("\nWhere the time goes\n") < more.find("\nThe plan\n"));
  CHECK(more.find("MatMul") != std::string::npos);
  CHECK_THROWS_AS(tf::explain(session, {program.product}, {.warm_up = -1}), ValueError);
}

TEST_CASE("bench times windows of runs and keeps the last values") {
  const Program program;
  Session session({.allow_soft_placement = true});
  session.run(program.count.initializer());
  int told = 0;
  const BenchResult result = tf::bench(session, {program.product, program.add},
                                       {.feeds = program.feeds(),
                                        .windows = 3,
                                        .steps = 4,
                                        .warm_up = 5,
                                        .on_window = [&](int done) { CHECK(done == ++told); }});
  CHECK(told == 3);
  REQUIRE(result.seconds.size() == 3);
  CHECK(result.quantile(0) > 0);
  CHECK(result.quantile(0) <= result.median());
  CHECK(result.median() <= result.quantile(1));
  CHECK(result.values[0].data<float>()[3] == 22);
  CHECK(result.values[1].item<float>() == 17);
  CHECK(session.run(program.count).item<float>() == 17);
  CHECK(result.text().find("in the middle 80 % of 3 windows") != std::string::npos);
  CHECK_THROWS_AS(tf::bench(session, {program.product}, {.windows = 0}), ValueError);
  CHECK_THROWS_AS(BenchResult().median(), ValueError);
}

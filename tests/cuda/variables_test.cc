// Variables in the memory of emulated GPUs, which update them, and random numbers that GPUs draw.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/models/steps.h"
#include "tests/support/error_text.h"
#include "towerflow/tf.h"

using namespace towerflow;

namespace {

ConfigProto with_gpus(int count) {
  ConfigProto config{.allow_soft_placement = true};
  config.cuda = {.count = count, .emulated = true};
  return config;
}

/// A table on /gpu:0, of which a step changes rows.
struct Table {
  explicit Table(const std::function<Operation(const tf::Variable&, const Tensor&)>& change) {
    const auto gpu = tf::device("/gpu:0");
    table = tf::Variable(tf::constant(testing::ramp({4, 3})),
                         {.name = "table", .home = VariableHome::device});
    rows = tf::placeholder(tf::int32, {.shape = {3}});
    step = change(table, rows);
  }
  tf::Variable table;
  Tensor rows;
  Operation step;
};

using Change = std::function<Operation(const tf::Variable&, const Tensor&)>;

Operation scatter(const tf::Variable& table, const Tensor& rows) {
  return tf::scatter_add(table, rows, tf::constant(testing::ramp({3, 3}))).op();
}

Change minimizer(const std::function<Operation(const Tensor& loss)>& minimize) {
  return [minimize](const tf::Variable& table, const Tensor& rows) {
    return minimize(tf::reduce_sum(tf::square(tf::gather(table, rows) - 1.0)));
  };
}

Array indices(std::vector<std::int32_t> rows) { return Array::of(Shape{3}, std::move(rows)); }

/// Returns the table after two steps, and in `report` the plan.
Array table_after(const Change& change, int gpus, std::string& report) {
  Graph graph;
  const auto guard = graph.as_default();
  const Table made(change);
  Session session(graph, with_gpus(gpus));
  session.run(tf::global_variables_initializer());
  for (int i = 0; i < 2; ++i) session.run(made.step, {{made.rows, indices({2, 0, 2})}});
  report = session.plan_report(std::vector<Fetch>{made.step}, {{made.rows, indices({2, 0, 2})}});
  return session.run(made.table);
}

}  // namespace

TEST_SUITE("variables on emulated GPUs") {
  TEST_CASE("a GPU updates the rows of its table with the bits of the CPU") {
    const std::vector<std::pair<std::string, Change>> changes{
        {"ScatterAdd", scatter},
        {"ScatterSub", minimizer([](const Tensor& loss) {
           return tf::train::GradientDescentOptimizer(0.1F).minimize(loss);
         })},
        {"SparseApplyMomentum", minimizer([](const Tensor& loss) {
           return tf::train::MomentumOptimizer(0.1F, 0.9F).minimize(loss);
         })},
        {"SparseApplyAdagrad", minimizer([](const Tensor& loss) {
           return tf::train::AdagradOptimizer(0.1F).minimize(loss);
         })},
        {"SparseApplyAdam", minimizer([](const Tensor& loss) {
           return tf::train::AdamOptimizer(0.1F).minimize(loss);
         })},
    };
    for (const auto& [op, change] : changes) {
      CAPTURE(op);
      std::string report;
      const Array expected = table_after(change, 0, report);
      const Array found = table_after(change, 1, report);
      CHECK(found == expected);
      CAPTURE(report);
      CHECK(report.find(op + " [host emulation, cuda]") != std::string::npos);
    }
  }

  TEST_CASE("an index that is no row is an error with the CPU's text, and changes nothing") {
    Graph graph;
    const auto guard = graph.as_default();
    const Table made(scatter);
    Session session(graph, with_gpus(1));
    session.run(tf::global_variables_initializer());
    const Array before = session.run(made.table);
    for (const std::int32_t wrong : {-1, 4}) {
      CAPTURE(wrong);
      const std::string text = testing::error_text([&] {
        session.run(made.step, {{made.rows, indices({0, wrong, 1})}});
      });
      CAPTURE(text);
      CHECK(text.find("indices[1] = " + std::to_string(wrong) + " is not in [0, 4)") !=
            std::string::npos);
      CHECK(session.run(made.table) == before);
    }
    session.run(made.step, {{made.rows, indices({0, 3, 1})}});
    CHECK(session.run(made.table) != before);
  }

  TEST_CASE("GPUs draw the random numbers of the CPU, and each run continues") {
    const auto draw = [](int gpus, std::string& report) {
      Graph graph;
      const auto guard = graph.as_default();
      tf::set_random_seed(5);
      const auto gpu = tf::device("/gpu:0");
      const std::vector<Fetch> fetches{
          tf::random_uniform({3, 7}), tf::random_normal({33}), tf::truncated_normal({5, 2}),
          tf::random_uniform({9}, {.minval = -3, .maxval = 12, .dtype = tf::int32}),
          tf::multinomial(tf::constant(testing::ramp({2, 6})), 5)};
      Session session(graph, with_gpus(gpus));
      std::vector<Array> values = session.run(fetches);
      for (Array& value : session.run(fetches)) values.push_back(std::move(value));
      report = session.plan_report(fetches, {});
      return values;
    };
    std::string report;
    const auto expected = draw(0, report), found = draw(1, report);
    CHECK(found == expected);
    CHECK(found[0] != found[5]);
    CAPTURE(report);
    for (const char* op : {"RandomUniform", "RandomStandardNormal", "TruncatedNormal",
                           "RandomUniformInt", "Multinomial"}) {
      CAPTURE(op);
      CHECK(report.find(std::string(op) + " [host emulation, cuda]") != std::string::npos);
    }
  }

  TEST_CASE("bounds without numbers between them are the CPU's error") {
    Graph graph;
    const auto guard = graph.as_default();
    const auto gpu = tf::device("/gpu:0");
    const Tensor high = tf::placeholder(tf::int32, {.shape = Shape{}});
    const Tensor y = tf::random_uniform({4}, {.minval = 3, .maxval = high, .dtype = tf::int32});
    Session session(graph, with_gpus(1));
    const std::string text = testing::error_text([&] {
      session.run(y, {{high, Array::scalar(std::int32_t{3})}});
    });
    CAPTURE(text);
    CHECK(text.find("Need minval < maxval, got 3 >= 3") != std::string::npos);
  }
}

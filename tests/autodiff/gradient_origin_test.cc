// Errors about gradients that cannot be used name the variable, the tower, and the line of the
// request.
#include <doctest/doctest.h>

#include "tests/support/error_text.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::error_text;

namespace {

const std::string kHere = "gradient_origin_test.cc:";
std::string line(unsigned number) { return kHere + std::to_string(number); }

/// Two towers over `w`, `unused` and `table`, of which the loss looks up some rows.
struct Towers {
  Towers() : guard(graph.as_default()) {
    for (int tower = 0; tower < 2; ++tower) {
      const auto scope = tf::name_scope("tower_" + std::to_string(tower));
      const auto w = tf::get_variable("w", {2});
      tf::get_variable("unused", {2});
      const auto table = tf::get_variable("table", {4, 2});
      tf::get_variable_scope().reuse_variables();
      const auto rows = tf::nn::embedding_lookup(table, {1, 2});
      const auto loss = tf::reduce_sum(rows * w, {.name = "loss"});
      asked = __LINE__ + 1;
      pairs.push_back(optimizer.compute_gradients(loss, {.gate_gradients = gate}));
    }
  }
  explicit Towers(int wanted_gate) : Towers() {
    pairs.clear();
    gate = wanted_gate;
    const auto scope = tf::name_scope("tower_1/");
    const auto loss = graph.get_tensor_by_name("tower_1/loss:0");
    asked = __LINE__ + 1;
    pairs.push_back(optimizer.compute_gradients(loss, {.gate_gradients = gate}));
    pairs.push_back(pairs[0]);
  }
  const GradAndVar& of(std::size_t tower, const std::string& name) const {
    for (const GradAndVar& pair : pairs[tower]) {
      if (pair.var.op().name() == name) return pair;
    }
    FAIL("no such variable");
    return pairs[0][0];
  }

  Graph graph;
  DefaultGraphGuard guard;
  train::GradientDescentOptimizer optimizer{0.1};
  int gate = train::GATE_OP;
  unsigned asked = 0;
  std::vector<std::vector<GradAndVar>> pairs;
};

}  // namespace

TEST_CASE("an absent gradient that is looked into names variable, tower and line") {
  const Towers towers;
  const OptionalGradient& absent = towers.of(1, "unused").grad;
  REQUIRE_FALSE(absent);
  CHECK_SAYS(error_text([&] { *absent; }), "ValueError", "None values not supported", "unused:0",
             "tower_1/loss:0", "name scope 'tower_1'", line(towers.asked), "tf::why_none",
             "tf::zeros_like");
  CHECK_SAYS(error_text([&] { return absent->is_dense(); }), "unused:0", "tower_1/loss:0");
}

TEST_CASE("an absent gradient asked for its value names the line that asked as well") {
  const Towers towers;
  const OptionalGradient& absent = towers.of(0, "unused").grad;
  const unsigned line_1 = __LINE__ + 1;
  const std::string said_1 = error_text([&] { return absent.value(); });
  CHECK_SAYS(said_1, "ValueError", "unused:0", "'tower_0'", line(towers.asked),
             "at: ", line(line_1));
}

TEST_CASE("a gradient of slices used as a dense one names variable, tower and lines") {
  const Towers towers;
  const OptionalGradient& rows = towers.of(1, "table").grad;
  REQUIRE(rows);
  const unsigned line_2 = __LINE__ + 1;
  const std::string said_2 = error_text([&] { return rows->dense(); });
  CHECK_SAYS(said_2, "TypeError", "IndexedSlices", "table:0", "name scope 'tower_1'",
             line(towers.asked), line(line_2), "tf::convert_to_tensor");
  const OptionalGradient& dense = towers.of(1, "w").grad;
  const unsigned line_3 = __LINE__ + 1;
  const std::string said_3 = error_text([&] { return dense->slices(); });
  CHECK_SAYS(said_3, "TypeError", "dense Tensor", "w:0", "name scope 'tower_1'", line(towers.asked),
             line(line_3));
}

TEST_CASE("gating, clipping and averaging keep the origin of gradients") {
  const Towers gated(train::GATE_GRAPH);
  CHECK_SAYS(error_text([&] { *gated.of(0, "unused").grad; }), "unused:0", "'tower_1'",
             line(gated.asked));
  CHECK_SAYS(error_text([&] { return gated.of(0, "table").grad->dense(); }), "table:0",
             line(gated.asked));
  const Towers towers;
  const auto averages = tf::average_gradients(towers.pairs);
  const auto clipped = tf::clip_by_global_norm({averages[1].grad, averages[2].grad}, 1.0);
  REQUIRE(averages[1].var.op().name() == "unused");
  CHECK_SAYS(error_text([&] { *averages[1].grad; }), "unused:0", line(towers.asked));
  CHECK_SAYS(error_text([&] { *clipped.list_clipped[0]; }), "unused:0", line(towers.asked));
  CHECK_SAYS(error_text([&] { return clipped.list_clipped[1]->dense(); }), "table:0",
             line(towers.asked));
}

TEST_CASE("gradients of a tensor, and one that nobody asked for") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto x = tf::constant(1.0, {.name = "x"});
  const auto y = tf::constant(2.0, {.name = "y"});
  const unsigned asked = __LINE__ + 1;
  const auto found = tf::gradients(y, {x});
  CHECK_SAYS(error_text([&] { *found[0]; }), "x:0", "y:0", line(asked));
  CHECK_SAYS(error_text([] { *OptionalGradient(); }), "ValueError", "None values not supported");
}

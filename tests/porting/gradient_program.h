#pragma once

#include <towerflow/tf.h>

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/error_text.h"

namespace porting {

using tf::testing::error_text;
using Numbers = std::vector<double>;
using Gradients = std::vector<tf::OptionalGradient>;

inline std::string location(const std::string& file, unsigned line) {
  return "porting/" + file + ":" + std::to_string(line);
}

/// A loss in a tower with a dense gradient for `w`, slices for `table` and none for `unused`.
struct Program {
  Program() : guard(graph.as_default()) {
    const auto tower = tf::name_scope("tower_0");
    w = tf::get_variable("w", {3}, {.initializer = tf::constant_initializer({1, -2, 3})});
    table = tf::get_variable("table", {4, 2}, {.initializer = tf::ones_initializer()});
    unused = tf::get_variable("unused", {3}, {.initializer = tf::zeros_initializer()});
    const tf::Tensor rows = tf::gather(table, {1, 2, 1});
    loss = tf::add(tf::reduce_sum(tf::square(w)), tf::reduce_sum(rows), {.name = "loss"});
    asked = __LINE__ + 1;
    pairs = optimizer.compute_gradients(loss);
  }

  const tf::OptionalGradient& dense() const { return pairs[0].grad; }
  const tf::OptionalGradient& slices() const { return pairs[1].grad; }
  const tf::OptionalGradient& absent_gradient() const { return pairs[2].grad; }
  std::vector<double> run(const tf::Tensor& tensor) const {
    tf::Session sess;
    sess.run(tf::global_variables_initializer());
    std::vector<double> numbers;
    const tf::Array values = sess.run(tf::cast(tensor, tf::float32));
    for (float number : values.flat<float>()) numbers.push_back(number);
    return numbers;
  }

  tf::Graph graph;
  tf::DefaultGraphGuard guard;
  tf::train::GradientDescentOptimizer optimizer{0.1};
  tf::Variable w, table, unused;
  tf::Tensor loss;
  unsigned asked = 0;
  std::vector<tf::GradAndVar> pairs;
};

/// Checks for an error about using the absent gradient in `line`.
#define CHECK_ABSENT(kind, line, ...)                                                              \
  CHECK_SAYS(                                                                                      \
      error_text([&] { static_cast<void>(__VA_ARGS__); }), kind, "'unused:0'", "'tower_0/loss:0'", \
      "name scope 'tower_0'", porting::location("gradient_program.h", program.asked),              \
      "at: ", porting::location("gradient_errors_test.cc", line), "has_value()", "tf::why_none")
/// Checks for an error about using the slices in `line`.
#define CHECK_SLICES(line, ...)                                                                 \
  CHECK_SAYS(error_text([&] { static_cast<void>(__VA_ARGS__); }), "TypeError", "IndexedSlices", \
             "'table:0'", "'tower_0/loss:0'", "name scope 'tower_0'",                           \
             porting::location("gradient_program.h", program.asked),                            \
             porting::location("gradient_errors_test.cc", line), "tf::convert_to_tensor")

}  // namespace porting

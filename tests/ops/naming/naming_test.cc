// Nodes that single calls create: names, ops, inputs, dtypes, shapes and the class of errors, as in
// TensorFlow 2.21 (golden/names.txt, written by make_golden.py).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <set>

#include "tests/ops/naming/cases.h"
#include "tests/ops/naming/node_line.h"

namespace towerflow {
namespace {

using testing::Cases;
using testing::Inputs;
using testing::node_line;

std::map<std::string, std::string> read_golden() {
  std::ifstream file("tests/ops/naming/golden/names.txt");
  REQUIRE(file.good());
  std::map<std::string, std::string> cases;
  std::string line;
  std::string* current = nullptr;
  while (std::getline(file, line)) {
    if (line.starts_with("== ")) {
      current = &cases[line.substr(3)];
    } else {
      REQUIRE(current != nullptr);
      *current += line + "\n";
    }
  }
  return cases;
}

std::string outcome(const std::function<void(const Inputs&)>& body) {
  Graph graph;
  const auto guard = graph.as_default();
  const Inputs inputs;
  const std::size_t before = graph.size();
  std::string error;
  try {
    body(inputs);
  } catch (const Error& raised) {
    error = fmt::format("!! {}\n", raised.kind());
  }
  std::string text;
  for (std::size_t i = before; i < graph.size(); ++i) text += node_line(graph.operation(i));
  return text + error;
}

TEST_CASE("single calls make the nodes that TensorFlow makes") {
  const auto golden = read_golden();
  Cases cases;
  testing::add_array_cases(cases);
  testing::add_indexing_cases(cases);
  testing::add_convolution_cases(cases);
  testing::add_arrays_cases(cases);
  testing::add_math_cases(cases);
  testing::add_image_cases(cases);
  testing::add_mathematics_cases(cases);
  testing::add_slices_cases(cases);
  for (const auto& entry : golden) {
    const std::string& key = entry.first;  // clang 14 cannot capture structured bindings
    const std::string& expected = entry.second;
    CAPTURE(key);
    REQUIRE(cases.contains(key));
    CHECK(outcome(cases.at(key)) == expected);
  }
  CHECK(cases.size() == golden.size());
}

TEST_CASE("a case that differs is seen") {
  const auto golden = read_golden();
  CHECK(outcome([](const Inputs& t) { add(t.x, t.y); }) != golden.at("operator +"));
  CHECK(outcome([](const Inputs& t) { reduce_sum(t.x, 1); }) != golden.at("reduce_sum axis"));
  CHECK(outcome([](const Inputs& t) { matmul(t.x, t.y); }) == "!! ValueError\n");
}

}  // namespace
}  // namespace towerflow

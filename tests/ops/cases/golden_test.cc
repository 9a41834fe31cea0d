// The cases against TensorFlow 2.21: nodes of the call, results and gradients. golden.json is
// written by make_golden.py, which gets the cases from this program (TOWERFLOW_CASES_LIST=FILE).
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/runtime/session.h"
#include "tests/ops/cases/build_case.h"
#include "tests/ops/cases/check.h"
#include "tests/ops/naming/node_line.h"

using namespace towerflow;
using nlohmann::json;
using testing::BuiltCase;
using testing::CaseGradients;
using testing::OpCase;

namespace {

constexpr const char* kGolden = "tests/ops/cases/golden.json";

/// Returns the dtype for which TensorFlow was asked: the most precise one.
DType dtype_of_golden(const OpCase& one) {
  if (one.python_dtype != DType::invalid) return one.python_dtype;
  return testing::has_float64(one) ? DType::float64 : one.dtypes.front();
}

json as_json(const Array& array) {
  json values = json::array();
  dispatch_dtype(array.dtype(), [&]<class T>() {
    for (const T& value : array.flat<T>()) {
      const auto number = static_cast<double>(value);
      values.push_back(number);
    }
  });
  return {
      {"dtype", dtype_name(array.dtype())}, {"shape", array.shape().sizes()}, {"values", values}};
}

/// Returns what is wrong with `found`, or an empty string.
std::string compare(const Array& found, const json& expected) {
  if (dtype_name(found.dtype()) != expected.at("dtype")) {
    return fmt::format("{} for {}", dtype_name(found.dtype()), expected.at("dtype").dump());
  }
  if (found.shape().sizes() != expected.at("shape").get<std::vector<std::int64_t>>()) {
    return fmt::format("shape {} for {}", found.shape().text(), expected.at("shape").dump());
  }
  const json& values = expected.at("values");
  if (found.dtype() == DType::string) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::string hex;
      for (const unsigned char byte : found.flat<std::string>()[i])
        hex += fmt::format("{:02x}", byte);
      if (hex != values[i]) return fmt::format("{} for {}", hex, values[i].dump());
    }
    return "";
  }
  Array wanted(DType::float64, found.shape());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const json& value = values[i];  // a string for NaN and infinity, which JSON lacks
    wanted.data<double>()[i] =
        value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
  }
  const double off = testing::difference(found, wanted);
  const double allowed = found.dtype() == DType::float64   ? 1e-10
                         : found.dtype() == DType::float32 ? 1e-5
                                                           : 0;
  return off <= allowed ? ""
                        : fmt::format("off by {:g}: {} for {}", off, found.text(), wanted.text());
}

std::string nodes_of(const OpCase& one) {
  Graph graph;
  const auto guard = graph.as_default();
  const auto in = testing::case_placeholders(one.inputs, dtype_of_golden(one));
  const std::size_t before = graph.size();
  one.call(in);
  std::string text;
  for (std::size_t i = before; i < graph.size(); ++i) {
    text += testing::node_line(graph.operation(i));
  }
  return text;
}

json description(const OpCase& one) {
  json inputs = json::array(), cotangents = json::array();
  const DType dtype = dtype_of_golden(one);
  for (const Array& array : testing::case_arrays(one.inputs, dtype)) {
    inputs.push_back(as_json(array));
  }
  BuiltCase built(one, {.dtype = dtype});
  for (std::size_t i = 0; i < built.results().size(); ++i) {
    const Tensor& result = built.results()[i];
    const bool floating = result.dtype() == DType::float32 || result.dtype() == DType::float64;
    cotangents.push_back(floating && result.shape().fully_known()
                             ? as_json(testing::cotangent(i, result.shape(), result.dtype()))
                             : json());
  }
  return {{"name", one.name},           {"python", one.python},
          {"dtype", dtype_name(dtype)}, {"inputs", inputs},
          {"cotangents", cotangents},   {"gradients", testing::has_gradients(one)}};
}

}  // namespace

TEST_CASE("every case: nodes, results and gradients are TensorFlow's") {
  if (const char* path = std::getenv("TOWERFLOW_CASES_LIST")) {
    json all = json::array();
    for (const OpCase& one : testing::op_cases()) {
      if (!one.python.empty()) all.push_back(description(one));
    }
    std::ofstream(path) << all.dump(1);
  }
  std::ifstream file(kGolden);
  const json golden = json::parse(file);
  std::size_t asked = 0;
  for (const OpCase& one : testing::op_cases()) {
    if (one.python.empty()) continue;
    const std::string& name = one.name;
    CAPTURE(name);
    ++asked;
    REQUIRE_MESSAGE(golden.contains(name), "run tests/ops/cases/make_golden.py");
    const json& expected = golden.at(name);
    REQUIRE(expected.at("python") == one.python);
    if (!one.other_nodes) CHECK(nodes_of(one) == expected.at("nodes"));
    BuiltCase built(one, {.dtype = dtype_of_golden(one)});
    Session session(built.graph());
    const auto before = built.initializers();
    if (!before.empty()) session.run(before);
    const auto feeds = built.feeds(testing::case_arrays(one.inputs, dtype_of_golden(one)));
    std::vector<Fetch> fetches(built.results().begin(), built.results().end());
    std::size_t found_gradients = 0;
    for (std::size_t i = 0; i < built.has_gradient().size(); ++i) {
      if (built.has_gradient()[i]) fetches.push_back(built.tensors()[fetches.size()]);
    }
    const std::vector<Array> values = session.run(fetches, feeds);
    const json& results = expected.at("results");
    REQUIRE(results.size() == built.results().size());
    for (std::size_t i = 0; i < results.size(); ++i) CHECK(compare(values[i], results[i]) == "");
    const json& gradients = expected.at("gradients");
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      CHECK(built.has_gradient()[i] == !gradients[i].is_null());
      if (gradients[i].is_null() || !built.has_gradient()[i]) continue;
      CHECK(compare(values[results.size() + found_gradients++], gradients[i]) == "");
    }
  }
  CHECK(golden.size() == asked);
}

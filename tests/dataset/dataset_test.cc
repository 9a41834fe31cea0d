// Datasets against those of TensorFlow 2.21 (golden.json, written by make_golden.py).
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/runtime/session.h"
#include "ops/array/constant.h"
#include "ops/variables/initialization.h"
#include "tests/dataset/cases.h"

using namespace towerflow;
using nlohmann::json;

namespace {

const json& golden() {
  static const json read = [] {
    std::ifstream file("tests/dataset/golden.json");
    REQUIRE(file.good());
    return json::parse(file);
  }();
  return read;
}

std::string type_of(const Operation& op) {
  if (op.type() != "_Dataset") return op.type().substr(op.type()[0] == '_' ? 1 : 0);
  const std::string text = op.attrs().text();  // {kind="RangeDataset", ..}
  return text.substr(7, text.find('"', 7) - 7);
}

json value_of(const Array& array) {
  json values = json::array();
  const auto add = [&]<class T>(T) {
    for (const T& x : array.flat<T>()) values.push_back(x);
  };
  switch (array.dtype()) {
    case DType::float32:
      add(float());
      break;
    case DType::int32:
      add(std::int32_t());
      break;
    case DType::int64:
      add(std::int64_t());
      break;
    case DType::string:
      add(std::string());
      break;
    default:
      FAIL("a dtype that no case has");
  }
  return {
      {"dtype", dtype_name(array.dtype())}, {"shape", array.shape().sizes()}, {"values", values}};
}

/// Reads the elements of an initialized iterator, as make_golden.py does.
json read_pass(Session& session, const data::Iterator& iterator, const std::vector<Tensor>& next) {
  json elements = json::array(), errors = json::array();
  try {
    session.run(iterator.initializer());
    while (errors.size() < 3) {
      try {
        json element = json::array();
        for (const Array& value : session.run(next)) element.push_back(value_of(value));
        elements.push_back(element);
      } catch (const errors::OutOfRangeError&) {
        break;
      } catch (const errors::OpError& error) {
        errors.push_back({elements.size(), error.kind()});
      }
    }
  } catch (const errors::OpError& error) {
    errors.push_back({-1, error.kind()});
  }
  return {{"elements", elements}, {"errors", errors}};
}

}  // namespace

TEST_CASE("datasets: nodes, dtypes, shapes, elements and errors are TensorFlow's") {
  std::size_t compared = 0;
  for (const testing::DatasetCase& one : testing::dataset_cases()) {
    CAPTURE(one.name);
    REQUIRE(golden()["cases"].contains(one.name));
    const json& wanted = golden()["cases"][one.name];
    ++compared;
    Graph graph;
    const auto inside = graph.as_default();
    graph.seed = one.seed;
    const data::Dataset dataset = one.make();
    const auto iterator = dataset.make_initializable_iterator();
    std::vector<Tensor> next;
    for (const Operand& component : iterator.get_next().components()) {
      next.push_back(*component.tensor());
    }
    const Tensor after = constant(1);
    if (!one.name.starts_with("files")) {  // made of fewer nodes
      json nodes = json::array();
      for (const Operation& op : graph.get_operations()) {
        nodes.push_back({op.name(), type_of(op)});
      }
      CHECK(nodes == wanted["nodes"]);
    }
    CHECK(after.name() == wanted["after"]);
    json types = json::array(), shapes = json::array();
    for (const DType dtype : dataset.output_types()) types.push_back(dtype_name(dtype));
    for (const Tensor& tensor : next) shapes.push_back(tensor.shape().text());
    CHECK(types == wanted["types"]);
    CHECK(shapes == wanted["shapes"]);
    Session session;
    session.run(global_variables_initializer());
    for (const json& pass : wanted["passes"]) {
      const json found = read_pass(session, iterator, next);
      CHECK(found["elements"] == pass["elements"]);
      CHECK(found["errors"] == pass["errors"]);
    }
  }
  CHECK(compared == golden()["cases"].size());
}

TEST_CASE("datasets: errors of calls are TensorFlow's") {
  std::size_t compared = 0;
  for (const testing::CallError& one : testing::dataset_call_errors()) {
    CAPTURE(one.name);
    Graph graph;
    const auto inside = graph.as_default();
    std::string found = "none";
    try {
      one.call();
    } catch (const Error& error) {
      found = error.kind();
    }
    CHECK(found == golden()["errors"][one.name]);
    ++compared;
  }
  CHECK(compared == golden()["errors"].size());
}

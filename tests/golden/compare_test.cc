// The comparison finds every kind of disagreement: recorded programs with one value changed.
#include <doctest/doctest.h>

#include "tests/golden/programs.h"

namespace {

using namespace towerflow::golden;

/// Returns a program with two variables and TensorFlow's outcomes, as in the golden files.
Json program() {
  return read_programs(R"({"name": "p", "calls": [
    {"op": "enter_device", "args": {"device_name_or_function": "/gpu:1"}, "expect": {}},
    {"op": "constant", "args": {"value": [1.0, 2.0], "name": "a"}, "out": "r0", "expect":
      {"result": {"tensor": "a:0"}, "nodes": [{"name": "a", "op": "Const",
       "outputs": [["float32", [2]]], "device": "/device:GPU:1"}]}},
    {"op": "exit", "expect": {}},
    {"op": "no_op", "args": {"name": "n"}, "out": "r1", "expect":
      {"result": {"operation": "n"}, "nodes": [{"name": "n", "op": "NoOp"}]}},
    {"op": "enter_control_dependencies", "args": {"control_inputs": [{"ref": "r1"}]}, "expect": {}},
    {"op": "identity", "args": {"input": {"ref": "r0"}}, "out": "r2", "expect":
      {"result": {"tensor": "Identity:0"}, "nodes": [{"name": "Identity", "op": "Identity",
       "outputs": [["float32", [2]]], "inputs": ["a:0"], "control_inputs": ["n"]}]}},
    {"op": "exit", "expect": {}},
    {"op": "get_operation_by_name", "args": {"name": "b"}, "out": "r3",
     "expect": {"error": "KeyError"}},
    {"op": "identity", "args": {"input": {"ref": "r3"}}, "expect": {"skipped": true}},
    {"op": "add_to_collection", "args": {"name": "k", "value": {"ref": "r0"}}, "expect": {}},
    {"op": "run", "args": {"fetches": [{"ref": "r2"}, {"ref": "r1"}]}, "expect":
      {"values": [{"dtype": "float32", "shape": [2], "values": [1.0, 2.0]}, null]}}],
    "final": {"collections": {"k": ["a:0"]}, "listings": {"global_variables": [],
      "local_variables": [], "trainable_variables": [], "model_variables": [],
      "moving_average_variables": []}}})")[0];
}

/// Returns the number of disagreements after replacing the value at `path` of the program.
std::size_t count_disagreements_with(const char* path, const Json& value) {
  Json changed = program();
  changed[Json::json_pointer(path)] = value;
  return check_program(changed).size();
}

TEST_CASE("a program that agrees, and each part of it changed") {
  for (const Disagreement& wrong : check_program(program())) CHECK_MESSAGE(false, wrong.message());
  CHECK(count_disagreements_with("/calls/1/expect/nodes/0/name", "b") == 1);
  CHECK(count_disagreements_with("/calls/1/expect/nodes/0/op", "Constant") == 1);
  CHECK(count_disagreements_with("/calls/1/expect/nodes/0/outputs/0/0", "float64") == 1);
  CHECK(count_disagreements_with("/calls/1/expect/nodes/0/outputs/0/0", "float32_ref") == 1);
  CHECK(count_disagreements_with("/calls/1/expect/nodes/0/outputs/0/1/0", nullptr) == 1);
  CHECK(count_disagreements_with("/calls/1/expect/nodes/0/device", "/device:GPU:0") == 1);
  CHECK(count_disagreements_with("/calls/1/expect/nodes/0/colocated", {"n"}) == 1);
  CHECK(count_disagreements_with("/calls/1/expect/nodes", Json::array()) == 1);
  CHECK(count_disagreements_with("/calls/1/expect/result/tensor", "b:0") == 1);
  CHECK(count_disagreements_with("/calls/3/expect/nodes/1", {{"name", "m"}, {"op", "NoOp"}}) == 1);
  CHECK(count_disagreements_with("/calls/5/expect/nodes/0/inputs/0", "a:1") == 1);
  CHECK(count_disagreements_with("/calls/5/expect/nodes/0/control_inputs", Json::array()) == 1);
  CHECK(count_disagreements_with("/calls/7/expect/error", "ValueError") == 1);
  CHECK(count_disagreements_with("/calls/7/expect", Json::object()) == 1);
  CHECK(count_disagreements_with("/calls/8/expect", Json::object()) == 1);
  CHECK(count_disagreements_with("/calls/10/expect/values/0/values/1", 2.0001) == 1);
  CHECK(count_disagreements_with("/calls/10/expect/values/0/values/1", 2.000001) == 0);
  CHECK(count_disagreements_with("/calls/10/expect/values/0/values/1", "nan") == 1);
  CHECK(count_disagreements_with("/calls/10/expect/values/0/dtype", "float64") == 1);
  CHECK(count_disagreements_with("/calls/10/expect/values/0/shape/0", 1) == 1);
  CHECK(count_disagreements_with("/calls/10/expect/values/1",
                                 program()["calls"][10]["expect"]["values"][0]) == 1);
  CHECK(count_disagreements_with("/final/collections/k/0", "b:0") == 1);
  CHECK(count_disagreements_with("/final/collections/l", {"a:0"}) == 1);
  CHECK(count_disagreements_with("/final/listings/global_variables", {"a:0"}) == 1);
}

TEST_CASE("what the C++ side does not know is a disagreement") {
  CHECK(count_disagreements_with("/calls/3/op", "no_such_op") == 1);
  CHECK(count_disagreements_with("/calls/3/args/such", 1) == 1);
  CHECK(count_disagreements_with("/calls/3/args/name", {{"form", 1}}) == 1);
  CHECK(count_disagreements_with("/calls/10/args/compare", "loosely") == 1);
  CHECK_THROWS_AS(read_programs("{"), BadProgram);
  CHECK_THROWS_AS(read_programs(R"({"format": 2, "programs": []})"), BadProgram);
}

TEST_CASE("ways to compare values") {
  const auto reports_difference = [](const Json& expected, const Json& got, const char* mode) {
    const auto array = [](const Json& values) {
      return Json{{"dtype", "float32"}, {"shape", {values.size()}}, {"values", values}};
    };
    return !compare_arrays(array(expected), array(got), mode).empty();
  };
  CHECK_FALSE(reports_difference({0.1}, {0.10000000149011612}, "exact"));  // the same float
  CHECK(reports_difference({0.1}, {0.10000001}, "exact"));
  CHECK(reports_difference({0.0}, {-0.0}, "exact"));
  CHECK_FALSE(reports_difference({1.0}, {1.0000002384185791}, "ulp2"));
  CHECK(reports_difference({1.0}, {1.0000003576278687}, "ulp2"));
  CHECK_FALSE(reports_difference({1e-45}, {-1e-45}, "ulp2"));  // the floats next to zero
  CHECK(reports_difference({0.0, 0.0}, {0.0, 1e-20}, "close"));
  CHECK_FALSE(reports_difference({1000.0, 0.0}, {1000.0, 0.001}, "close"));
  CHECK_FALSE(reports_difference({"inf", "nan"}, {"inf", "nan"}, "close"));
  CHECK(reports_difference({"inf"}, {"-inf"}, "close"));
  CHECK(reports_difference({1.0}, {"nan"}, "close"));
}

TEST_CASE("below gradients and optimizers only variables count") {
  const Json whole = read_programs(R"({"name": "p", "final": {}, "calls": [
    {"op": "MomentumOptimizer", "args": {"name": "Own"}, "expect": {"nodes": [
      {"name": "conv1/w", "op": "VariableV2"}]}}]})")[0];
  const Comparison comparison(whole);
  const auto seen = [&](const char* name, const char* op) {
    const Json node{{"name", name}, {"op", op}, {"outputs", Json::array()}};
    return comparison.visible_nodes({{"nodes", {node}}}).size();
  };
  CHECK(seen("gradients/add_grad/Sum", "Sum") == 0);
  CHECK(seen("tower_1/gradients_3/add_grad/Sum", "Sum") == 0);
  CHECK(seen("gradients", "NoOp") == 1);
  CHECK(seen("my_gradients/Sum", "Sum") == 1);
  CHECK(seen("Own/update", "NoOp") == 0);
  CHECK(seen("Own_1/update", "NoOp") == 0);
  CHECK(seen("Own", "NoOp") == 1);
  CHECK(seen("conv1/w/Own/Assign", "Assign") == 1);
  CHECK(seen("Own/beta", "VariableV2") == 1);
}

}  // namespace

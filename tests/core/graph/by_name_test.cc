// Lookups in a graph by name: the errors for missing names, and the line that they give.
#include <doctest/doctest.h>

#include "tests/support/error_text.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::error_text;

namespace {

std::string location(unsigned line) { return "core/graph/by_name_test.cc:" + std::to_string(line); }

struct OneConstant {
  OneConstant() : guard(graph.as_default()) { tf::constant(1.0, {.name = "tower_0/loss"}); }
  Graph graph;
  DefaultGraphGuard guard;
};

}  // namespace

TEST_CASE("a tensor asked for by the name of its operation") {
  OneConstant made;
  Graph& graph = made.graph;
  const unsigned line = __LINE__ + 1;
  const std::string said = error_text([&] { graph.get_tensor_by_name("tower_0/loss"); });
  CHECK_SAYS(said,
             "ValueError: The name 'tower_0/loss' refers to an Operation, not a Tensor. Tensor "
             "names must be of the form \"<op_name>:<output_index>\".",
             location(line), "hint: write 'tower_0/loss:0'");
}

TEST_CASE("a tensor under a name that nothing has") {
  OneConstant made;
  Graph& graph = made.graph;
  const unsigned line_1 = __LINE__ + 1;
  const auto call_1 = [&] { graph.get_tensor_by_name("tower_0/los"); };
  const std::string said_1 = error_text(call_1);
  CHECK_SAYS(said_1, "The name 'tower_0/los' looks like an (invalid) Operation name, not a Tensor.",
             location(line_1), "nearest existing: 'tower_0/loss'");
  const unsigned line_2 = __LINE__ + 1;
  const auto call_2 = [&] { graph.get_tensor_by_name("tower_0/los:0"); };
  const std::string said_2 = error_text(call_2);
  CHECK_SAYS(said_2,
             "KeyError: The name 'tower_0/los:0' refers to a Tensor which does not exist. The "
             "operation, 'tower_0/los', does not exist in the graph.",
             location(line_2), "nearest existing: 'tower_0/loss'");
  const unsigned line_3 = __LINE__ + 1;
  const auto call_3 = [&] { graph.get_tensor_by_name("tower_0/loss:first"); };
  const std::string said_3 = error_text(call_3);
  CHECK_SAYS(said_3,
             "The name 'tower_0/loss:first' looks a like a Tensor name, but is not a valid one.",
             location(line_3));
  const unsigned line_4 = __LINE__ + 1;
  const auto call_4 = [&] { graph.get_tensor_by_name("tower_0/loss:1"); };
  const std::string said_4 = error_text(call_4);
  CHECK_SAYS(said_4, "only has 1 outputs", location(line_4), "node: tower_0/loss (Const)");
}

TEST_CASE("an operation under a name that is a tensor's, or nobody's") {
  OneConstant made;
  Graph& graph = made.graph;
  const unsigned line_5 = __LINE__ + 1;
  const auto call_5 = [&] { graph.get_operation_by_name("tower_0/loss:0"); };
  const std::string said_5 = error_text(call_5);
  CHECK_SAYS(said_5, "Name 'tower_0/loss:0' appears to refer to a Tensor, not a Operation.",
             location(line_5), "hint: write 'tower_0/loss'");
  const unsigned line_6 = __LINE__ + 1;
  const auto call_6 = [&] { graph.get_operation_by_name("tower_1/loss"); };
  const std::string said_6 = error_text(call_6);
  CHECK_SAYS(said_6, "KeyError", location(line_6), "nearest existing: 'tower_0/loss'");
}

TEST_CASE("a description asked for what it does not have") {
  OneConstant made;
  const GraphDescription description = made.graph.describe();
  const unsigned line_7 = __LINE__ + 1;
  const auto call_7 = [&] { description.op("tower_1/loss"); };
  const std::string said_7 = error_text(call_7);
  CHECK_SAYS(said_7, "KeyError", location(line_7), "nearest existing: 'tower_0/loss'");
  const unsigned line_8 = __LINE__ + 1;
  const auto call_8 = [&] { description.difference("tower_0", "tower_1"); };
  const std::string said_8 = error_text(call_8);
  CHECK_SAYS(said_8, "ValueError", location(line_8), "nearest existing: 'tower_0'");
}

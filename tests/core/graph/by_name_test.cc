// Things of a graph asked for by name: what is said where there is none, and at which line.
#include <doctest/doctest.h>

#include "tests/support/error_text.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::error_text;

namespace {

std::string here(unsigned line) { return "core/graph/by_name_test.cc:" + std::to_string(line); }

struct OneConstant {
  OneConstant() : guard(graph.as_default()) { tf::constant(1.0, {.name = "tower_0/loss"}); }
  Graph graph;
  DefaultGraphGuard guard;
};

}  // namespace

TEST_CASE("a tensor asked for by the name of its operation") {
  OneConstant made;
  const unsigned line = __LINE__ + 1;
  const std::string said = error_text([&] { made.graph.get_tensor_by_name("tower_0/loss"); });
  CHECK_SAYS(said,
             "ValueError: The name 'tower_0/loss' refers to an Operation, not a Tensor. Tensor "
             "names must be of the form \"<op_name>:<output_index>\".",
             here(line), "hint: write 'tower_0/loss:0'");
}

TEST_CASE("a tensor under a name that nothing has") {
  OneConstant made;
  CHECK_SAYS(error_text([&] { made.graph.get_tensor_by_name("tower_0/los"); }),
             "The name 'tower_0/los' looks like an (invalid) Operation name, not a Tensor.",
             here(__LINE__ - 2), "nearest existing: 'tower_0/loss'");
  CHECK_SAYS(error_text([&] { made.graph.get_tensor_by_name("tower_0/los:0"); }),
             "KeyError: The name 'tower_0/los:0' refers to a Tensor which does not exist. The "
             "operation, 'tower_0/los', does not exist in the graph.",
             here(__LINE__ - 3), "nearest existing: 'tower_0/loss'");
  CHECK_SAYS(error_text([&] { made.graph.get_tensor_by_name("tower_0/loss:first"); }),
             "The name 'tower_0/loss:first' looks a like a Tensor name, but is not a valid one.",
             here(__LINE__ - 2));
  CHECK_SAYS(error_text([&] { made.graph.get_tensor_by_name("tower_0/loss:1"); }),
             "only has 1 outputs", here(__LINE__ - 1), "node: tower_0/loss (Const)");
}

TEST_CASE("an operation under a name that is a tensor's, or nobody's") {
  OneConstant made;
  CHECK_SAYS(error_text([&] { made.graph.get_operation_by_name("tower_0/loss:0"); }),
             "Name 'tower_0/loss:0' appears to refer to a Tensor, not a Operation.",
             here(__LINE__ - 2), "hint: write 'tower_0/loss'");
  CHECK_SAYS(error_text([&] { made.graph.get_operation_by_name("tower_1/loss"); }), "KeyError",
             here(__LINE__ - 1), "nearest existing: 'tower_0/loss'");
}

TEST_CASE("a description asked for what it does not have") {
  OneConstant made;
  const GraphDescription description = made.graph.describe();
  CHECK_SAYS(error_text([&] { description.op("tower_1/loss"); }), "KeyError", here(__LINE__),
             "nearest existing: 'tower_0/loss'");
  CHECK_SAYS(error_text([&] { description.difference("tower_0", "tower_1"); }), "ValueError",
             here(__LINE__ - 1), "nearest existing: 'tower_0'");
}

// Scopes closed out of order, mixed graphs, and names and kinds that do not match.
#include <doctest/doctest.h>

#include <memory>

#include "tests/support/error_text.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

template <class Make>
auto open(Make make) {
  using Guard = decltype(make());
  struct Holder {
    explicit Holder(Make& make_guard) : guard(make_guard()) {}
    Guard guard;
  };
  return std::make_unique<Holder>(make);
}

template <class Outer, class Inner>
void check_closed_out_of_order(const char* outer_kind, const char* inner_kind, Outer outer_scope,
                               Inner inner_scope) {
  CAPTURE(outer_kind);
  CAPTURE(inner_kind);
  Graph graph;
  const auto as_default = graph.as_default();
  auto outer = open(outer_scope);
  auto inner = open(inner_scope);
  outer.reset();
  try {
    constant(1.0);
    FAIL("the next call has to say it");
  } catch (const RuntimeError& error) {
    CHECK(error.message().find(std::string("the ") + outer_kind + " opened at") !=
          std::string::npos);
    CHECK(error.message().find(std::string("the ") + inner_kind + " opened at") !=
          std::string::npos);
  }
  inner.reset();
  CHECK(constant(1.0).valid());  // the error is reported only once
}

TEST_CASE("a scope that ends before one inside it is an error of the next call") {
  const auto variables = [] { return variable_scope("v", {.auxiliary_name_scope = false}); };
  const auto names = [] { return name_scope("n"); };
  const auto devices = [] { return device("/cpu:0"); };
  const auto control = [] { return control_dependencies(std::vector<Operation>{}); };
  check_closed_out_of_order("variable_scope", "name_scope", variables, names);
  check_closed_out_of_order("name_scope", "variable_scope", names, variables);
  check_closed_out_of_order("name_scope", "device", names, devices);
  check_closed_out_of_order("device", "control_dependencies", devices, control);
  check_closed_out_of_order("control_dependencies", "name_scope", control, names);
}

TEST_CASE("the next scope says it as well as the next operation") {
  Graph graph;
  const auto as_default = graph.as_default();
  auto outer = open([] { return device("/cpu:0"); });
  auto inner = open([] { return name_scope("n"); });
  outer.reset();
  CHECK_THROWS_AS((void)variable_scope("v"), RuntimeError);
  inner.reset();
  const auto fine = variable_scope("v");
  CHECK(fine.name() == "v");
}

TEST_CASE("tensors, control inputs and variables of another graph") {
  Graph one, two;
  Tensor theirs;
  Variable their_variable;
  {
    const auto as_default = one.as_default();
    theirs = constant(1.0, {.name = "theirs"});
    their_variable = get_variable("w", Shape{2});
  }
  const auto as_default = two.as_default();
  const Tensor ours = constant(1.0, {.name = "ours"});
  CHECK_THROWS_AS(ours + theirs, ValueError);
  CHECK_THROWS_AS(add_n({ours, theirs}), ValueError);
  CHECK_THROWS_AS(group({Fetch(ours), Fetch(theirs)}), ValueError);
  CHECK_THROWS_WITH_AS((void)name_scope("n", {.values = std::vector<Tensor>{ours, theirs}}),
                       doctest::Contains("theirs:0 must be from the same graph as ours:0"),
                       ValueError);
  CHECK_THROWS_AS((void)variable_scope("n", {.values = {theirs, ours}}), ValueError);
  CHECK_THROWS_AS(ours * their_variable, ValueError);
  Session session(two);
  CHECK_THROWS_AS(session.run(theirs), ValueError);
  CHECK_THROWS_AS(session.run(ours, {{theirs, 1.0}}), ValueError);
  CHECK(session.run(ours).data<float>()[0] == 1.0f);
}

TEST_CASE("values choose the graph of a scope, which becomes the default one") {
  Graph one, two;
  Tensor theirs;
  {
    const auto as_default = one.as_default();
    theirs = constant(1.0, {.name = "theirs"});
  }
  const auto as_default = two.as_default();
  {
    const auto scope = name_scope("n", {.values = std::vector<Tensor>{theirs}});
    CHECK(&get_default_graph() == &one);
    CHECK(constant(2.0, {.name = "c"}).name() == "n/c:0");
  }
  CHECK(&get_default_graph() == &two);
}

TEST_CASE("collections tell what they hold when another type is asked for") {
  Graph graph;
  const auto as_default = graph.as_default();
  add_to_collection("mixed", constant(1.0, {.name = "c"}));
  CHECK_THROWS_WITH_AS(get_collection<Variable>("mixed"), doctest::Contains("'c:0'"), TypeError);
  CHECK_THROWS_AS(get_collection("mixed", "c(["), ValueError);
  get_collection_ref("mixed").clear();
  CHECK(get_collection("mixed").empty());
  add_to_collections({"a", "b"}, constant(2.0));
  CHECK(get_collection("a").size() == 1);
  CHECK(get_collection("b").size() == 1);
}

TEST_CASE("parts of a variable are variables; the whole has no storage") {
  Graph graph;
  const auto as_default = graph.as_default();
  const Variable w = get_variable("w", Shape{5, 2}, {.partitioner = fixed_size_partitioner(2)});
  REQUIRE(w.partitioned());
  CHECK(w.name() == "w");
  CHECK(w.shape() == Shape{5, 2});
  CHECK(w.partitions() == std::vector<int>{2, 1});
  REQUIRE(w.parts().size() == 2);
  CHECK(w.parts()[0].shape() == Shape{3, 2});
  REQUIRE(w.parts()[1].save_slice_info());
  CHECK(w.parts()[1].save_slice_info()->full_name == "w");
  CHECK(w.parts()[1].save_slice_info()->slice.offset == std::vector<std::int64_t>{3, 0});
  CHECK_THROWS_AS(w.ref(), NotImplementedError);
  CHECK_THROWS_AS(assign(w, 1.0), NotImplementedError);
  CHECK_THROWS_AS(get_variable("r", Shape{2}, {.use_resource = true}), NotImplementedError);
  CHECK_THROWS_AS(variable_axis_size_partitioner(0), ValueError);
  CHECK_THROWS_AS(get_variable("v", Shape{2}, {.partitioner = fixed_size_partitioner(2, 1)}),
                  ValueError);
}

TEST_CASE("a default name that was made unique is told where reuse finds nothing") {
  Graph graph;
  const auto as_default = graph.as_default();
  std::string said, inside;
  {
    const auto all = tf::variable_scope(tf::get_variable_scope());
    {
      const auto conv = tf::variable_scope(tf::None, {.default_name = "conv"});
      tf::get_variable("w", {2});
    }
    tf::get_variable_scope().reuse_variables();
    const auto conv = tf::variable_scope(tf::None, {.default_name = "conv"});
    said = testing::error_text([] { tf::get_variable("w", {2}); });
    const auto inner = tf::variable_scope("inner");
    inside = testing::error_text([] { tf::get_variable("w", {2}); });
  }
  const std::string opened = "misuse_test.cc:" + std::to_string(__LINE__ - 5);
  for (const std::string& text : {said, inside}) {
    CHECK_SAYS(text, "default_name 'conv' was made unique: 'conv_1'", opened,
               "tf::variable_scope(\"conv\")");
  }
  CHECK_SAYS(said, "Variable conv_1/w does not exist", "nearest existing: 'conv/w'");
}

TEST_CASE("a default name that was free is not told") {
  Graph graph;
  const auto as_default = graph.as_default();
  const auto scope = tf::variable_scope(tf::None, {.default_name = "conv"});
  tf::get_variable_scope().reuse_variables();
  CHECK(testing::error_text([] { tf::get_variable("w", {2}); }).find("unique") ==
        std::string::npos);
}

}  // namespace
}  // namespace towerflow

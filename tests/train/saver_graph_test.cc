// Compares the nodes that a Saver adds with TensorFlow's in golden/saver_nodes.txt.
#include "tests/train/golden_nodes.h"
#include "tests/train/saver_support.h"

using namespace towerflow;
using namespace towerflow::testing;

TEST_CASE("a Saver's nodes are TensorFlow's: names, order, inputs, control inputs, devices") {
  Graph graph;
  const auto guard = graph.as_default();
  Variable a, b, c;
  {
    const auto cpu = device("/cpu:0");
    b = variable("b", Array::zeros(DType::float32, {2}));
    a = variable("a", Array::zeros(DType::float32, {3, 2}));
  }
  {
    const auto gpu = device("/gpu:0");
    c = Variable(0.0F, {.trainable = false, .name = "c"});
  }
  Variable local(0.0F, {.collections = {{GraphKeys::LOCAL_VARIABLES}}, .name = "local"});
  const std::size_t before = graph.size();
  const auto keys = graph.collections().keys();
  {
    const auto gpu = device("/gpu:1");
    const auto after = control_dependencies({c.initializer()});
    const train::Saver saver;
    CHECK(saver.as_saver_def().filename_tensor_name == "save/Const:0");
    CHECK(saver.as_saver_def().save_tensor_name == "save/control_dependency:0");
    CHECK(saver.as_saver_def().restore_op_name == "save/restore_all");
  }
  {
    const auto scope = name_scope("x");
    const train::Saver renamed({{"bb", b}, {"aa", a}}, {.max_to_keep = 2, .name = "S"});
    const train::Saver one({b}, {.filename = "elsewhere"});
    CHECK(renamed.as_saver_def().restore_op_name == "x/S/restore_all");
  }
  const train::Saver last({.var_list = std::vector<Variable>{c}});
  CHECK(graph.collections().keys() == keys);

  CHECK(node_lines(graph, before) == read_raw("tests/train/golden/saver_nodes.txt"));
}

TEST_CASE("a Saver's constants: keys sorted by bytes, no slices, the default file name") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable b = variable("b", Array::scalar(1.0F)), upper = variable("B", Array::scalar(2.0F));
  const train::Saver saver({{"b", b}, {"a/z", upper}});
  const auto value = [&](const char* name) {
    return constant_value(graph.get_tensor_by_name(name));
  };
  CHECK(value("save/SaveV2/tensor_names:0") ==
        Array::of<std::string>({2}, std::vector<std::string>{"a/z", "b"}));
  CHECK(value("save/RestoreV2/tensor_names:0") == value("save/SaveV2/tensor_names:0"));
  CHECK(value("save/SaveV2/shape_and_slices:0") ==
        Array::of<std::string>({2}, std::vector<std::string>{"", ""}));
  CHECK(value("save/filename/input:0") == Array::scalar<std::string>("model"));
  const train::Saver named({b}, {.filename = "elsewhere"});
  CHECK(value("save_1/filename/input:0") == Array::scalar<std::string>("elsewhere"));
}

TEST_CASE("a Saver belongs to the graph of its variables, whatever the default graph is") {
  Graph graph, other;
  Variable w;
  {
    const auto guard = graph.as_default();
    w = variable("w", Array::scalar(1.0F));
  }
  const auto guard = other.as_default();
  const train::Saver saver({w});
  CHECK(other.size() == 0);
  CHECK(graph.get_operation_by_name("save/restore_all").valid());
}

TEST_CASE("restoring is planned once, with shapes known beforehand") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = variable("w", floats({2, 3}, {1, 2, 3, 4, 5, 6}));
  const train::Saver saver({w});
  CHECK(graph.get_tensor_by_name("save/RestoreV2:0").shape() == Shape{2, 3});
  Session session;
  const Fetch restore = graph.get_operation_by_name("save/restore_all");
  const std::string report = session.plan_report(std::span(&restore, 1));
  CHECK(report.find("RestoreV2 [bundle]") != std::string::npos);
  CHECK(report.find("late") == std::string::npos);
}

TEST_CASE("every way to say what is saved") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable a = variable("a", Array::scalar(1.0F)), b = variable("b", Array::scalar(1.0F));
  const auto saved = [&](const train::Saver& saver) {
    const Operation save =
        graph.get_tensor_by_name(saver.as_saver_def().save_tensor_name).op().control_inputs().at(0);
    std::string keys;
    const Array names = constant_value(save.input(1));
    for (const std::string& name : names.flat<std::string>()) keys += name + " ";
    return keys;
  };
  const std::vector<Variable> list = {b, a};
  const std::map<std::string, Variable> map = {{"y", a}, {"x", b}};
  CHECK(saved(train::Saver()) == "a b ");
  CHECK(saved(train::Saver({.max_to_keep = 2})) == "a b ");
  CHECK(saved(train::Saver({.allow_empty = true})) == "a b ");
  CHECK(saved(train::Saver({.max_to_keep = 2, .name = "other"})) == "a b ");
  CHECK(saved(train::Saver({.name = "other"})) == "a b ");
  CHECK(saved(train::Saver({b})) == "b ");
  CHECK(saved(train::Saver({b, a})) == "a b ");
  CHECK(saved(train::Saver({{"z", b}})) == "z ");
  CHECK(saved(train::Saver({{"z", b}, {"y", a}}, {.max_to_keep = 1})) == "y z ");
  CHECK(saved(train::Saver(list)) == "a b ");
  CHECK(saved(train::Saver(list, {.max_to_keep = 1})) == "a b ");
  CHECK(saved(train::Saver(map)) == "x y ");
  CHECK(saved(train::Saver(global_variables("b"))) == "b ");
  CHECK(saved(train::Saver({.var_list = list})) == "a b ");
  CHECK(saved(train::Saver({.var_list = global_variables("a")})) == "a ");
  CHECK(saved(train::Saver({.var_list = list, .max_to_keep = 3})) == "a b ");
  CHECK(saved(train::Saver({.var_list = map})) == "x y ");
  CHECK(saved(train::Saver(train::SaverOptions{.var_list = list})) == "a b ");
  static_assert(std::is_copy_constructible_v<train::Saver>);
  const train::Saver one({b});
  train::Saver copy(one), again(copy);
  again = one;
  CHECK(saved(again) == "b ");
  CHECK(copy.as_saver_def().save_tensor_name == one.as_saver_def().save_tensor_name);
}

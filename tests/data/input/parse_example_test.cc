// parse_single_example and decode_raw as ops; names and messages are TensorFlow 2.21's.
#include "data/parse_example.h"

#include <doctest/doctest.h>

#include "core/graph/scopes.h"
#include "data/record_reader.h"
#include "ops/array/placeholder.h"
#include "ops/data_flow/decode_raw.h"
#include "ops/data_flow/queue.h"
#include "tests/data/input/support.h"
#include "tests/support/error_text.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

std::vector<std::string> names_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Operation& op : graph.get_operations()) names.push_back(op.name());
  return names;
}

}  // namespace

TEST_CASE("the nodes are TensorFlow's") {
  Graph graph;
  const auto as_default = graph.as_default();
  const auto parsed = parse_single_example(
      example(5), {{"label", {.shape = {}, .dtype = int64}},
                   {"a b",
                    {.shape = {2, 1},
                     .dtype = float32,
                     .default_value = Array::of<float>(Shape{2}, {1.0F, 2.0F})}}});
  const std::string inner = "ParseSingleExample/ParseExample/";
  CHECK(names_of(graph) == std::vector<std::string>{
                               "ParseSingleExample/serialized", inner + "key_a_b",
                               inner + "Reshape/shape", inner + "Reshape", inner + "Const",
                               inner + "ParseExampleV2/names", inner + "ParseExampleV2/sparse_keys",
                               inner + "ParseExampleV2/dense_keys",
                               inner + "ParseExampleV2/ragged_keys", inner + "ParseExampleV2"});
  CHECK(parsed["label"].name() == inner + "ParseExampleV2:1");
  CHECK(parsed["a b"].shape() == Shape{2, 1});
  CHECK_THROWS_AS(parsed["lable"], KeyError);
  parse_single_example(example(5), {{"label", {.shape = {}, .dtype = int64}}}, {.name = "nm"});
  CHECK(names_of(graph).back() == "nm/nm/nm");
}

TEST_CASE("values, defaults and what cannot be parsed") {
  Graph graph;
  const auto as_default = graph.as_default();
  const FIFOQueue records(8, {string}, {.shapes = {{}}});
  const auto parsed = parse_single_example(
      Tensor(records.dequeue()),
      {{"label", {.shape = {}, .dtype = int64}},
       {"raw", {.shape = {}, .dtype = string}},
       {"weight",
        {.shape = {1}, .dtype = float32, .default_value = Array::of<float>(Shape{1}, {2.5F})}}});
  const Tensor raw = decode_raw(parsed["raw"], uint8);
  CHECK(raw.shape() == Shape{None});
  Session session;
  session.run(
      records.enqueue_many({{Nested(example(300)), Nested("no example"),
                             Nested(data::ExampleBuilder().int64("label", 1).serialize())}}));
  const auto [label, bytes, weight] = session.run({parsed["label"], raw, parsed["weight"]});
  CHECK(label.item<std::int64_t>() == 300);
  CHECK(values<std::uint8_t>(bytes) == std::vector<std::uint8_t>{300 - 256, 1, 'z'});
  CHECK(weight.item<float>() == 2.5F);
  CHECK_THROWS_WITH_AS(session.run(parsed["label"]),
                       doctest::Contains("Could not parse example input, value: 'no example'"),
                       errors::InvalidArgumentError);
  CHECK_THROWS_WITH_AS(
      session.run(parsed["label"]),
      doctest::Contains("Feature: raw (data type: string) is required but could not be found."),
      errors::InvalidArgumentError);
}

TEST_CASE("features that cannot be parsed are found while the graph is built") {
  Graph graph;
  const auto as_default = graph.as_default();
  CHECK_THROWS_AS(parse_single_example("x", {}), ValueError);
  CHECK_THROWS_AS(parse_single_example("x", {{"a", {.shape = {None}, .dtype = int64}}}),
                  ValueError);
  CHECK_THROWS_AS(parse_single_example("x", {{"a", {.shape = {}, .dtype = int32}}}), TypeError);
  CHECK_THROWS_AS(parse_single_example(3, {{"a", {.shape = {}, .dtype = int64}}}), TypeError);
  CHECK_THROWS_WITH_AS(parse_single_example({"x", "y"}, {{"a", {.shape = {}, .dtype = int64}}}),
                       doctest::Contains("Input serialized must be a scalar"), ValueError);
}

TEST_CASE("decode_raw") {
  Graph graph;
  const auto as_default = graph.as_default();
  Session session;
  const auto run = [&](const Tensor& tensor) { return session.run(tensor); };
  const Tensor two = decode_raw({"abcd", "efgh"}, uint8);
  CHECK(two.shape() == Shape{2, None});
  CHECK(run(two).shape() == Shape{2, 4});
  CHECK(values<std::uint8_t>(run(two)) ==
        std::vector<std::uint8_t>{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'});
  CHECK(values<std::int32_t>(run(decode_raw("abcd", int32))) ==
        std::vector<std::int32_t>{1684234849});
  CHECK(values<std::int32_t>(run(decode_raw("abcd", int32, {.little_endian = false}))) ==
        std::vector<std::int32_t>{1633837924});
  CHECK(run(decode_raw("", int32)).shape() == Shape{0});
  CHECK_THROWS_WITH_AS(
      run(decode_raw({"abc", "efgh"}, uint8)),
      doctest::Contains("DecodeRaw requires input strings to all be the same size, "
                        "but element 1 has size 4 != 3"),
      errors::InvalidArgumentError);
  CHECK_THROWS_WITH_AS(
      run(decode_raw("abcde", int32)),
      doctest::Contains("Input to DecodeRaw has length 5 that is not a multiple of "
                        "4, the size of int32"),
      errors::InvalidArgumentError);
  Tensor told = decode_raw("abc", uint8);
  told.set_shape({3});
  CHECK(run(told).shape() == Shape{3});
  Tensor wrong = decode_raw("abc", uint8);
  wrong.set_shape({4});
  CHECK_THROWS_WITH_AS(run(wrong),
                       doctest::Contains("holds 3 numbers of uint8, but the graph expects 4"),
                       errors::InvalidArgumentError);
  CHECK_THROWS_AS(decode_raw("abc", string), TypeError);
  CHECK_THROWS_AS(decode_raw(3, uint8), TypeError);
}

TEST_CASE("features of any length: nodes, values, and none") {
  Graph graph;
  const auto as_default = graph.as_default();
  const Tensor serialized = placeholder(string, {.shape = Shape{}});
  const auto parsed = parse_single_example(
      serialized,
      MixedFeatures{
          {"a", VarLenFeature{int64}},
          {"b", FixedLenFeature{.shape = {2}, .dtype = float32}},
          {"c", VarLenFeature{string}},
          {"d", FixedLenSequenceFeature{.shape = {2}, .dtype = int64, .allow_missing = true}},
          {"e", FixedLenSequenceFeature{.dtype = string, .allow_missing = true}}});
  const std::string op = "ParseSingleExample/ParseExample/ParseExampleV2";
  CHECK(names_of(graph) ==
        std::vector<std::string>{"Placeholder", "ParseSingleExample/ParseExample/Const",
                                 "ParseSingleExample/ParseExample/Const_1",
                                 "ParseSingleExample/ParseExample/Const_2", op + "/names",
                                 op + "/sparse_keys", op + "/dense_keys", op + "/ragged_keys", op});
  CHECK(parsed.sparse("a").indices.name() == op + ":0");
  CHECK(parsed.sparse("a").indices.shape() == Shape{None, 1});
  CHECK(parsed.sparse("a").values.name() == op + ":2");
  CHECK(parsed.sparse("a").dense_shape.name() == op + ":4");
  CHECK(parsed.sparse("c").values.dtype() == string);
  CHECK(parsed["b"].name() == op + ":6");
  CHECK(parsed["d"].shape() == Shape{None, 2});
  CHECK(parsed["e"].shape() == Shape{None});
  CHECK_THROWS_AS(parsed.sparse("b"), KeyError);
  CHECK_THROWS_AS(parsed["a"], KeyError);

  Session session;
  const auto run = [&](const std::string& message) {
    return session.run(
        {parsed.sparse("a").indices, parsed.sparse("a").values, parsed.sparse("a").dense_shape,
         parsed.sparse("c").values, parsed["b"], parsed["d"], parsed["e"]},
        {{serialized, Array::scalar(message)}});
  };
  data::ExampleBuilder builder;
  builder.int64_list("a", {7, 8, -9}).float_list("b", {1.5F, 2.5F}).bytes_list("c", {"x", "", "y"});
  builder.int64_list("d", {1, 2, 3, 4}).bytes_list("e", {"p", "q"});
  const auto full = run(builder.serialize());
  CHECK(full[0].shape() == Shape{3, 1});
  CHECK(values<std::int64_t>(full[0]) == std::vector<std::int64_t>{0, 1, 2});
  CHECK(values<std::int64_t>(full[1]) == std::vector<std::int64_t>{7, 8, -9});
  CHECK(values<std::int64_t>(full[2]) == std::vector<std::int64_t>{3});
  CHECK(values<std::string>(full[3]) == std::vector<std::string>{"x", "", "y"});
  CHECK(values<float>(full[4]) == std::vector<float>{1.5F, 2.5F});
  CHECK(full[5].shape() == Shape{2, 2});
  CHECK(values<std::int64_t>(full[5]) == std::vector<std::int64_t>{1, 2, 3, 4});
  CHECK(values<std::string>(full[6]) == std::vector<std::string>{"p", "q"});

  builder.clear();
  const auto empty = run(builder.float_list("b", {0, 0}).serialize());
  CHECK(empty[0].shape() == Shape{0, 1});
  CHECK(empty[1].shape() == Shape{0});
  CHECK(values<std::int64_t>(empty[2]) == std::vector<std::int64_t>{0});
  CHECK(empty[5].shape() == Shape{0, 2});

  builder.int64_list("d", {1, 2, 3});
  CHECK(thrown([&] { run(builder.serialize()); }) ==
        "InvalidArgumentError: Error while parsing feature with key d: number of elements should "
        "be divisible by 2, found 3 instead");
  builder.int64_list("d", {}).float_list("a", {1.5F});
  CHECK(thrown([&] { run(builder.serialize()); }) ==
        "InvalidArgumentError: Key: a.  Data types don't match. Expected type: int64, Actual type: "
        "float");
  CHECK(thrown([&] {
          run("\xff\xff");
        }).starts_with("InvalidArgumentError: Could not parse example input"));
}

TEST_CASE("features of any length that cannot be parsed") {
  Graph graph;
  const auto as_default = graph.as_default();
  const auto refused = [](const MixedFeatures& features) {
    return thrown([&] { parse_single_example(example(1), features); });
  };
  CHECK(refused({}) == "ValueError: Invalid argument: features cannot be empty.");
  CHECK(refused(MixedFeatures{{"a", VarLenFeature{int32}}}).starts_with("TypeError: feature a"));
  CHECK(refused(MixedFeatures{{"a", FixedLenSequenceFeature{.dtype = int64}}}) ==
        "ValueError: Unsupported: FixedLenSequenceFeature requires allow_missing to be True.");
  for (const Shape& shape : {Shape{None}, Shape{0}, Shape::unknown()}) {
    const FixedLenSequenceFeature feature{.shape = shape, .dtype = int64, .allow_missing = true};
    CHECK(refused(MixedFeatures{{"a", feature}}).starts_with("ValueError: feature a"));
  }
  CHECK(refused(MixedFeatures{{"a", FixedLenFeature{.shape = {None}, .dtype = int64}},
                              {"b", VarLenFeature{int64}}})
            .starts_with("ValueError: feature a has the shape (?,)"));
}

namespace {

/// Returns the error of a run that parses the second of two records as `features`. The records are
/// read from a file or, with `queued`, dequeued.
std::string parse_error_of_record(const Features& features, bool queued) {
  const ScratchFolder dir;
  const std::string path = (dir.path() / "two.tfrecord").string();
  write_examples(path, 7, 2);
  Graph graph;
  const auto as_default = graph.as_default();
  const FIFOQueue names(1, {string}, {.shapes = {{}}});
  const TFRecordReader reader;
  const auto [key, value] = reader.read(names);
  const FIFOQueue records(8, {string}, {.shapes = {{}}});
  const Operation keep = records.enqueue({value});
  const Tensor serialized = queued ? Tensor(records.dequeue()) : value;
  const auto parsed = parse_single_example(serialized, features);
  Session session;
  session.run(names.enqueue({path}));
  const auto first = parse_single_example(serialized, {{"label", {.shape = {}, .dtype = int64}}});
  if (queued) {
    session.run(keep);
    session.run(keep);
  }
  session.run(first["label"]);
  std::string said = testing::error_text([&] { session.run(parsed.tensors().begin()->second); });
  const auto at = said.find(dir.path().string());
  if (at != std::string::npos) said.replace(at, dir.path().string().size(), "DIR");
  return said;
}

}  // namespace

TEST_CASE("a feature that a record lacks: what the record has, its file and its number") {
  const Features wrong{{"labl", {.shape = {}, .dtype = int64}}};
  for (const bool queued : {false, true}) {
    CAPTURE(queued);
    CHECK_SAYS(parse_error_of_record(wrong, queued),
               "Feature: labl (data type: int64) is required but could not be found.",
               "the record has 'label' (int64, 1 value), 'raw' (string, 1 value)",
               "nearest existing: 'label'", "DIR/two.tfrecord", "record 1");
  }
  CHECK_SAYS(parse_error_of_record({{"label", {.shape = {}, .dtype = float32}}}, false),
             "Data types don't match. Data type: int64 but expected type: float",
             "'label' (int64, 1 value)", "DIR/two.tfrecord", "record 1");
  CHECK_SAYS(parse_error_of_record({{"label", {.shape = {3}, .dtype = int64}}}, true),
             "Values size: 1 but output shape: [3]", "'label' (int64, 1 value)", "record 1");
}

TEST_CASE("a record of no file is described all the same") {
  Graph graph;
  const auto as_default = graph.as_default();
  const auto parsed = parse_single_example(example(5), {{"labl", {.shape = {}, .dtype = int64}}});
  Session session;
  const std::string said = testing::error_text([&] { session.run(parsed["labl"]); });
  CHECK_SAYS(said, "the record has 'label' (int64, 1 value), 'raw' (string, 1 value)");
  CHECK(said.find("read from") == std::string::npos);
}

TEST_CASE("a record with many features, and one with none") {
  Graph graph;
  const auto as_default = graph.as_default();
  data::ExampleBuilder many;
  for (int i = 0; i < 100; ++i) many.int64("f" + std::to_string(i), i);
  Session session;
  const auto parsed =
      parse_single_example(many.serialize(), {{"x", {.shape = {}, .dtype = int64}}});
  CHECK_SAYS(testing::error_text([&] { session.run(parsed["x"]); }), "and 80 more");
  const auto none = parse_single_example(data::ExampleBuilder().serialize(),
                                         {{"x", {.shape = {}, .dtype = int64}}});
  CHECK_SAYS(testing::error_text([&] { session.run(none["x"]); }), "the record has no features");
}

// Several sources for one queue: nodes, padding, and an order that does not depend on delays of the
// threads. Names and messages are TensorFlow 2.21's.
#include "train/input/batch_join.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/graph/scopes.h"
#include "data/parse_example.h"
#include "data/record_reader.h"
#include "ops/array/placeholder.h"
#include "ops/variables/initialization.h"
#include "tests/data/input/delayed.h"
#include "tests/data/input/support.h"
#include "train/input/batch.h"
#include "train/input/input_producer.h"
#include "train/queue_runner.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

/// Returns all values of `next` until the input ends. The graph's runners fill its queue.
std::vector<std::int64_t> drained(const Tensor& next) {
  Session session;
  session.run(local_variables_initializer());
  train::Coordinator coord;
  const auto threads = train::start_queue_runners(session, {.coord = &coord});
  std::vector<std::int64_t> seen;
  try {
    while (true) {
      const Array batch = session.run(next);
      for (const std::int64_t value : values<std::int64_t>(batch)) seen.push_back(value);
    }
  } catch (const errors::OutOfRangeError&) {
  }
  coord.request_stop();
  coord.join(threads);
  return seen;
}

/// Returns the labels from `readers` readers that share a queue of file names.
std::vector<std::int64_t> labels(const std::vector<std::string>& files, int readers, bool shuffle,
                                 std::int64_t batch_size) {
  Graph graph;
  const auto as_default = graph.as_default();
  const FIFOQueue names = train::string_input_producer(files, {.num_epochs = 2, .seed = 5});
  std::vector<std::vector<Tensor>> lists;
  for (int i = 0; i < readers; ++i) {
    const TFRecordReader reader;
    const auto parsed =
        parse_single_example(reader.read(names).value, {{"label", {.shape = {}, .dtype = int64}}});
    lists.emplace_back(1, delay_tensor(parsed["label"]));
  }
  const Components next =
      shuffle
          ? train::shuffle_batch_join(lists, {.batch_size = batch_size,
                                              .capacity = 40,
                                              .min_after_dequeue = 25,
                                              .seed = 3,
                                              .allow_smaller_final_batch = true})
          : train::batch_join(lists, {.batch_size = batch_size, .allow_smaller_final_batch = true});
  return drained(next);
}

std::vector<std::string> op_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Operation& op : graph.get_operations()) names.push_back(op.name() + " " + op.type());
  return names;
}

}  // namespace

TEST_CASE("readers that share file names give one order, whatever they are slowed down by") {
  const ScratchFolder folder;
  std::vector<std::string> files;
  std::int64_t total = 0;
  for (const std::int64_t count : {31, 4, 57, 0, 23, 12}) {
    files.push_back((folder / std::to_string(files.size())).string());
    write_examples(files.back(), total, count);
    total += count;
  }
  for (const bool shuffle : {false, true}) {
    for (const int readers : {1, 2, 3, 8}) {
      CAPTURE(shuffle);
      CAPTURE(readers);
      delay_records(false);
      const auto expected = labels(files, readers, shuffle, 1);
      std::vector<std::int64_t> sorted = expected;
      std::sort(sorted.begin(), sorted.end());
      REQUIRE(sorted.size() == static_cast<std::size_t>(2 * total));
      for (std::int64_t i = 0; i < 2 * total; ++i) {
        CHECK(sorted[static_cast<std::size_t>(i)] == i / 2);
      }
      delay_records(true);
      for (const std::int64_t batch_size : {1, 7}) {
        CHECK(labels(files, readers, shuffle, batch_size) == expected);
      }
    }
  }
}

TEST_CASE("two readers take turns; when one has ended the other goes on") {
  const ScratchFolder folder;
  write_examples(folder / "a", 0, 3);
  write_examples(folder / "b", 10, 6);
  for (const bool delays : {false, true}) {
    delay_records(delays);
    Graph graph;
    const auto as_default = graph.as_default();
    std::vector<std::vector<Tensor>> lists;
    for (const char* name : {"a", "b"}) {
      const FIFOQueue names =
          train::string_input_producer({(folder / name).string()}, {.num_epochs = 1});
      const TFRecordReader reader;
      const auto parsed = parse_single_example(reader.read(names).value,
                                               {{"label", {.shape = {}, .dtype = int64}}});
      lists.emplace_back(1, delay_tensor(parsed["label"]));
    }
    CHECK(drained(train::batch_join(lists, {.batch_size = 3})) ==
          std::vector<std::int64_t>{0, 10, 1, 11, 2, 12, 13, 14, 15});
  }
}

TEST_CASE("a queue as source keeps its order on any number of threads") {
  for (const int threads : {1, 2, 8}) {
    delay_records(true);
    Graph graph;
    const auto as_default = graph.as_default();
    std::vector<std::int64_t> rows(60);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(100 + i);
    const auto row = train::slice_input_producer(
        {Operand(Array::of<std::int64_t>(Shape{60}, rows))}, {.num_epochs = 1, .shuffle = false});
    const Components next = train::batch(std::vector<Tensor>(1, delay_tensor(row[0])),
                                         {.batch_size = 10, .num_threads = threads});
    CHECK(drained(next) == rows);
  }
}

TEST_CASE("lists without a source take turns where they enqueue") {
  delay_records(true);
  Graph graph;
  const auto as_default = graph.as_default();
  std::vector<std::vector<Tensor>> lists;
  for (const std::int64_t value : {1, 2, 3}) {
    const Tensor limited = train::limit_epochs(Operand(Array::scalar(value)), {.num_epochs = 4});
    lists.emplace_back(1, delay_tensor(limited));
  }
  CHECK(drained(train::batch_join(lists, {.batch_size = 12})) ==
        std::vector<std::int64_t>{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3});
}

TEST_CASE("a source that two runners use has no order, and stops nobody") {
  const ScratchFolder folder;
  write_examples(folder / "a", 0, 40);
  Graph graph;
  const auto as_default = graph.as_default();
  const auto row = train::slice_input_producer(
      {Operand(Array::of<std::int64_t>(Shape{4}, {1, 2, 3, 4}))}, {.num_epochs = 20});
  const std::vector<Tensor> tensors(1, row[0]);
  const Components a = train::batch(tensors, {.batch_size = 1, .num_threads = 2, .capacity = 90});
  const Components b = train::batch(tensors, {.batch_size = 1, .num_threads = 2, .capacity = 90});
  Session session;
  session.run(local_variables_initializer());
  train::Coordinator coord;
  const auto threads = train::start_queue_runners(session, {.coord = &coord});
  int taken = 0;
  for (const Tensor next : {a[0], b[0]}) {
    try {
      for (; true; ++taken) session.run(next);
    } catch (const errors::OutOfRangeError&) {
    }
  }
  CHECK(taken == 80);
  coord.request_stop();
  coord.join(threads);
}

TEST_CASE("an error in one list ends the others") {
  const ScratchFolder folder;
  write_examples(folder / "good", 0, 200);
  write_raw(folder / "bad", "this is no TFRecord file at all");
  Graph graph;
  const auto as_default = graph.as_default();
  std::vector<std::vector<Tensor>> lists;
  for (const char* name : {"good", "bad", "good"}) {
    const FIFOQueue names = train::string_input_producer({(folder / name).string()});
    const TFRecordReader reader;
    lists.emplace_back(1, reader.read(names).value);
  }
  const Components next = train::batch_join(lists, {.batch_size = 4});
  Session session;
  train::Coordinator coord;
  const auto threads = train::start_queue_runners(session, {.coord = &coord});
  const auto take_all = [&] {
    while (true) session.run(next[0]);
  };
  CHECK_THROWS_AS(take_all(), errors::OutOfRangeError);
  CHECK_THROWS_WITH_AS(coord.join(threads), doctest::Contains("bad"), errors::DataLossError);
}

TEST_CASE("nodes of a join are TensorFlow's") {
  Graph graph;
  const auto as_default = graph.as_default();
  std::vector<std::vector<Tensor>> lists;
  for (int i = 0; i < 2; ++i) lists.emplace_back(1, placeholder(float32, {.shape = Shape{2}}));
  const Components next = train::batch_join(lists, {.batch_size = 8});
  CHECK(next[0].name() == "batch_join:0");
  CHECK(next[0].shape() == Shape{8, 2});
  const std::vector<std::string> expected{"Placeholder Placeholder",
                                          "Placeholder_1 Placeholder",
                                          "batch_join/Const Const",
                                          "batch_join/fifo_queue FIFOQueueV2",
                                          "batch_join/fifo_queue_enqueue QueueEnqueueV2",
                                          "batch_join/fifo_queue_enqueue_1 QueueEnqueueV2",
                                          "batch_join/fifo_queue_Close QueueCloseV2",
                                          "batch_join/fifo_queue_Close_1 QueueCloseV2",
                                          "batch_join/fifo_queue_Size QueueSizeV2",
                                          "batch_join/Cast Cast",
                                          "batch_join/mul/y Const",
                                          "batch_join/mul Mul",
                                          "batch_join/fraction_of_32_full/tags Const",
                                          "batch_join/fraction_of_32_full ScalarSummary",
                                          "batch_join/n Const",
                                          "batch_join QueueDequeueManyV2"};
  CHECK(op_names(graph) == expected);
  const Components shuffled = train::shuffle_batch_join(
      lists, {.batch_size = 8, .capacity = 100, .min_after_dequeue = 50, .seed = 3});
  CHECK(shuffled[0].name() == "shuffle_batch_join:0");
  CHECK(graph.get_tensor_by_name("shuffle_batch_join/fraction_over_50_of_50_full:0").shape() ==
        Shape{});
}

TEST_CASE("batches of examples that differ in size are padded") {
  Graph graph;
  const auto as_default = graph.as_default();
  const Tensor x = placeholder(int64, {.shape = Shape{None}});
  const auto next = train::batch({x}, {.batch_size = 2, .dynamic_pad = true});
  CHECK(next[0].shape() == Shape{2, None});
  CHECK(graph.get_operation_by_name("batch/padding_fifo_queue").type() == "PaddingFIFOQueueV2");
  const Operation enqueue = graph.get_operation_by_name("batch/padding_fifo_queue_enqueue");
  Session session;
  session.run(enqueue, {{x, {1, 2, 3}}});
  session.run(enqueue, {{x, {4}}});
  const Array batch = session.run(next[0]);
  CHECK(batch.shape() == Shape{2, 3});
  CHECK(values<std::int64_t>(batch) == std::vector<std::int64_t>{1, 2, 3, 4, 0, 0});
  // In a join the first list decides which sizes may differ.
  std::vector<std::vector<Tensor>> lists(1, std::vector<Tensor>(1, x));
  lists.emplace_back(1, placeholder(int64, {.shape = Shape{3}}));
  CHECK(train::batch_join(lists, {.batch_size = 2, .dynamic_pad = true})[0].shape() ==
        Shape{2, None});
}

TEST_CASE("what joins refuse") {
  Graph graph;
  const auto as_default = graph.as_default();
  const Tensor two = placeholder(float32, {.shape = Shape{2}});
  const Tensor three = placeholder(float32, {.shape = Shape{3}});
  const Tensor number = placeholder(int32, {.shape = Shape{2}}), any = placeholder(float32);
  using Lists = std::vector<std::vector<Tensor>>;
  const auto joined = [&](const Lists& lists) {
    return thrown([&] { train::batch_join(lists, {.batch_size = 8}); });
  };
  CHECK(joined(Lists()) == "ValueError: Expected at least one set of tensors");
  CHECK(joined(Lists(2)) == "ValueError: Expected at least one tensor in batch_join().");
  CHECK(joined({{two}, {three}}) == "ValueError: Shapes (2,) and (3,) are not compatible");
  CHECK(joined({{two}, {number}}) ==
        "TypeError: Expected types to be consistent: float32 vs. int32.");
  CHECK(joined({{two, two}, {two}}).starts_with("ValueError: every list gives the components"));
  CHECK(joined({{two}, {any}}).starts_with("ValueError: Cannot infer Tensor's rank"));
  CHECK_THROWS_AS(train::batch_join({{two}}, {}), ValueError);
  CHECK(thrown([&] {
          train::shuffle_batch_join({{two}},
                                    {.batch_size = 8, .capacity = 50, .min_after_dequeue = 50});
        }) == "ValueError: capacity 50 must be bigger than min_after_dequeue 50.");
}

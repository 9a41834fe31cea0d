// The input of the MNIST program, as a user writes it: its nodes compared with TensorFlow's, its
// epochs, the elements left at the end, and its order for one seed.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "tests/data/input/support.h"
#include "tests/support/data_dir.h"
#include "tests/support/eager.h"
#include "tests/support/error_text.h"
#include "towerflow/tf.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

struct Pipeline {
  std::vector<std::string> files;
  int batch_size = 64;
  std::int64_t pixels = 784;
  const char* image_key = "image_raw";
  std::optional<std::int64_t> num_epochs = 5;
  int num_threads = 2;
  std::int64_t min_after_dequeue = 1000;
  std::optional<std::int64_t> seed{};

  std::array<Tensor, 2> inputs() const {
    const auto scope = tf::name_scope("input");
    const auto filename_queue =
        tf::train::string_input_producer(files, {.num_epochs = num_epochs, .seed = seed});
    const tf::TFRecordReader reader;
    const auto [key, serialized_example] = reader.read(filename_queue);
    auto features = tf::parse_single_example(
        serialized_example, {{image_key, tf::FixedLenFeature{.shape = {}, .dtype = tf::string}},
                             {"label", tf::FixedLenFeature{.shape = {}, .dtype = tf::int64}}});
    Tensor image = tf::decode_raw(features[image_key], tf::uint8);
    image.set_shape({pixels});
    image = tf::cast(image, tf::float32) * (1. / 255) - 0.5;
    const Tensor label = tf::cast(features["label"], tf::int32);
    return tf::train::shuffle_batch({image, label}, {.batch_size = batch_size,
                                                     .capacity = min_after_dequeue + 3 * batch_size,
                                                     .min_after_dequeue = min_after_dequeue,
                                                     .num_threads = num_threads,
                                                     .seed = seed});
  }
};

std::string listed(const std::vector<std::string>& items) {
  return items.empty() ? "-" : fmt::format("{}", fmt::join(items, ","));
}

std::string line_of(const Operation& op) {
  std::vector<std::string> inputs, control, outputs;
  for (const Tensor& input : op.inputs()) inputs.push_back(input.name());
  for (const Operation& before : op.control_inputs()) control.push_back(before.name());
  for (const Tensor& output : op.outputs()) {
    std::string shape = output.shape().text();
    for (auto at = shape.find(", "); at != std::string::npos; at = shape.find(", ")) {
      shape.replace(at, 2, "x");
    }
    outputs.push_back(dtype_name(output.dtype()) + std::string(output.is_ref() ? "_ref" : "") +
                      shape);
  }
  return fmt::format("{} {} {} {} {} {}", op.name(), op.type(),
                     op.device().empty() ? "-" : op.device(), listed(inputs), listed(control),
                     listed(outputs));
}

template <class T>
std::string collection(const Graph& graph, const std::string& key) {
  std::vector<std::string> names;
  for (const T& item : graph.collections().get<T>(key, std::nullopt)) names.push_back(item.name());
  return fmt::format("collection {} {}", key, listed(names));
}

struct Epochs {
  std::vector<std::int32_t> labels;  // in the order of the batches
  std::int32_t left = 0;             // elements left that do not fill a batch
};

/// Runs the pipeline to its end.
Epochs run(const Pipeline& pipeline, std::optional<std::int64_t> graph_seed = std::nullopt) {
  Graph graph;
  const auto as_default = graph.as_default();
  graph.seed = graph_seed;
  const auto [images, labels] = pipeline.inputs();
  const Operation init = tf::local_variables_initializer();
  Session sess;
  sess.run(init);
  tf::train::Coordinator coord;
  const auto threads = tf::train::start_queue_runners(sess, {.coord = &coord});
  Epochs epochs;
  try {
    while (!coord.should_stop()) {
      const auto [pixels, batch] = sess.run({images, labels});
      for (std::int64_t i = 0; i < batch.elements(); ++i) {
        const std::int32_t label = batch.data<std::int32_t>()[i];
        epochs.labels.push_back(label);
        REQUIRE(pixels.data<float>()[i * pipeline.pixels] ==
                static_cast<float>(label & 255) * static_cast<float>(1. / 255) - 0.5F);
      }
    }
  } catch (const tf::errors::OutOfRangeError&) {
  }
  coord.request_stop();
  coord.join(threads);
  const auto size = graph.get_tensor_by_name("input/shuffle_batch/random_shuffle_queue_Size:0");
  epochs.left = sess.run(size).item<std::int32_t>();
  return epochs;
}

}  // namespace

TEST_CASE("the nodes and collections of two towers' input are TensorFlow's") {
  Graph graph;
  const auto as_default = graph.as_default();
  {
    const auto cpu = tf::device("/cpu:0");
    for (int i = 0; i < 2; ++i) {
      const auto gpu = tf::device(fmt::format("/gpu:{}", i));
      const auto tower = tf::name_scope(fmt::format("tower_{}", i));
      Pipeline{.files = {"train.tfrecords"}}.inputs();
    }
  }
  std::vector<std::string> lines;
  for (const Operation& op : graph.get_operations()) lines.push_back(line_of(op));
  lines.push_back(collection<Variable>(graph, GraphKeys::LOCAL_VARIABLES));
  lines.push_back(collection<Variable>(graph, GraphKeys::GLOBAL_VARIABLES));
  lines.push_back(collection<train::QueueRunner>(graph, GraphKeys::QUEUE_RUNNERS));
  lines.push_back(collection<Tensor>(graph, GraphKeys::SUMMARIES));
  std::istringstream expected(
      read_raw(towerflow::test::source_root() / "tests/data/input/tower_input.txt"));
  std::size_t count = 0;
  for (std::string line; std::getline(expected, line); ++count) {
    REQUIRE(count < lines.size());
    CHECK(lines[count] == line);
  }
  CHECK(count == lines.size());
  CHECK(count > 100);
}

TEST_CASE("every example is read once an epoch; the rest that fills no batch stays") {
  const ScratchFolder folder;
  write_examples(folder / "a", 0, 150);
  write_examples(folder / "b", 150, 63, data::Compression::gzip);
  Pipeline pipeline{.files = {(folder / "a").string(), (folder / "b").string()},
                    .batch_size = 10,
                    .pixels = 3,
                    .image_key = "raw",
                    .num_epochs = 3,
                    .min_after_dequeue = 20,
                    .seed = 9};
  const Epochs epochs = run(pipeline);
  CHECK(epochs.labels.size() == 630);  // of 3 * 213 = 639
  CHECK(epochs.left == 9);
  std::map<std::int32_t, int> counts;
  for (const std::int32_t label : epochs.labels) ++counts[label];
  int missing = 0;
  for (std::int32_t label = 0; label < 213; ++label) {
    CHECK(counts[label] <= 3);
    missing += 3 - counts[label];
  }
  CHECK(missing == 9);
  CHECK_FALSE(std::is_sorted(epochs.labels.begin(), epochs.labels.begin() + 20));

  // The order depends on the seed, not on the number of threads. Other seeds and no seed give other
  // orders.
  for (const int threads : {1, 2, 8}) {
    pipeline.num_threads = threads;
    CHECK(run(pipeline).labels == epochs.labels);
  }
  pipeline.seed = 10;
  CHECK(run(pipeline).labels != epochs.labels);
  pipeline.seed = std::nullopt;
  CHECK(run(pipeline).labels != run(pipeline).labels);
  const auto by_graph = run(pipeline, 4).labels;
  CHECK(run(pipeline, 4).labels == by_graph);
  CHECK(run(pipeline, 5).labels != by_graph);
}

TEST_CASE("batches keep the order, and the last one may be smaller") {
  const ScratchFolder folder;
  write_examples(folder / "a", 0, 25);
  Graph graph;
  const auto as_default = graph.as_default();
  const auto names = tf::train::string_input_producer({(folder / "a").string()}, {.num_epochs = 1});
  const tf::TFRecordReader reader;
  const auto [key, value] = reader.read(names);
  const auto [batch] = tf::train::batch(
      {value}, {.batch_size = 10, .num_threads = 4, .allow_smaller_final_batch = true});
  CHECK(batch.shape() == Shape{None});
  Session sess;
  sess.run(tf::local_variables_initializer());
  tf::train::Coordinator coord;
  const auto threads = tf::train::start_queue_runners(sess, {.coord = &coord});
  int seen = 0;
  for (const std::int64_t size : {10, 10, 5}) {
    const Array records = sess.run(batch);
    REQUIRE(records.shape() == Shape{size});
    for (std::int64_t i = 0; i < size; ++i) {
      CHECK(records.data<std::string>()[i] == example(seen++));
    }
  }
  CHECK_THROWS_AS(sess.run(batch), errors::OutOfRangeError);
  coord.request_stop();
  CHECK_NOTHROW(coord.join(threads));
}

TEST_CASE("epochs without a limit go on, until a stop") {
  const ScratchFolder folder;
  write_examples(folder / "a", 0, 5);
  Graph graph;
  const auto as_default = graph.as_default();
  const auto names =
      tf::train::string_input_producer({(folder / "a").string()}, {.shuffle = false});
  const tf::TFRecordReader reader;
  const auto [key, value] = reader.read(names);
  const auto [keys, values] =
      tf::train::batch({key, value}, {.batch_size = 4, .num_threads = 3, .capacity = 8});
  CHECK(tf::local_variables().empty());
  Session sess;
  tf::train::Coordinator coord;
  const auto threads = tf::train::start_queue_runners(sess, {.coord = &coord});
  for (int i = 0; i < 50; ++i) {
    const auto [k, v] = sess.run({keys, values});
    for (std::int64_t j = 0; j < 4; ++j) {
      CHECK(v.data<std::string>()[j] == example((i * 4 + j) % 5));
    }
  }
  coord.request_stop();
  CHECK_NOTHROW(coord.join(threads));
}

TEST_CASE("limit_epochs, and what its functions refuse") {
  Graph graph;
  const auto as_default = graph.as_default();
  const Tensor limited = tf::train::limit_epochs({1, 2}, {.num_epochs = 2});
  CHECK(limited.name() == "limit_epochs:0");
  REQUIRE(tf::local_variables().size() == 1);
  Session sess;
  CHECK_THROWS_WITH_AS(
      sess.run(limited),
      doctest::Contains("Attempting to use uninitialized value limit_epochs/epochs"),
      errors::FailedPreconditionError);
  sess.run(tf::local_variables_initializer());
  for (int i = 0; i < 2; ++i) CHECK(sess.run(limited).shape() == Shape{2});
  CHECK_THROWS_WITH_AS(sess.run(limited), doctest::Contains("Reached limit of 2"),
                       errors::OutOfRangeError);
  CHECK(sess.run(tf::local_variables()[0]).item<std::int64_t>() == 2);

  CHECK_THROWS_AS(tf::train::limit_epochs(1, {.num_epochs = 0}), ValueError);
  CHECK_THROWS_WITH_AS(tf::train::string_input_producer(std::vector<std::string>{}),
                       doctest::Contains("string_input_producer requires a non-null input tensor"),
                       ValueError);
  const Tensor x = tf::constant(1.0), unknown = tf::placeholder(tf::float32);
  CHECK_THROWS_WITH_AS(
      tf::train::shuffle_batch({x}, {.batch_size = 1, .capacity = 3, .min_after_dequeue = 3}),
      doctest::Contains("capacity 3 must be bigger than min_after_dequeue 3."), ValueError);
  for (const std::int64_t capacity : {0, -2}) {
    CHECK_THROWS_AS(tf::train::batch({x}, {.batch_size = 1, .capacity = capacity}), ValueError);
  }
  CHECK_THROWS_AS(tf::train::batch({x}, {}), ValueError);
  CHECK_THROWS_AS(tf::train::batch(std::vector<Tensor>{}, {.batch_size = 1}), ValueError);
  CHECK_THROWS_AS(tf::train::batch({unknown}, {.batch_size = 1}), ValueError);
}

TEST_CASE("a capacity of -1 sets no limit, as in TensorFlow") {
  for (const bool padded : {false, true}) {
    CAPTURE(padded);
    Graph graph;
    const auto as_default = graph.as_default();
    const auto source = tf::train::range_input_producer(50, {.num_epochs = 1, .shuffle = false});
    const Tensor batch = tf::train::batch(
        {source.dequeue()[0]}, {.batch_size = 3, .capacity = -1, .dynamic_pad = padded})[0];
    CHECK(graph.get_operation_by_name("batch/fraction_of_-1_full").type() == "ScalarSummary");
    const Tensor size = graph.get_tensor_by_name(padded ? "batch/padding_fifo_queue_Size:0"
                                                        : "batch/fifo_queue_Size:0");
    Session sess;
    sess.run(tf::local_variables_initializer());
    tf::train::Coordinator coord;
    auto threads = tf::train::start_queue_runners(sess, {.coord = &coord});
    REQUIRE(threads.size() == 4);
    threads[2].join();  // the thread that fills the batch queue
    CHECK(sess.run(size).item<std::int32_t>() == 50);
    CHECK(testing::numbers(sess.run(batch)) == std::vector<double>{0, 1, 2});
    coord.request_stop();
    coord.join(threads);
  }
}

TEST_CASE("a scalar summary is the message TensorFlow makes") {
  Graph graph;
  const auto as_default = graph.as_default();
  const Tensor summary = tf::summary::scalar("a b/c", 3);
  CHECK(summary.name() == "a_b/c:0");
  CHECK(tf::get_collection(GraphKeys::SUMMARIES).size() == 1);
  Session sess;
  CHECK(sess.run(summary).item<std::string>() == std::string("\n\x0c\n\x05"
                                                             "a_b/c\x15\0\0@@",
                                                             14));
  const auto scope = tf::name_scope("t");
  const Tensor family = tf::summary::scalar("x", 3.5, {.family = "fam"});
  CHECK(family.name() == "t/fam/x:0");
  CHECK(sess.run(family).item<std::string>() == std::string("\n\x12\n\x0b"
                                                            "fam/t/fam/x\x15\0\0`@",
                                                            20));
  CHECK_THROWS_WITH_AS(sess.run(tf::summary::scalar("v", {1.0, 2.0})),
                       doctest::Contains("tags and values are not the same shape"),
                       errors::InvalidArgumentError);
}

TEST_CASE("a component whose shape is not known is named, with what to write") {
  Graph graph;
  const auto as_default = graph.as_default();
  const Tensor image = tf::placeholder(tf::float32, {.shape = {None, 3}, .name = "image"});
  const Tensor label = tf::constant(1, {.name = "label"});
  const Tensor rows = tf::placeholder(tf::float32, {.shape = {None, None}, .name = "rows"});
  const tf::train::ShuffleBatchOptions shuffled{
      .batch_size = 2, .capacity = 9, .min_after_dequeue = 2};
  const tf::train::ShuffleBatchJoinOptions of_lists{
      .batch_size = 2, .capacity = 9, .min_after_dequeue = 2};
  const std::vector<std::vector<Tensor>> lists{{label, image}};
  const auto check = [](const std::string& said, unsigned line, const std::string& name) {
    CHECK_SAYS(said, "ValueError: All shapes must be fully defined: ", name, "set_shape",
               "pipeline_test.cc:" + std::to_string(line));
  };
  const std::string of_image = "image:0 has the shape (?, 3)";
  unsigned line = __LINE__ + 1;
  check(error_text([&] { tf::train::batch({label, image}, {.batch_size = 2}); }), line, of_image);
  line = __LINE__ + 1;
  check(error_text([&] { tf::train::shuffle_batch({label, image}, shuffled); }), line, of_image);
  line = __LINE__ + 1;
  check(error_text([&] { tf::train::batch_join(lists, {.batch_size = 2}); }), line, of_image);
  line = __LINE__ + 1;
  check(error_text([&] { tf::train::shuffle_batch_join(lists, of_lists); }), line, of_image);
  line = __LINE__ + 1;
  check(error_text([&] { tf::train::batch({rows}, {.batch_size = 2, .enqueue_many = true}); }),
        line, "rows:0 has the shape (?, ?)");
  CHECK_SAYS(error_text([] {
               tf::FIFOQueue(3, {tf::int32, tf::float32}, {.shapes = {{}, {None}}});
             }),
             "All shapes must be fully defined", "component 1", "PaddingFIFOQueue");
  CHECK_SAYS(error_text([&] { tf::train::input_producer(rows); }),
             "must have a fully defined shape", "rows:0 has the shape (?, ?)", "set_shape");
  // dynamic_pad allows unknown sizes, but no unknown rank.
  const Tensor unknown = tf::placeholder(tf::float32, {.name = "unknown"});
  CHECK_SAYS(
      error_text([&] { tf::train::batch({unknown}, {.batch_size = 2, .dynamic_pad = true}); }),
      "Cannot infer Tensor's rank: unknown:0", "set_shape");
}

TEST_CASE("a prefetch queue deals batches to several readers") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto numbers = tf::train::range_input_producer(6, {.num_epochs = 1, .shuffle = false});
  const auto queue =
      tf::slim::prefetch_queue({numbers.dequeue()[0] * 10}, {.capacity = 2, .num_threads = 1});
  CHECK(queue.name() == "prefetch_queue/fifo_queue");
  CHECK(tf::get_collection(GraphKeys::SUMMARIES).back().op().name() ==
        "prefetch_queue/fraction_of_2_full");
  const Tensor first = queue.dequeue()[0], second = queue.dequeue()[0];
  Session session;
  session.run(tf::local_variables_initializer());
  tf::train::Coordinator coord;
  auto threads = tf::train::start_queue_runners(session, {.coord = &coord});
  std::multiset<int> seen;
  for (int step = 0; step < 3; ++step) {
    for (const Array& number : session.run(std::vector<Fetch>{first, second})) {
      seen.insert(number.item<std::int32_t>());
    }
  }
  CHECK(seen == std::multiset<int>{0, 10, 20, 30, 40, 50});
  CHECK_THROWS_AS(session.run(first), errors::OutOfRangeError);
  coord.request_stop();
  coord.join(threads);
  const Tensor unknown = tf::placeholder(tf::float32);
  CHECK_THROWS_AS(tf::slim::prefetch_queue({unknown}), ValueError);
  CHECK_THROWS_AS(tf::slim::prefetch_queue({}), ValueError);
}

// Queues in a graph: nodes, values, closed queues. The messages are those of TensorFlow 2.21.
#include "ops/data_flow/queue.h"

#include <doctest/doctest.h>

#include <functional>
#include <numeric>

#include "core/graph/scopes.h"
#include "core/runtime/session.h"

using namespace towerflow;

namespace {

template <class E>
std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const E& error) {
    return error.message();
  }
  return "no error of this type";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

template <class T>
std::vector<T> values(const Array& array) {
  const auto flat = array.flat<T>();
  return {flat.begin(), flat.end()};
}

}  // namespace

TEST_CASE("nodes of a queue are named, shaped and placed as TensorFlow's") {
  Graph graph;
  const auto as_default = graph.as_default();
  const auto scope = name_scope("in");
  const auto gpu = device("/gpu:1");
  const FIFOQueue queue(10, {float32, int32}, {.shapes = {{2}, {}}, .name = "q"});
  CHECK(queue.name() == "in/q");
  CHECK(queue.queue_ref().op().type() == "FIFOQueueV2");
  CHECK(queue.queue_ref().device() == "/device:CPU:1");
  const Operation enqueue = queue.enqueue({{1.0, 2.0}, 7});
  CHECK(enqueue.name() == "in/q_enqueue");
  CHECK(enqueue.device() == "/device:GPU:1");
  CHECK(enqueue.input(1).name() == "in/q_enqueue/component_0:0");
  CHECK(enqueue.input(2).dtype() == int32);
  const auto [x, y] = queue.dequeue_many(3).unpack<2>();
  CHECK(x.name() == "in/q_DequeueMany:0");
  CHECK(x.op().input(1).name() == "in/q_DequeueMany/n:0");
  CHECK(x.shape() == Shape{3, 2});
  CHECK(y.shape() == Shape{3});
  CHECK(queue.dequeue_up_to(3)[0].shape() == Shape{None, 2});
  CHECK(queue.dequeue()[1].name() == "in/q_Dequeue:1");
  CHECK(queue.size().name() == "in/q_Size:0");
  CHECK(queue.close().name() == "in/q_Close");
  CHECK(queue.close({.cancel_pending_enqueues = true}).name() == "in/q_Close_1");
  CHECK(queue.is_closed().name() == "in/q_Is_Closed:0");
  const RandomShuffleQueue shuffle(10, 3, {string});
  CHECK(shuffle.name() == "in/random_shuffle_queue");
  CHECK(shuffle.queue_ref().device() == "/device:GPU:1");
  CHECK(shuffle.dequeue()[0].shape() == Shape::unknown());
}

TEST_CASE("elements come out of a FIFO queue as they went in") {
  Graph graph;
  const auto as_default = graph.as_default();
  const FIFOQueue queue(10, {float32, string}, {.shapes = {{2}, {}}});
  const Operation one = queue.enqueue({{1.0, 2.0}, "a"});
  const Operation many = queue.enqueue_many({{{3.0, 4.0}, {5.0, 6.0}}, {"b", "c"}});
  const Components next = queue.dequeue();
  const Components two = queue.dequeue_many(2);
  const Tensor size = queue.size();
  Session session;
  session.run(one);
  session.run(many);
  CHECK(session.run(size).item<std::int32_t>() == 3);
  const auto [x, s] = session.run({next[0], next[1]});
  CHECK(values<float>(x) == std::vector<float>{1, 2});
  CHECK(s.item<std::string>() == "a");
  const auto [xs, ss] = session.run({two[0], two[1]});
  CHECK(xs.shape() == Shape{2, 2});
  CHECK(values<float>(xs) == std::vector<float>{3, 4, 5, 6});
  CHECK(values<std::string>(ss) == std::vector<std::string>{"b", "c"});
  CHECK(session.run(size).item<std::int32_t>() == 0);
  // Each session has its own queue.
  Session other;
  other.run(one);
  CHECK(other.run(size).item<std::int32_t>() == 1);
  CHECK(session.run(size).item<std::int32_t>() == 0);
}

TEST_CASE("a closed queue") {
  Graph graph;
  const auto as_default = graph.as_default();
  const FIFOQueue queue(3, {int32}, {.shapes = {{}}, .shared_name = "fq"});
  const Operation enqueue = queue.enqueue({1});
  const Operation many = queue.enqueue_many({{1, 2}});
  const Components one = queue.dequeue(), two = queue.dequeue_many(2),
                   fewer = queue.dequeue_up_to(2);
  const Operation close = queue.close(), cancel = queue.close({.cancel_pending_enqueues = true});
  Session session;
  session.run(enqueue);
  CHECK_FALSE(session.run(queue.is_closed()).item<bool>());
  session.run(close);
  CHECK(session.run(queue.is_closed()).item<bool>());
  using errors::CancelledError;
  using errors::OutOfRangeError;
  CHECK(message_of<CancelledError>([&] { session.run(enqueue); }) == "FIFOQueue 'fq' is closed.");
  CHECK(message_of<CancelledError>([&] { session.run(many); }) == "FIFOQueue 'fq' is closed.");
  CHECK(message_of<OutOfRangeError>([&] { session.run(two[0]); }) ==
        "FIFOQueue 'fq' is closed and has insufficient elements (requested 2, current size 1)");
  CHECK(session.run(queue.size()).item<std::int32_t>() == 1);
  CHECK(message_of<CancelledError>([&] { session.run(close); }) == "Queue 'fq' is already closed.");
  session.run(cancel);
  const Array rest = session.run(fewer[0]);
  CHECK(rest.shape() == Shape{1});
  CHECK(rest.item<std::int32_t>() == 1);
  CHECK(message_of<OutOfRangeError>([&] { session.run(one[0]); }) ==
        "FIFOQueue 'fq' is closed and has insufficient elements (requested 1, current size 0)");
  CHECK(message_of<OutOfRangeError>([&] { session.run(fewer[0]); }) ==
        "FIFOQueue 'fq' is closed and has insufficient elements (requested 2, current size 0)");
}

TEST_CASE("names in messages count the queues of the process, as TensorFlow's do") {
  Graph graph;
  const auto as_default = graph.as_default();
  const auto scope = name_scope("input");
  const RandomShuffleQueue queue(4, 1, {int32}, {.shapes = {{}}});
  Session session;
  session.run(queue.close());
  const std::string message =
      message_of<errors::OutOfRangeError>([&] { session.run(queue.dequeue_many(2)[0]); });
  CHECK(contains(message, "RandomShuffleQueue '_"));
  CHECK(contains(message,
                 "_input/random_shuffle_queue' is closed and has insufficient elements "
                 "(requested 2, current size 0)"));
}

TEST_CASE("a shuffle queue gives every element once and depends on its seed alone") {
  const auto drawn = [](std::optional<std::int64_t> seed, int batch) {
    Graph graph;
    const auto as_default = graph.as_default();
    const RandomShuffleQueue queue(60, 20, {int32}, {.shapes = {{}}, .seed = seed});
    std::vector<std::int32_t> numbers(60);
    std::iota(numbers.begin(), numbers.end(), 0);
    const Operation fill = queue.enqueue_many({Operand(numbers)});
    const Tensor take = queue.dequeue_many(batch);
    Session session;
    session.run(fill);
    session.run(queue.close());
    std::vector<std::int32_t> out;
    while (out.size() < 60) {
      for (const std::int32_t value : values<std::int32_t>(session.run(take))) out.push_back(value);
    }
    return out;
  };
  const auto first = drawn(5, 1);
  CHECK(first == drawn(5, 1));
  CHECK(first == drawn(5, 12));
  CHECK(first != drawn(6, 1));
  CHECK(drawn(std::nullopt, 1) != drawn(std::nullopt, 1));
  auto sorted = first;
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < 60; ++i) CHECK(sorted[static_cast<std::size_t>(i)] == i);
  CHECK_FALSE(std::is_sorted(first.begin(), first.end()));
}

TEST_CASE("elements of any shape, where the queue sets none") {
  Graph graph;
  const auto as_default = graph.as_default();
  const FIFOQueue queue(3, {int32});
  const Operation a = queue.enqueue({{1}}), b = queue.enqueue({{{1, 2}, {3, 4}}});
  const Tensor next = queue.dequeue(), many = queue.dequeue_many(1);
  Session session;
  session.run(a);
  session.run(b);
  CHECK(session.run(next).shape() == Shape{1});
  CHECK(session.run(next).shape() == Shape{2, 2});
  CHECK(message_of<errors::InvalidArgumentError>([&] { session.run(many); }) ==
        "FIFOQueue's DequeueMany and DequeueUpTo require the components to have specified shapes.");
  // The shape that the graph declares must hold.
  const Tensor told = queue.dequeue();
  told.node().outputs[0].shape = Shape{3};
  session.run(a);
  CHECK(contains(message_of<errors::InvalidArgumentError>([&] { session.run(told); }),
                 "but the graph expects int32 (3,)"));
}

TEST_CASE("errors while the graph is built and while it runs") {
  Graph graph;
  const auto as_default = graph.as_default();
  const FIFOQueue queue(3, {int32}, {.shapes = {{2}}});
  CHECK(message_of<ValueError>([&] {
          queue.enqueue({{1, 2, 3}});
        }) == "Shapes (3,) and (2,) are incompatible");
  CHECK(message_of<ValueError>([&] {
          queue.enqueue_many({{{1, 2, 3}}});
        }) == "Shapes (3,) and (2,) are incompatible");
  CHECK_THROWS_AS(queue.enqueue_many({5}), ValueError);
  CHECK_THROWS_AS(queue.enqueue({{1.5, 2.5}}), TypeError);
  CHECK_THROWS_AS(queue.enqueue({{1, 2}, 3}), ValueError);
  CHECK_THROWS_AS(queue.dequeue_many(-1), ValueError);
  const FIFOQueue pair(3, {int32, int32}, {.shapes = {{}, {}}});
  const Operation half = pair.enqueue({1});  // as in TensorFlow, not an error until it runs
  CHECK_THROWS_AS(FIFOQueue(0, {int32}), ValueError);
  CHECK_THROWS_AS(FIFOQueue(1, {}), ValueError);
  CHECK_THROWS_AS(FIFOQueue(1, {int32}, {.shapes = {{None}}}), ValueError);
  CHECK_THROWS_AS(FIFOQueue(1, {int32, int32}, {.shapes = {{}}}), ValueError);
  CHECK_THROWS_AS(queue.dequeue().unpack<2>(), ValueError);
  Session session;
  CHECK_THROWS_WITH_AS(session.run(half), doctest::Contains("Expected 2, got 1"),
                       errors::InvalidArgumentError);
  const RandomShuffleQueue narrow(3, 3, {int32});
  CHECK(message_of<errors::InvalidArgumentError>([&] { session.run(narrow.size()); }) ==
        "min_after_dequeue 3 must be < capacity 3");
  CHECK(session.run(queue.dequeue_many(0)[0]).shape() == Shape{0, 2});
}

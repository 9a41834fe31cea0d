// Queues of elements that differ in size. Values and messages are those of TensorFlow 2.21.
#include "ops/data_flow/padding_queue.h"

#include <doctest/doctest.h>

#include "core/graph/scopes.h"
#include "core/runtime/session.h"
#include "ops/array/placeholder.h"

using namespace towerflow;

namespace {

template <class T>
std::vector<T> values(const Array& array) {
  const auto flat = array.flat<T>();
  return {flat.begin(), flat.end()};
}

template <class E, class F>
std::string message_of(F&& call) {
  try {
    call();
  } catch (const E& error) {
    return error.message();
  }
  return "no error of this type";
}

/// A queue of matrices with two columns and of lists of strings, filled through placeholders.
struct Padded {
  Graph graph;
  DefaultGraphGuard guard{graph};
  PaddingFIFOQueue queue{10, {float32, string}, {{None, 2}, {None}}, {.shared_name = "pq"}};
  Tensor x = placeholder(float32);
  Tensor s = placeholder(string);
  Operation enqueue = queue.enqueue({x, s});
  Operation enqueue_many = queue.enqueue_many({x, s});
  Session session{graph};

  static Array matrix(std::int64_t rows) {
    Array array(float32, {rows, 2});
    for (std::int64_t i = 0; i < 2 * rows; ++i) array.data<float>()[i] = static_cast<float>(i + 1);
    return array;
  }
  static Array words(std::int64_t count) {
    Array array(string, {count});
    for (std::int64_t i = 0; i < count; ++i) array.data<std::string>()[i] = "s";
    return array;
  }
  void put(std::int64_t rows) { session.run(enqueue, {{x, matrix(rows)}, {s, words(2 * rows)}}); }
};

}  // namespace

TEST_CASE("nodes of a padding queue are TensorFlow's") {
  Graph graph;
  const auto as_default = graph.as_default();
  const auto gpu = device("/gpu:1");
  const PaddingFIFOQueue queue(10, {float32, int32}, {{None}, {}});
  CHECK(queue.name() == "padding_fifo_queue");
  CHECK(queue.queue_ref().op().type() == "PaddingFIFOQueueV2");
  CHECK(queue.queue_ref().device() == "/device:GPU:1");
  CHECK(queue.enqueue({{1.0, 2.0}, 1}).name() == "padding_fifo_queue_enqueue");
  CHECK(queue.dequeue()[0].shape() == Shape{None});
  CHECK(queue.dequeue_many(2)[0].shape() == Shape{2, None});
  CHECK(queue.dequeue_many(2)[1].shape() == Shape{2});
  CHECK(queue.dequeue_up_to(2)[0].shape() == Shape{None, None});
}

TEST_CASE("a batch is as large as its largest element, the rest zeros and empty strings") {
  Padded p;
  for (const std::int64_t rows : {1, 3, 0}) p.put(rows);
  const Components none = p.queue.dequeue_many(0), three = p.queue.dequeue_many(3);
  CHECK(p.session.run(none[0]).shape() == Shape{0, 0, 2});
  const auto [x, s] = p.session.run({three[0], three[1]});
  CHECK(x.shape() == Shape{3, 3, 2});
  CHECK(values<float>(x) ==
        std::vector<float>{1, 2, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0});
  CHECK(s.shape() == Shape{3, 6});
  std::vector<std::string> words(18);
  for (const std::size_t i : {0, 1, 6, 7, 8, 9, 10, 11}) words[i] = "s";
  CHECK(values<std::string>(s) == words);
  // Memory that had larger elements and longer strings is reused, and none of that may show.
  for (const std::int64_t rows : {2, 1}) p.put(rows);
  const Components two = p.queue.dequeue_many(2);
  CHECK(values<float>(p.session.run(two[0])) == std::vector<float>{1, 2, 3, 4, 1, 2, 0, 0});
}

TEST_CASE("one element comes out as it went in; several may be put at once") {
  Padded p;
  p.put(2);
  const Components one = p.queue.dequeue();
  CHECK(p.session.run(one[0]).shape() == Shape{2, 2});
  p.session.run(p.enqueue_many, {{p.x, Array(float32, {3, 1, 2})}, {p.s, Array(string, {3, 4})}});
  const Components rest = p.queue.dequeue_up_to(5);
  p.session.run(p.queue.close());
  CHECK(p.session.run(rest[1]).shape() == Shape{3, 4});
  CHECK(message_of<errors::OutOfRangeError>([&] { p.session.run(rest[0]); }) ==
        "PaddingFIFOQueue 'pq' is closed and has insufficient elements (requested 5, current size "
        "0)");
}

TEST_CASE("every dimension that may differ is padded, whatever the dtype") {
  Graph graph;
  const auto as_default = graph.as_default();
  const std::vector<DType> dtypes{bool_, float64, uint8, int16};
  const PaddingFIFOQueue queue(-1, dtypes, {{None, None}, {None, 1, None}, {2}, {None}});
  std::vector<Tensor> inputs;
  for (const DType dtype : dtypes) inputs.push_back(placeholder(dtype));
  const Operation enqueue = queue.enqueue(OperandList(inputs));
  const Components two = queue.dequeue_many(2);
  Session session;
  const auto put = [&](const Nested& a, const Nested& b, const Nested& c, const Nested& d) {
    session.run(enqueue, {{inputs[0], a}, {inputs[1], b}, {inputs[2], c}, {inputs[3], d}});
  };
  put({{true, true, true}}, {{{1.0}}, {{2.0}}}, {1, 2}, {-1});
  put({{true}, {true}}, {{{3.0, 4.0}}}, {3, 4}, {-2, -3});
  const auto [a, b, c, d] = session.run({two[0], two[1], two[2], two[3]});
  CHECK(a.shape() == Shape{2, 2, 3});
  CHECK(values<bool>(a) == std::vector<bool>{true, true, true, false, false, false,  //
                                             true, false, false, true, false, false});
  CHECK(b.shape() == Shape{2, 2, 1, 2});
  CHECK(values<double>(b) == std::vector<double>{1, 0, 2, 0, 3, 4, 0, 0});
  CHECK(values<std::uint8_t>(c) == std::vector<std::uint8_t>{1, 2, 3, 4});
  CHECK(values<std::int16_t>(d) == std::vector<std::int16_t>{-1, 0, -2, -3});
}

TEST_CASE("what does not fit is refused") {
  Padded p;
  const auto enqueued = [&](const Operation& op, const Shape& x, const Shape& s) {
    return message_of<errors::InvalidArgumentError>([&] {
      p.session.run(op, {{p.x, Array(float32, x)}, {p.s, Array(string, s)}});
    });
  };
  CHECK(enqueued(p.enqueue, {3}, {1}) ==
        "Shape mismatch in tuple component 0. Expected [?,2], got [3]");
  CHECK(enqueued(p.enqueue, {3, 4}, {1}) ==
        "Shape mismatch in tuple component 0. Expected [?,2], got [3,4]");
  CHECK(enqueued(p.enqueue_many, {3, 2}, {3, 1}) ==
        "Shape mismatch in tuple component 0. Expected [3,?,2], got [3,2]");
  CHECK(p.session.run(p.queue.size()).item<std::int32_t>() == 0);

  CHECK_THROWS_WITH_AS(PaddingFIFOQueue(10, {float32, int32}, {{None}}),
                       doctest::Contains("Shapes must be provided for all components, but received "
                                         "2 dtypes and 1 shapes."),
                       ValueError);
  CHECK_THROWS_WITH_AS(PaddingFIFOQueue(10, {float32}, {Shape::unknown()}),
                       doctest::Contains("All shapes must have a defined rank"), ValueError);
  CHECK_THROWS_AS(PaddingFIFOQueue(0, {float32}, {{None}}), ValueError);
  CHECK_THROWS_AS(PaddingFIFOQueue(1, {}, {}), ValueError);
  CHECK_THROWS_WITH_AS(p.queue.enqueue({{1.0, 2.0, 3.0}, "s"}),
                       doctest::Contains("Shapes (3,) and (?, 2) are incompatible"), ValueError);
}

TEST_CASE("sizes that together pass what memory holds are an error, not a crash") {
  Graph graph;
  const auto as_default = graph.as_default();
  constexpr std::int64_t kLong = std::int64_t{1} << 31;
  const PaddingFIFOQueue queue(4, {float32}, {{None, None, None}});
  const Tensor x = placeholder(float32);
  const Operation enqueue = queue.enqueue({x});
  const Tensor two = queue.dequeue_many(3);
  Session session;
  session.run(enqueue, {{x, Array(float32, {0, kLong, kLong})}});
  session.run(enqueue, {{x, Array(float32, {kLong, 0, 1})}});
  session.run(enqueue, {{x, Array(float32, {1, 1, 1})}});
  CHECK(message_of<errors::ResourceExhaustedError>([&] {
          session.run(two);
        }).find("more than memory can hold") != std::string::npos);
}

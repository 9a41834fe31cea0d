// Iterators in sessions: feeds, several sessions, structures, string handles, threads and their
// end.
#include "dataset/iterator.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "core/device/cancellation.h"
#include "core/graph/graph_def.h"
#include "core/graph/scopes.h"
#include "core/runtime/session.h"
#include "dataset/record_datasets.h"
#include "ops/array/constant.h"
#include "ops/array/fill.h"
#include "ops/array/placeholder.h"
#include "ops/array/stack.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"
#include "ops/variables/assign.h"
#include "ops/variables/initialization.h"
#include "ops/variables/variable_scope.h"
#include "tests/support/started_runs.h"

using namespace towerflow;
using data::Dataset;
using data::Element;
using data::Iterator;
using testing::StartedRuns;

namespace {

using I64 = std::int64_t;

/// A graph of its own for a test.
struct InGraph {
  Graph graph;
  DefaultGraphGuard guard{graph};
};

/// Reads scalars to the end.
std::vector<I64> read_all(Session& session, const Tensor& next) {
  std::vector<I64> all;
  try {
    while (true) all.push_back(session.run(next).item<I64>());
  } catch (const errors::OutOfRangeError&) {
  }
  return all;
}

std::vector<I64> numbers(I64 n) {
  std::vector<I64> all;
  for (I64 i = 0; i < n; ++i) all.push_back(i);
  return all;
}

/// A generator that waits until it is released, before element `at`.
struct Gate {
  std::atomic<bool> open{false};
  std::atomic<int> waiting{0};
  data::Generator generator(int at) {
    return [this, at, i = 0]() mutable -> std::optional<std::vector<Array>> {
      if (i == at) {
        ++waiting;
        while (!open) std::this_thread::yield();
      }
      return std::vector<Array>{Array::scalar<I64>(i++)};
    };
  }
};

}  // namespace

TEST_CASE("a one-shot iterator initializes itself once in each session, and stays at its end") {
  const InGraph in;
  const Tensor next = Dataset::range(3).make_one_shot_iterator().get_next();
  Session first, second;
  CHECK(first.run(next).item<I64>() == 0);
  CHECK(read_all(second, next) == numbers(3));
  CHECK(first.run(next).item<I64>() == 1);
  CHECK(read_all(first, next) == std::vector<I64>{2});
  CHECK_THROWS_WITH_AS(first.run(next), doctest::Contains("End of sequence"),
                       errors::OutOfRangeError);
}

TEST_CASE("placeholders of a dataset are fed to its initializer") {
  const InGraph in;
  const Tensor rows = placeholder(DType::int64, {None});
  const Tensor size = placeholder(DType::int64, Shape{});
  const Tensor factor = placeholder(DType::int64, Shape{});
  const auto iterator = Dataset::from_tensor_slices(rows)
                            .map([=](Tensor x) { return x * factor; })
                            .batch(size)
                            .make_initializable_iterator();
  const Tensor next = iterator.get_next();
  CHECK(next.shape() == Shape{None});
  Session session;
  CHECK_THROWS_WITH_AS(session.run(next), doctest::Contains("has not been initialized"),
                       errors::FailedPreconditionError);
  CHECK_THROWS_AS(session.run(iterator.initializer()), errors::InvalidArgumentError);
  session.run(iterator.initializer(), {{rows, {1, 2, 3}}, {size, 2}, {factor, 10}});
  CHECK(session.run(next) == Array::of<I64>(Shape{2}, std::vector<I64>{10, 20}));
  CHECK(session.run(next) == Array::of<I64>(Shape{1}, std::vector<I64>{30}));
  CHECK_THROWS_AS(session.run(next), errors::OutOfRangeError);
  session.run(iterator.initializer(), {{rows, {4}}, {size, 3}, {factor, 2}});
  CHECK(session.run(next) == Array::of<I64>(Shape{1}, std::vector<I64>{8}));
}

TEST_CASE("a function captures the value that a variable has at initialization") {
  const InGraph in;
  const Variable v = get_variable("v", {.initializer = Array::scalar<I64>(5)});
  const auto iterator = Dataset::range(2)
                            .map([=](Tensor x) { return v + x; })
                            .filter([=](Tensor x) { return greater(x, v); })
                            .make_initializable_iterator();
  const Tensor next = iterator.get_next();
  const Operation change = assign(v, Array::scalar<I64>(50)).op();
  Session session;
  session.run(global_variables_initializer());
  session.run(iterator.initializer());
  session.run(change);
  CHECK(read_all(session, next) == std::vector<I64>{6});
  session.run(iterator.initializer());
  CHECK(read_all(session, next) == std::vector<I64>{51});
}

TEST_CASE("a function that changes a variable of the graph around it is refused with its name") {
  const InGraph in;
  const Variable v = get_variable("v", {.initializer = Array::scalar<I64>(5)});
  CHECK_THROWS_WITH_AS(Dataset::range(2).map([=](Tensor x) { return Tensor(assign_add(v, x)); }),
                       doctest::Contains("v:0"), errors::UnimplementedError);
}

TEST_CASE("a reinitializable iterator reads one dataset, then another") {
  const InGraph in;
  const auto iterator = Iterator::from_structure({DType::int64}, {{}});
  const Operation train = iterator.make_initializer(Dataset::range(3));
  const Operation test = iterator.make_initializer(Dataset::range(10, 12), {.name = "test"});
  CHECK(train.name() == "make_initializer");
  CHECK(test.name() == "test");
  const Tensor next = iterator.get_next({.name = "next"});
  CHECK(next.name() == "next:0");
  Session session;
  session.run(train);
  CHECK(session.run(next).item<I64>() == 0);
  session.run(test);
  CHECK(read_all(session, next) == std::vector<I64>{10, 11});
  session.run(train);
  CHECK(read_all(session, next) == numbers(3));
}

TEST_CASE("a feedable iterator reads the iterator whose handle is fed") {
  const InGraph in;
  const Tensor handle = placeholder(DType::string, Shape{});
  const Tensor next = Iterator::from_string_handle(handle, {DType::int64}, {{}}).get_next();
  const auto first = Dataset::range(3).make_one_shot_iterator();
  const auto second = Dataset::range(10, 13).make_initializable_iterator();
  const auto floats = Dataset::from_tensors(1.5).make_one_shot_iterator();
  Session session;
  const Array a = session.run(first.string_handle());
  const Array b = session.run(second.string_handle());
  session.run(second.initializer());
  CHECK(session.run(next, {{handle, a}}).item<I64>() == 0);
  CHECK(session.run(next, {{handle, b}}).item<I64>() == 10);
  CHECK(session.run(next, {{handle, a}}).item<I64>() == 1);
  const Array other = session.run(floats.string_handle());
  CHECK_THROWS_WITH_AS(session.run(next, {{handle, other}}),
                       doctest::Contains("expected int64 but got float32"),
                       errors::InvalidArgumentError);
  CHECK_THROWS_AS(session.run(next, {{handle, "none"}}), errors::NotFoundError);
}

TEST_CASE("two elements of one run come in the order of their nodes") {
  const InGraph in;
  const auto iterator = Dataset::range(4).make_one_shot_iterator();
  const Tensor a = iterator.get_next(), b = iterator.get_next();
  Session session;
  for (const I64 first : {0, 2}) {
    const auto [x, y] = session.run({a, b});
    CHECK(x.item<I64>() == first);
    CHECK(y.item<I64>() == first + 1);
  }
}

TEST_CASE("a function accepts elements of any number of shapes") {
  const InGraph in;
  const Tensor next = Dataset::range(60)
                          .map([](Tensor n) { return std::tuple(fill(stack({n}), n), n); },
                               {.num_parallel_calls = 2})
                          .map([](Tensor row, Tensor n) { return reduce_sum(row) + n; })
                          .make_one_shot_iterator()
                          .get_next();
  Session session;
  for (I64 n = 0; n < 60; ++n) CHECK(session.run(next).item<I64>() == n * n + n);
}

TEST_CASE("elements have the structure of the dataset") {
  const InGraph in;
  const auto named = Dataset::from_tensor_slices(
      std::map<std::string, Element>{{"image", {{1.0, 2.0}}}, {"label", {7}}});
  const Element element =
      Dataset::zip({Dataset::range(1), named}).make_one_shot_iterator().get_next();
  CHECK_THROWS_AS(element.unpack<3>(), ValueError);
  CHECK_THROWS_AS(static_cast<void>(static_cast<Tensor>(element)), ValueError);
  CHECK_THROWS_WITH_AS(element[1]["none"], doctest::Contains("image, label"), KeyError);
  CHECK_THROWS_AS(element[2], ValueError);
  Session session;
  CHECK(session.run(Tensor(element[1]["label"])).item<std::int32_t>() == 7);
  CHECK_THROWS_AS(Dataset::range(2).map([](Tensor a, Tensor b) { return a + b; }), ValueError);
}

TEST_CASE("results do not depend on the number of threads") {
  std::vector<std::vector<I64>> found;
  for (const I64 threads : {0, 1, 2, 7}) {
    const InGraph in;
    data::MapOptions options;
    if (threads > 0) options.num_parallel_calls = threads;
    const Tensor next = Dataset::range(500)
                            .shuffle(50, {.seed = 3})
                            .map([](Tensor x) { return x * x + 1; }, options)
                            .filter([](Tensor x) { return not_equal(x % 3, 0); })
                            .prefetch(5)
                            .map([](Tensor x) { return x - 1; }, options)
                            .repeat(2)
                            .prefetch(2)
                            .make_one_shot_iterator()
                            .get_next();
    Session session;
    found.push_back(read_all(session, next));
    CHECK(found.back() == found.front());
  }
  CHECK(found[0].size() == 1000);  // x * x + 1 is never divisible by 3
}

TEST_CASE("threads that read one iterator get each element once") {
  const InGraph in;
  const Tensor next = Dataset::range(400)
                          .map([](Tensor x) { return x + 0; }, {.num_parallel_calls = 2})
                          .prefetch(3)
                          .make_one_shot_iterator()
                          .get_next();
  Session session;
  std::vector<std::future<std::vector<I64>>> readers;
  for (int i = 0; i < 4; ++i) {
    readers.push_back(std::async(std::launch::async, [&] { return read_all(session, next); }));
  }
  std::vector<I64> all;
  for (auto& reader : readers) {
    const std::vector<I64> part = reader.get();
    CHECK(std::is_sorted(part.begin(), part.end()));
    all.insert(all.end(), part.begin(), part.end());
  }
  std::sort(all.begin(), all.end());
  CHECK(all == numbers(400));
}

TEST_CASE("an error passes through threads in its place, and the elements after it follow") {
  for (const bool ahead : {false, true}) {
    const InGraph in;
    Dataset dataset = Dataset::from_tensor_slices({1, 2, 0, 4, 5});
    data::MapOptions options;
    if (ahead) options.num_parallel_calls = 3;
    dataset = dataset.map([](Tensor x) { return floordiv(constant(20), x); }, options);
    if (ahead) dataset = dataset.prefetch(2);
    const Tensor next = dataset.make_one_shot_iterator().get_next();
    Session session;
    CHECK(session.run(next).item<std::int32_t>() == 20);
    CHECK(session.run(next).item<std::int32_t>() == 10);
    CHECK_THROWS_WITH_AS(session.run(next), doctest::Contains("iterator_test.cc"),
                         errors::InvalidArgumentError);
    CHECK(session.run(next).item<std::int32_t>() == 5);
    CHECK(session.run(next).item<std::int32_t>() == 4);
    CHECK_THROWS_AS(session.run(next), errors::OutOfRangeError);
  }
}

TEST_CASE("closing the session wakes a run that waits, and ends the threads") {
  Gate gate;
  const InGraph in;
  const StartedRuns runs;
  const Iterator iterator =
      Dataset::from_generator([&] { return gate.generator(1); }, {DType::int64}, {{}})
          .map([](Tensor x) { return x + 1; }, {.num_parallel_calls = 2})
          .prefetch(2)
          .make_one_shot_iterator();
  const auto after = control_dependencies({runs.mark()});
  const Tensor next = iterator.get_next();
  auto session = std::make_unique<Session>();
  CHECK(session->run(next).item<I64>() == 1);
  auto waiting = std::async(std::launch::async,
                            [&] { CHECK_THROWS_AS(session->run(next), errors::CancelledError); });
  runs.wait_for(2);
  while (gate.waiting == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  session->close();
  waiting.get();
  gate.open = true;  // the generator itself is the program's
  session.reset();
}

TEST_CASE("a cancelled run loses no element") {
  Gate gate;
  const InGraph in;
  const StartedRuns runs;
  const Iterator iterator =
      Dataset::from_generator([&] { return gate.generator(3); }, {DType::int64}, {{}})
          .prefetch(1)
          .batch(2)
          .make_one_shot_iterator();
  const auto after = control_dependencies({runs.mark()});
  const Tensor next = iterator.get_next();
  Session session;
  CHECK(session.run(next) == Array::of<I64>(Shape{2}, std::vector<I64>{0, 1}));
  Cancellation cancellation;
  const Callable call = session.make_callable({next}, {}, &cancellation);
  auto waiting =
      std::async(std::launch::async, [&] { CHECK_THROWS_AS(call(), errors::CancelledError); });
  runs.wait_for(2);
  while (gate.waiting == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  cancellation.cancel();
  waiting.get();
  gate.open = true;
  CHECK(session.run(next) == Array::of<I64>(Shape{2}, std::vector<I64>{2, 3}));
}

TEST_CASE("initializing again ends the threads of the pass before") {
  const InGraph in;
  const auto iterator = Dataset::range(1000000)
                            .map([](Tensor x) { return x * 2; }, {.num_parallel_calls = 2})
                            .prefetch(3)
                            .make_initializable_iterator();
  const Tensor next = iterator.get_next();
  Session session;
  for (int pass = 0; pass < 20; ++pass) {
    session.run(iterator.initializer());
    for (I64 i = 0; i < pass; ++i) CHECK(session.run(next).item<I64>() == 2 * i);
  }
}

TEST_CASE("iterators with one shared_name are one, if their elements agree") {
  const InGraph in;
  const auto a = Iterator::from_structure({DType::int64}, {{}}, {.shared_name = "s"});
  const auto b = Iterator::from_structure({DType::int64}, {{}}, {.shared_name = "s"});
  const auto c = Iterator::from_structure({DType::int32}, {{}}, {.shared_name = "s"});
  const Operation start = a.make_initializer(Dataset::range(5));
  const Tensor x = a.get_next(), y = b.get_next(), z = c.get_next();
  Session session;
  session.run(start);
  CHECK(session.run(x).item<I64>() == 0);
  CHECK(session.run(y).item<I64>() == 1);
  CHECK_THROWS_AS(session.run(z), errors::InvalidArgumentError);
}

TEST_CASE("a graph with a dataset cannot be exported, and the error names the op") {
  const InGraph in;
  Dataset::range(3).make_one_shot_iterator();
  CHECK_THROWS_WITH_AS(in.graph.as_graph_def(), doctest::Contains("_Dataset"),
                       errors::UnimplementedError);
}

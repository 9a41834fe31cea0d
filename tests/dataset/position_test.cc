// The position of an iterator in a checkpoint: a run that goes on gets the elements that the
// stopped run would have got.
#include "train/input/iterator_position.h"

#include <doctest/doctest.h>

#include "core/graph/collections.h"
#include "core/runtime/session.h"
#include "ops/array/cast.h"
#include "ops/math/binary.h"
#include "ops/random/random_ops.h"
#include "ops/variables/assign.h"
#include "ops/variables/initialization.h"
#include "ops/variables/variable_scope.h"
#include "tests/data/support.h"
#include "train/global_step.h"
#include "train/monitored_session.h"
#include "train/saver.h"

using namespace towerflow;
using data::Dataset;
using I64 = std::int64_t;

namespace {

enum class Kind { whole, random, counted_errors, one_shot };

Dataset dataset_of(Kind kind) {
  if (kind == Kind::random) {
    return Dataset::range(40)
        .map([](Tensor x) { return random_uniform({}, {.seed = 3}) + cast(x, DType::float32); })
        .prefetch(2);
  }
  if (kind == Kind::counted_errors) {
    return Dataset::from_tensor_slices({1, 2, 0, 4, 0, 6, 7, 8}).map([](Tensor x) {
      return floordiv(100, x);
    });
  }
  return Dataset::range(50)
      .map([](Tensor x) { return x * 3; }, {.num_parallel_calls = 2})
      .shuffle(10, {.seed = 4})
      .repeat(2)
      .filter([](Tensor x) { return not_equal(x % 2, 0); })
      .skip(1)
      .batch(3)
      .prefetch(2);
}

/// A program that reads `count` elements, from the checkpoint if there is one, and saves it.
std::vector<std::string> read_elements(Kind kind, int count, const std::string& restored,
                                       const std::string& saved, bool initialize_first = true) {
  Graph graph;
  const auto inside = graph.as_default();
  const Dataset dataset = dataset_of(kind);
  const auto iterator = kind == Kind::one_shot ? dataset.make_one_shot_iterator()
                                               : dataset.make_initializable_iterator();
  const Tensor next = iterator.get_next();
  get_variable("v", {.initializer = 1.0F});
  add_to_collection(GraphKeys::SAVEABLE_OBJECTS, train::make_saveable_from_iterator(iterator));
  train::Saver saver;
  Session session;
  session.run(global_variables_initializer());
  const auto initialize = [&] {
    if (kind != Kind::one_shot) session.run(iterator.initializer());
  };
  if (initialize_first) initialize();
  if (!restored.empty()) saver.restore(session, restored);
  if (!initialize_first) initialize();
  std::vector<std::string> elements;
  for (int i = 0; i < count; ++i) {
    try {
      elements.push_back(session.run(next).text());
    } catch (const errors::InvalidArgumentError&) {
      elements.emplace_back("error");
    } catch (const errors::OutOfRangeError&) {
      break;
    }
  }
  if (!restored.empty() && count > 0) {
    CHECK_THROWS_AS(saver.restore(session, restored), errors::FailedPreconditionError);
  }
  if (!saved.empty()) saver.save(session, saved);
  return elements;
}

}  // namespace

TEST_CASE("an iterator goes on with the elements that the stopped run would have got") {
  const testing::ScratchFolder folder;
  const std::string first = (folder / "a").string(), second = (folder / "b").string();
  for (const Kind kind : {Kind::whole, Kind::random, Kind::counted_errors, Kind::one_shot}) {
    CAPTURE(static_cast<int>(kind));
    const std::vector<std::string> whole = read_elements(kind, 1000, "", "");
    REQUIRE(whole.size() >= 8);
    for (const int stop : {0, 1, 4, 7}) {
      CAPTURE(stop);
      std::vector<std::string> parts = read_elements(kind, stop, "", first);
      for (const bool initialize_first : {true, false}) {
        CAPTURE(initialize_first);
        std::vector<std::string> all = parts;
        const auto more = read_elements(kind, 1, first, second, initialize_first);
        all.insert(all.end(), more.begin(), more.end());
        const auto rest = read_elements(kind, 1000, second, "", initialize_first);
        all.insert(all.end(), rest.begin(), rest.end());
        CHECK(all == whole);
      }
    }
  }
}

TEST_CASE("a training folder continues an iterator only with the input of which it was") {
  const testing::ScratchFolder folder;
  // Trains up to `last_step` and returns the element of the last step.
  const auto train_until = [&](I64 last_step, const std::string& input) {
    Graph graph;
    const auto inside = graph.as_default();
    const auto iterator = Dataset::range(50).make_one_shot_iterator();
    const Tensor next = iterator.get_next();
    const Variable step = train::create_global_step();
    const Tensor count = assign_add(step, 1);
    add_to_collection(GraphKeys::SAVEABLE_OBJECTS,
                      train::make_saveable_from_iterator(iterator, {.input = input}));
    train::MonitoredTrainingSession session(
        {.checkpoint_dir = folder.path(), .log_step_count_steps = 0});
    const std::vector<Fetch> fetches{next, count};
    I64 element = -1;
    while (session.global_step() < last_step) {
      element = session.run(fetches)[0].item<I64>();
    }
    session.close();
    return element;
  };
  CHECK(train_until(3, "a") == 2);
  CHECK(train_until(4, "a") == 3);
  CHECK(train_until(6, "b") == 1);  // starts over
  CHECK(train_until(7, "b") == 2);
}

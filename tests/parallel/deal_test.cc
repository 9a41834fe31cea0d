// One input for several towers: each example is read once, by one tower; a warning if not.
#include <doctest/doctest.h>

#include <memory>

#include "tests/support/error_text.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::error_text;
using tf::parallel::Dealing;
using tf::parallel::ExampleCensus;
using tf::parallel::GlobalBatch;

namespace {

std::vector<std::int64_t> ids_of(const Array& array) {
  const auto flat = array.flat<std::int64_t>();
  return {flat.begin(), flat.end()};
}

/// Runs the dealt input to its end; returns what each tower read in each step.
std::vector<std::vector<std::vector<std::int64_t>>> read_all(
    const tf::parallel::DealtExamples& dealt, ExampleCensus& census) {
  std::vector<Fetch> fetches;
  for (const auto& element : dealt.towers) fetches.emplace_back(Tensor(element));
  fetches.insert(fetches.end(), dealt.counts.begin(), dealt.counts.end());
  Session session;
  std::vector<std::vector<std::vector<std::int64_t>>> steps;
  try {
    while (true) {
      const std::vector<Array> values = session.run(fetches);
      steps.emplace_back();
      for (std::size_t tower = 0; tower < dealt.towers.size(); ++tower) {
        steps.back().push_back(ids_of(values[tower]));
        census.add(static_cast<int>(tower), values[tower]);
        const Array& count = values[dealt.towers.size() + tower];
        CHECK(count.item<std::int64_t>() == values[tower].shape().size(0));
      }
    }
  } catch (const tf::errors::OutOfRangeError&) {
  }
  return steps;
}

using Steps = std::vector<std::vector<std::vector<std::int64_t>>>;

}  // namespace

TEST_CASE("a batch is dealt in turn, in parts, or as shares of the towers") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto ids = tf::data::Dataset::range(12);
  const auto dealt = [&](Dealing dealing) {
    ExampleCensus census(3);
    const Steps steps =
        read_all(tf::parallel::deal(ids, GlobalBatch(6), 3, {.dealing = dealing}), census);
    CHECK(census.text() ==
          "12 examples, each read once; by tower 0: 4, by tower 1: 4, by tower 2: 4");
    return steps;
  };
  CHECK(dealt(Dealing::in_turn) == Steps{{{0, 3}, {1, 4}, {2, 5}}, {{6, 9}, {7, 10}, {8, 11}}});
  CHECK(dealt(Dealing::contiguous) == Steps{{{0, 1}, {2, 3}, {4, 5}}, {{6, 7}, {8, 9}, {10, 11}}});
  CHECK(dealt(Dealing::own_shard) == Steps{{{0, 3}, {1, 4}, {2, 5}}, {{6, 9}, {7, 10}, {8, 11}}});
}

TEST_CASE("without drop_remainder the last batches are smaller, some perhaps empty") {
  Graph graph;
  const auto guard = graph.as_default();
  for (const Dealing dealing : {Dealing::in_turn, Dealing::contiguous}) {
    ExampleCensus census(3);
    const Steps steps =
        read_all(tf::parallel::deal(tf::data::Dataset::range(13), GlobalBatch(7), 3,
                                    {.dealing = dealing, .drop_remainder = false, .prefetch = 0}),
                 census);
    REQUIRE(steps.size() == 2);
    CHECK(steps[0][0].size() == 3);
    CHECK(steps[0][2].size() == 2);
    CHECK(census.times() == std::map<std::int64_t, std::int64_t>{{1, 13}});
    ExampleCensus of_one(3);
    const Steps one = read_all(tf::parallel::deal(tf::data::Dataset::range(1), GlobalBatch(7), 3,
                                                  {.dealing = dealing, .drop_remainder = false}),
                               of_one);
    CHECK(one == Steps{{{0}, {}, {}}});
  }
}

TEST_CASE("every way of dealing reads each of shuffled, structured examples once an epoch") {
  std::set<std::uint64_t> fingerprints;
  for (const Dealing dealing : {Dealing::in_turn, Dealing::contiguous, Dealing::own_shard}) {
    for (const int towers : {1, 2, 4}) {
      Graph graph;
      const auto guard = graph.as_default();
      const auto examples =
          tf::data::Dataset::range(64)
              .shuffle(64, {.seed = 1})
              .map([](const Tensor& id) {
                return std::map<std::string, Tensor>{
                    {"id", id}, {"image", tf::fill({2, 2}, tf::cast(id, tf::float32))}};
              })
              .repeat(2);
      const auto dealt = tf::parallel::deal(examples, GlobalBatch(8), towers, {.dealing = dealing});
      std::vector<Fetch> fetches;
      for (const auto& element : dealt.towers) {
        CHECK(Tensor(element["image"]).shape() == Shape{8 / towers, 2, 2});
        fetches.emplace_back(Tensor(element["image"]));
      }
      ExampleCensus census(towers);
      Session session;
      for (int step = 0; step < 16; ++step) {
        const std::vector<Array> values = session.run(fetches);
        for (int tower = 0; tower < towers; ++tower) {
          census.add(tower, values[static_cast<std::size_t>(tower)]);
        }
      }
      CHECK(census.times() == std::map<std::int64_t, std::int64_t>{{2, 64}});
      fingerprints.insert(census.fingerprint());
      CHECK_THROWS_AS(session.run(fetches), tf::errors::OutOfRangeError);
    }
  }
  CHECK(fingerprints.size() == 1);
}

TEST_CASE("dealing refuses what cannot be dealt") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto ids = tf::data::Dataset::range(12);
  CHECK_THROWS_AS(tf::parallel::deal(ids, GlobalBatch(6), 0), ValueError);
  CHECK(error_text([&] {
          tf::parallel::deal(ids, GlobalBatch(6), 4);
        }).find("the batch size must be divisible by the number of towers, got 6 and 4") !=
        std::string::npos);
  CHECK_THROWS_AS(tf::parallel::deal(ids, GlobalBatch(6), 2, {.prefetch = -1}), ValueError);
  CHECK_THROWS_AS(ExampleCensus(0), ValueError);
  ExampleCensus census(2);
  CHECK_THROWS_AS(census.add(2, Array::of<float>({1}, std::vector<float>{1})), ValueError);
  CHECK_THROWS_AS(census.add(0, Array::scalar(1.0F)), ValueError);
}

TEST_CASE("a census tells examples that several towers read, strings too") {
  ExampleCensus census(2);
  census.add(0, Array::of<std::string>({3}, std::vector<std::string>{"a", "b", "c"}));
  census.add(1, Array::of<std::string>({2}, std::vector<std::string>{"c", "d"}));
  CHECK(census.examples() == 4);
  CHECK(census.shared() == 1);
  CHECK(census.text() ==
        "4 examples, 3 read once, 1 read twice; by tower 0: 3, by tower 1: 2; 1 by several towers");
}

TEST_CASE("towers that each read the whole input in the same order are reported") {
  const auto reports_of = [](bool sharded) {
    Graph graph;
    const auto guard = graph.as_default();
    tf::train::GradientDescentOptimizer opt(0.1);
    std::vector<Tensor> inputs;
    const tf::parallel::Towers towers(
        opt,
        [&](int tower, const std::string&) {
          auto examples = tf::data::Dataset::range(64).repeat();
          if (sharded) examples = examples.shard(2, tower);
          inputs.push_back(examples.batch(8).make_one_shot_iterator().get_next());
          const Variable w = tf::get_variable("w", Shape{});
          return tf::reduce_mean(tf::square(w - tf::cast(inputs.back(), tf::float32)));
        },
        {.num_towers = 2});
    std::vector<std::string> reports;
    const auto hook = std::make_shared<tf::parallel::SameExamplesHook>(
        inputs, [&](const std::string& text) { reports.push_back(text); });
    tf::train::MonitoredTrainingSession session(
        {.hooks = {hook}, .config = {.allow_soft_placement = true}});
    for (int step = 0; step < 4; ++step) session.run(towers.train_op);
    session.close();
    return reports;
  };
  CHECK(reports_of(true).empty());
  const auto reports = reports_of(false);
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].find("towers 0 and 1 read the same examples: 8 of the 8 of "
                        "'tower_1/IteratorGetNext:0' are also in 'tower_0/IteratorGetNext:0'") !=
        std::string::npos);
}

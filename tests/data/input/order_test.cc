// The order of a pipeline's examples does not depend on the number of threads or on the time they
// take for each record.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "core/graph/scopes.h"
#include "data/parse_example.h"
#include "data/record_reader.h"
#include "ops/data_flow/decode_raw.h"
#include "tests/data/input/delayed.h"
#include "tests/data/input/support.h"
#include "train/queue_runner.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

/// Returns all labels from files -> reader -> parser -> queue, in order.
std::vector<std::int64_t> labels(const std::vector<std::string>& files, int threads, bool shuffle,
                                 std::int64_t batch) {
  Graph graph;
  const auto as_default = graph.as_default();
  const FIFOQueue names(32, {string}, {.shapes = {{}}});
  const TFRecordReader reader;
  const auto parsed = parse_single_example(
      reader.read(names).value,
      {{"label", {.shape = {}, .dtype = int64}}, {"raw", {.shape = {}, .dtype = string}}});
  Tensor raw = decode_raw(parsed["raw"], uint8);
  raw.set_shape({3});
  const std::vector<DType> dtypes{int64, uint8};
  const std::vector<Shape> shapes{{}, {3}};
  const QueueBase queue =
      shuffle ? QueueBase(RandomShuffleQueue(40, 25, dtypes, {.shapes = shapes, .seed = 3}))
              : QueueBase(FIFOQueue(40, dtypes, {.shapes = shapes}));
  const Operation enqueue = queue.enqueue({delay_tensor(parsed["label"]), raw});
  train::add_queue_runner(train::QueueRunner(
      queue, std::vector<Operation>(static_cast<std::size_t>(threads), enqueue)));
  const Components next = queue.dequeue_up_to(batch);
  Session session;
  session.run(names.enqueue_many({Operand(files)}));
  session.run(names.close());
  train::Coordinator coord;
  const auto runners = train::start_queue_runners(session, {.coord = &coord});
  std::vector<std::int64_t> seen;
  try {
    while (true) {
      const auto [label, bytes] = session.run({next[0], next[1]});
      for (std::int64_t i = 0; i < label.elements(); ++i) {
        const std::int64_t value = label.data<std::int64_t>()[i];
        seen.push_back(value);
        // The components of an example stay together.
        REQUIRE(bytes.data<std::uint8_t>()[3 * i] == (value & 255));
        REQUIRE(bytes.data<std::uint8_t>()[3 * i + 1] == (value >> 8));
      }
    }
  } catch (const errors::OutOfRangeError&) {
  }
  coord.request_stop();
  coord.join(runners);
  return seen;
}

}  // namespace

TEST_CASE("order and content depend on seed and files, not on threads and time") {
  const ScratchFolder folder;
  std::vector<std::string> files;
  std::int64_t total = 0;
  for (int i = 0; i < 4; ++i) {
    files.push_back((folder / std::to_string(i)).string());
    const std::int64_t count = 60 + 37 * i;
    write_examples(files.back(), total, count,
                   i % 2 == 0 ? data::Compression::none : data::Compression::gzip);
    total += count;
  }
  const std::vector<std::string> again = files;  // the second epoch
  files.insert(files.end(), again.begin(), again.end());
  for (const bool shuffle : {false, true}) {
    CAPTURE(shuffle);
    delay_records(false);
    const auto expected = labels(files, 1, shuffle, 1);
    REQUIRE(expected.size() == static_cast<std::size_t>(2 * total));
    std::map<std::int64_t, int> counts;
    for (const std::int64_t label : expected) ++counts[label];
    CHECK(counts.size() == static_cast<std::size_t>(total));
    for (const auto& [label, count] : counts) CHECK(count == 2);
    const auto ascending = std::is_sorted(expected.begin(), expected.begin() + total);
    CHECK(ascending != shuffle);
    for (const bool delays : {false, true}) {
      delay_records(delays);
      for (const int threads : {1, 2, 8}) {
        for (const std::int64_t batch : {1, 7, 64}) {
          CAPTURE(delays);
          CAPTURE(threads);
          CAPTURE(batch);
          CHECK(labels(files, threads, shuffle, batch) == expected);
        }
      }
    }
  }
}

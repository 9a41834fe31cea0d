// The input's position in a checkpoint: a pipeline that is stopped and resumed gives the same
// elements as one that runs through, and the saved position does not depend on threads or timing.
#include "train/input/input_position.h"

#include <doctest/doctest.h>

#include <random>

#include "core/graph/scopes.h"
#include "data/file.h"
#include "data/parse_example.h"
#include "data/record_reader.h"
#include "ops/random/random_ops.h"
#include "ops/variables/initialization.h"
#include "tests/data/input/delayed.h"
#include "tests/data/input/support.h"
#include "train/input/batch.h"
#include "train/input/input_producer.h"
#include "train/queue_runner.h"
#include "train/saver.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

enum class Kind {
  shuffled,  ///< records in a shuffle queue
  in_order,  ///< records in a FIFO queue
  chained,   ///< a shuffle queue filled from a FIFO queue
  in_rows,   ///< a queue that enqueues several elements at a time
  noisy,     ///< records in a shuffle queue, each with a random number
};

struct Pipeline {
  std::vector<std::string> files;
  Kind kind = Kind::shuffled;
  int threads = 1;
  std::int64_t batch = 7;
};

Tensor labels(const Pipeline& pipeline) {
  const auto names =
      train::string_input_producer(pipeline.files, {.num_epochs = 2, .seed = 5, .capacity = 3});
  const TFRecordReader reader;
  const auto parsed =
      parse_single_example(reader.read(names).value, {{"label", {.shape = {}, .dtype = int64}}});
  Tensor label = delay_tensor(parsed["label"]);
  const train::BatchOptions batch{.batch_size = pipeline.batch,
                                  .num_threads = pipeline.threads,
                                  .capacity = 30,
                                  .allow_smaller_final_batch = true};
  if (pipeline.kind == Kind::in_order) return train::batch({label}, batch)[0];
  train::BatchOptions first{.batch_size = 1, .capacity = 9};
  if (pipeline.kind == Kind::noisy) {
    label = label + random_uniform({}, {.minval = 0, .maxval = 1000000, .dtype = int64, .seed = 4});
  }
  if (pipeline.kind == Kind::chained) label = train::batch({label}, first)[0];
  train::ShuffleBatchOptions shuffle{.batch_size = pipeline.batch,
                                     .capacity = 40,
                                     .min_after_dequeue = 20,
                                     .num_threads = pipeline.threads,
                                     .seed = 3,
                                     .enqueue_many = pipeline.kind == Kind::chained,
                                     .allow_smaller_final_batch = true};
  if (pipeline.kind == Kind::in_rows) {
    first.batch_size = 4;
    first.allow_smaller_final_batch = true;
    label = train::batch({label}, first)[0];
    shuffle.enqueue_many = true;
  }
  if (pipeline.kind != Kind::shuffled) shuffle.num_threads = 1;
  return train::shuffle_batch({label}, shuffle)[0];
}

/// Dequeues `steps` batches, fewer if the input ends, from the start or from the position in the
/// checkpoint `restored`. Then saves the position to `saved` if given.
std::vector<std::int64_t> run(const Pipeline& pipeline, int steps, const std::string& restored = "",
                              const std::string& saved = "") {
  Graph graph;
  const auto as_default = graph.as_default();
  const Tensor next = labels(pipeline);
  const auto positions = train::input_positions();
  REQUIRE(positions.size() == 1);
  train::Saver saver({train::SaverItem(positions[0])});
  Session session;
  session.run(local_variables_initializer());
  if (!restored.empty()) saver.restore(session, restored);
  train::Coordinator coord;
  const auto runners = train::start_queue_runners(session, {.coord = &coord});
  std::vector<std::int64_t> seen;
  try {
    for (int step = 0; step < steps; ++step) {
      const Array batch = session.run(next);
      for (const std::int64_t label : values<std::int64_t>(batch)) seen.push_back(label);
    }
  } catch (const errors::OutOfRangeError&) {
  }
  if (!saved.empty()) saver.save(session, saved);
  coord.request_stop();
  coord.join(runners);
  return seen;
}

std::string bytes_of(const std::string& checkpoint) {
  constexpr std::size_t kMost = 1 << 20;
  return read_file(checkpoint + ".index", kMost) +
         read_file(checkpoint + ".data-00000-of-00001", kMost);
}

std::vector<std::string> write_files(const ScratchFolder& folder) {
  std::vector<std::string> files;
  std::int64_t total = 0;
  for (int i = 0; i < 4; ++i) {
    files.push_back((folder / ("records:" + std::to_string(i))).string());
    const std::int64_t count = i == 2 ? 0 : 20 + 13 * i;
    write_examples(files.back(), total, count,
                   i % 2 == 0 ? data::Compression::none : data::Compression::gzip);
    total += count;
  }
  return files;
}

constexpr int kAll = 1000;

}  // namespace

TEST_CASE("a pipeline stopped anywhere and continued gives what it would have given") {
  const ScratchFolder folder;
  const auto files = write_files(folder);
  const auto path = [&](const char* name) { return (folder / name).string(); };
  std::mt19937 generator(11);
  for (const Kind kind :
       {Kind::shuffled, Kind::in_order, Kind::chained, Kind::in_rows, Kind::noisy}) {
    CAPTURE(static_cast<int>(kind));
    delay_records(false);
    const auto expected = run({files, kind}, kAll);
    const int steps = static_cast<int>((expected.size() + 6) / 7);
    REQUIRE(steps > 20);
    for (int round = 0; round < 14; ++round) {
      delay_records(round % 2 == 1);
      const auto threads = [&] { return std::array{1, 2, 8}[generator() % 3]; };
      const int cut = static_cast<int>(generator() % (steps + 1));
      const int more = static_cast<int>(generator() % 6);
      CAPTURE(cut);
      CAPTURE(more);
      auto seen = run({files, kind, threads()}, cut, "", path("a"));
      const auto rest = run({files, kind, threads()}, kAll, path("a"));
      const auto whole = run({files, kind, threads()}, cut + more, "", path("b"));
      run({files, kind, threads()}, more, path("a"), path("c"));
      CHECK(bytes_of(path("b")) == bytes_of(path("c")));
      seen.insert(seen.end(), rest.begin(), rest.end());
      CHECK(seen == expected);
      CHECK(whole.size() == std::min<std::size_t>(expected.size(), 7 * (cut + more)));
    }
  }
  delay_records(false);
}

TEST_CASE("a position saved again before anything is dequeued is the same") {
  const ScratchFolder folder;
  const Pipeline pipeline{write_files(folder), Kind::shuffled, 2};
  const auto path = [&](const char* name) { return (folder / name).string(); };
  run(pipeline, 4, "", path("a"));
  run(pipeline, 0, path("a"), path("b"));
  CHECK(bytes_of(path("a")) == bytes_of(path("b")));
}

TEST_CASE("a position that no longer fits the input is an error that names the file") {
  const ScratchFolder folder;
  const Pipeline pipeline{write_files(folder), Kind::shuffled};
  const std::string saved = (folder / "a").string();
  run(pipeline, 4, "", saved);
  for (const std::string& file : pipeline.files) write_examples(file, 500, 3);
  CHECK_THROWS_WITH_AS(run(pipeline, kAll, saved), doctest::Contains("records:"),
                       errors::DataLossError);
}

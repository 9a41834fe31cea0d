// The TFRecord reader: records, keys, consecutive files, damaged files.
#include "data/record_reader.h"

#include <doctest/doctest.h>

#include <future>
#include <thread>

#include "core/graph/scopes.h"
#include "tests/data/input/support.h"
#include "tests/support/started_runs.h"
#include "train/queue_runner.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

/// A reader with a queue of file names, which is closed unless `closed` is false.
struct Reading {
  Graph graph;
  DefaultGraphGuard guard{graph};
  FIFOQueue names{32, {string}, {.shapes = {{}}, .name = "names"}};
  Tensor key, value;
  Session session{graph};

  explicit Reading(const std::vector<std::string>& files, bool closed = true,
                   RecordReaderOptions options = {}) {
    const TFRecordReader reader(options);
    const auto record = reader.read(names);
    key = record.key;
    value = record.value;
    if (!files.empty()) session.run(names.enqueue_many({Operand(files)}));
    if (closed) session.run(names.close());
  }
};

}  // namespace

TEST_CASE("a reader gives the records of its files in order, with keys as TensorFlow's") {
  const ScratchFolder folder;
  write_examples(folder / "a", 0, 3);
  write_examples(folder / "empty", 0, 0);
  write_examples(folder / "b", 3, 2, data::Compression::gzip);
  Reading r({(folder / "a").string(), (folder / "empty").string(), (folder / "b").string()});
  CHECK(r.key.name() == "ReaderReadV2:0");
  CHECK(r.value.name() == "ReaderReadV2:1");
  CHECK(r.key.op().input(0).name() == "TFRecordReaderV2:0");
  CHECK(r.value.shape() == Shape{});
  const std::size_t record =
      data::kRecordHeaderBytes + data::kRecordFooterBytes + example(0).size();
  for (std::int64_t i = 0; i < 5; ++i) {
    const auto [key, value] = r.session.run({r.key, r.value});
    CHECK(value.item<std::string>() == example(i));
    const std::size_t place = static_cast<std::size_t>(i < 3 ? i : i - 3) * record;
    const std::string file = (folder / (i < 3 ? "a" : "b")).string();
    CHECK(key.item<std::string>() == file + ":" + std::to_string(place));
  }
  CHECK_THROWS_WITH_AS(r.session.run(r.value),
                       doctest::Contains("is closed and has insufficient elements (requested 1, "
                                         "current size 0)"),
                       errors::OutOfRangeError);
}

TEST_CASE("zlib must be named") {
  const ScratchFolder folder;
  write_examples(folder / "z", 7, 1, data::Compression::zlib);
  Reading named({(folder / "z").string()}, true, {.compression = data::Compression::zlib});
  CHECK(named.session.run(named.value).item<std::string>() == example(7));
  Reading guessed({(folder / "z").string()});
  CHECK_THROWS_AS(guessed.session.run(guessed.value), errors::DataLossError);
}

TEST_CASE("errors of files carry their names") {
  const ScratchFolder folder;
  write_examples(folder / "good", 0, 1);
  std::string bytes = read_raw(folder / "good");
  bytes[14] = static_cast<char>(bytes[14] ^ 1);
  write_raw(folder / "bad", bytes);
  Reading r({(folder / "absent").string(), (folder / "good").string(), (folder / "bad").string()});
  CHECK_THROWS_WITH_AS(r.session.run(r.value), doctest::Contains((folder / "absent").c_str()),
                       errors::NotFoundError);
  CHECK(r.session.run(r.value).item<std::string>() == example(0));
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS_WITH_AS(r.session.run(r.value), doctest::Contains((folder / "bad").c_str()),
                         errors::DataLossError);
  }
}

TEST_CASE("a damaged file ends the pipeline: at the queue's end and in join") {
  const ScratchFolder folder;
  write_examples(folder / "good", 0, 4);
  const std::string bytes = read_raw(folder / "good");
  write_raw(folder / "cut", bytes.substr(0, bytes.size() - 3));
  Reading r({(folder / "cut").string()});
  const FIFOQueue records(10, {string}, {.shapes = {{}}, .name = "records"});
  const Operation enqueue = records.enqueue({r.value});
  train::add_queue_runner(train::QueueRunner(records, {enqueue, enqueue}));
  const Tensor next = records.dequeue();
  train::Coordinator coord;
  const auto threads = train::start_queue_runners(r.session, {.coord = &coord});
  int taken = 0;
  try {
    while (true) {
      const Array record = r.session.run(next);
      CHECK(record.item<std::string>() == example(taken));
      ++taken;
    }
  } catch (const errors::OutOfRangeError& error) {
    CHECK(std::string(error.what()).find((folder / "cut").string()) != std::string::npos);
  }
  CHECK(taken <= 3);
  CHECK_THROWS_WITH_AS(coord.join(threads), doctest::Contains((folder / "cut").c_str()),
                       errors::DataLossError);
}

TEST_CASE("readers that wait, for names or for their turn, end with their session") {
  Reading r({}, false);
  const StartedRuns started;
  const auto after = control_dependencies({started.mark()});
  const Tensor value = TFRecordReader().read(r.names).value;
  std::vector<std::future<void>> runs;
  for (int i = 0; i < 3; ++i) {
    runs.push_back(std::async(std::launch::async, [&] {
      CHECK_THROWS_AS(r.session.run(value), errors::CancelledError);
    }));
  }
  started.wait_for(3);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  r.session.close();
  for (auto& run : runs) {
    CHECK(run.wait_for(std::chrono::seconds(20)) == std::future_status::ready);
  }
}

TEST_CASE("a handle of another kind is an error, not a crash") {
  Reading r({"x"});
  const FIFOQueue numbers(1, {int32}, {.shapes = {{}}});
  const TFRecordReader reader;
  const Tensor wrong_queue = reader.read(numbers).value;
  CHECK_THROWS_WITH_AS(r.session.run(wrong_queue), doctest::Contains("does not hold file names"),
                       errors::InvalidArgumentError);
}

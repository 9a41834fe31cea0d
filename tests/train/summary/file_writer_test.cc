// The files of a FileWriter: at once, after a flush, after closing and after a failure.
#include "train/summary/file_writer.h"

#include <regex>
#include <thread>

#include "tests/data/size_limit.h"
#include "tests/train/summary/support.h"
#include "train/summary/graph_def.h"

using namespace towerflow;
using namespace towerflow::testing;
using summary::event_files;

namespace {

std::string number(const std::string& tag, float value) {
  return summary::serialize_summary({{tag, value, {}}});
}

/// Returns the steps of the summaries in a file.
std::vector<std::int64_t> steps(const std::filesystem::path& path) {
  std::vector<std::int64_t> found;
  for (const summary::Event& event : read_events(path)) {
    if (event.summary) found.push_back(event.step);
  }
  return found;
}

/// Collects the text logged during its lifetime.
class Log {
 public:
  Log() : before_(set_log_sink([this](LogLevel, std::string_view text) { text_ += text; })) {}
  ~Log() { set_log_sink(before_); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  LogSink before_;
};

}  // namespace

TEST_CASE("file_writer: a run's summaries, the graph and the names of things") {
  ScratchFolder folder;
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(tf::float32, {.shape = Shape{3}, .name = "x"});
  tf::summary::histogram("x", x);
  tf::summary::scalar("sum", tf::reduce_sum(x));
  const Tensor merged = tf::summary::merge_all().value();
  tf::Session session;
  tf::summary::FileWriter writer(folder / "logs/run", graph, {.filename_suffix = ".end"});
  CHECK(writer.get_logdir() == folder / "logs/run");
  for (int step = 0; step < 30; ++step) {  // more than the queue holds
    writer.add_summary(session.run(merged, {{x, {1.0 * step, -1.0, 0.5}}}), step);
  }
  writer.add_session_log({summary::SessionLog::STOP}, 30);
  writer.close();

  const auto files = event_files(folder / "logs/run");
  REQUIRE(files.size() == 1);
  CHECK(writer.path() == files[0]);
  CHECK(std::regex_match(files[0].filename().string(),
                         std::regex("events\\.out\\.tfevents\\.[0-9]{10}\\..+\\.end")));
  const auto events = read_events(files[0]);
  REQUIRE(events.size() == 33);
  CHECK(events[0].file_version == "brain.Event:2");
  CHECK(GraphDef::FromString(events[1].graph_def.value()).node.size() == graph.size());
  for (int step = 0; step < 30; ++step) {
    const summary::Event& event = events[static_cast<std::size_t>(step) + 2];
    CHECK(event.step == step);
    CHECK(event.wall_time >= events[0].wall_time);
    REQUIRE(event.summary);
    REQUIRE(event.summary->size() == 2);
    CHECK((*event.summary)[0].tag == "x_1");
    CHECK((*event.summary)[0].histo->max == std::max<double>(step, 0.5));
    CHECK((*event.summary)[0].histo->sum == step - 0.5);
    CHECK((*event.summary)[1] ==
          summary::SummaryValue{"sum_1", static_cast<float>(step) - 0.5F, {}});
  }
  CHECK(events[32].session_log->status == summary::SessionLog::STOP);
}

TEST_CASE("file_writer: an event is there after a flush, or when its time has come") {
  ScratchFolder folder;
  tf::summary::FileWriter writer(folder.path(), {.flush_secs = 1e18});
  CHECK(read_events(writer.path()).size() == 1);
  writer.add_summary(number("a", 1), 1);
  writer.add_summary(number("a", 2), 2);
  writer.flush();
  CHECK(steps(writer.path()) == std::vector<std::int64_t>{1, 2});

  tf::summary::FileWriter hasty(folder.path(), {.flush_secs = 0});
  CHECK(hasty.path() != writer.path());
  summary::Event event{7.5, 3};
  event.summary = {{"a", 3.0F, {}}};
  hasty.add_event(event);
  // A file that is being written may end with an incomplete record.
  const auto readable = [&] {
    try {
      return read_events(hasty.path()).size();
    } catch (const errors::DataLossError&) {
      return std::size_t{0};
    }
  };
  while (readable() < 2) std::this_thread::yield();
  CHECK(read_events(hasty.path())[1] == event);
}

TEST_CASE("file_writer: closed, reopened, destroyed") {
  ScratchFolder folder;
  std::filesystem::path last;
  {
    tf::summary::FileWriter writer(folder.path());
    writer.add_summary(number("a", 1), 1);
    writer.close();
    writer.close();
    {
      const Log log;
      writer.add_summary(number("a", 2), 2);
      writer.flush();
      CHECK(log.text().find("Attempting to use a closed FileWriter.") != std::string::npos);
    }
    const std::filesystem::path first = writer.path();
    CHECK(steps(first) == std::vector<std::int64_t>{1});
    writer.reopen();
    writer.reopen();
    last = writer.path();
    CHECK(last != first);
    CHECK(event_files(folder.path()).size() == 2);
    writer.add_summary(number("a", 3), 3);
  }
  CHECK(steps(last) == std::vector<std::int64_t>{3});
}

TEST_CASE("file_writer: threads that add at once lose nothing") {
  ScratchFolder folder;
  tf::summary::FileWriter writer(folder.path(), {.max_queue = 2, .flush_secs = 0});
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&writer, thread] {
      for (int i = 0; i < 50; ++i) {
        writer.add_summary(number("a", 0), thread * 50 + i);
        if (i % 10 == 0) writer.flush();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  writer.close();
  std::vector<std::int64_t> found = steps(writer.path());
  std::sort(found.begin(), found.end());
  REQUIRE(found.size() == 150);
  for (int i = 0; i < 150; ++i) CHECK(found[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("file_writer: a full disk is told by the next call, and what was written can be read") {
  ScratchFolder folder;
  const Log log;
  tf::summary::FileWriter writer(folder.path());
  for (int step = 0; step < 4; ++step) writer.add_summary(number("a", 1), step);
  writer.flush();
  const auto before = std::filesystem::file_size(writer.path());
  std::string told;
  {
    const SizeLimit limit(before + 20);  // in the middle of a record
    writer.add_summary(number("a", 1), 4);
    told = thrown([&] { writer.flush(); });
    CHECK(told.starts_with("ResourceExhaustedError: cannot write to " + writer.path()));
    CHECK(thrown([&] { writer.add_summary(number("a", 1), 5); }) == told);
  }
  CHECK(thrown([&] { writer.flush(); }) == told);
  CHECK(thrown([&] { writer.close(); }) == told);
  CHECK(steps(writer.path()) == std::vector<std::int64_t>{0, 1, 2, 3});
  CHECK(std::filesystem::file_size(writer.path()) == before);

  writer.reopen();
  writer.add_summary(number("a", 1), 6);
  writer.close();
  CHECK(steps(writer.path()) == std::vector<std::int64_t>{6});
}

TEST_CASE("file_writer: folders and summaries that are none") {
  ScratchFolder folder;
  write_raw(folder / "file", "");
  CHECK(thrown([&] {
          tf::summary::FileWriter writer(folder / "file/logs");
        }).starts_with("FailedPreconditionError: cannot create folder "));
  CHECK(thrown([&] {
          tf::summary::FileWriter writer(folder.path(), {.filename_suffix = "/etc"});
        }).starts_with("ValueError: "));
  CHECK(thrown([&] {
          tf::summary::FileWriter writer(folder.path(), {.flush_secs = -1});
        }).starts_with("ValueError: "));
  CHECK(folder.files() == 1);
  tf::summary::FileWriter writer(folder / "logs");
  CHECK(thrown([&] { writer.add_summary("no summary"); }).starts_with("InvalidArgumentError: "));
  CHECK(thrown([&] { writer.add_summary(Array::scalar(1.0F)); }) ==
        "TypeError: a summary is one string, not " + Array::scalar(1.0F).text());
  writer.close();
  CHECK(read_events(writer.path()).size() == 1);
}

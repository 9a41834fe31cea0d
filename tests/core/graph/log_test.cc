#include "core/graph/log.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/in_time.h"

using namespace towerflow;

namespace {

/// Sets a log sink for its lifetime.
class ScopedLogSink {
 public:
  explicit ScopedLogSink(LogSink sink) : before_(set_log_sink(std::move(sink))) {}
  ~ScopedLogSink() { set_log_sink(before_); }
  ScopedLogSink(const ScopedLogSink&) = delete;
  ScopedLogSink& operator=(const ScopedLogSink&) = delete;

 private:
  LogSink before_;
};

}  // namespace

TEST_CASE("a sink may log: what it says goes to stderr") {
  auto seen = std::make_shared<std::vector<std::string>>();
  testing::run_with_timeout([seen] {
    const ScopedLogSink sink([seen](LogLevel, std::string_view text) {
      seen->emplace_back(text);
      log_message(LogLevel::info, "the sink's own line");
    });
    log_message(LogLevel::info, "outer");
    log_message(LogLevel::info, "again");
  });
  CHECK(*seen == std::vector<std::string>{"outer", "again"});
}

TEST_CASE("a sink may set another, which takes the next message") {
  auto seen = std::make_shared<std::vector<std::string>>();
  testing::run_with_timeout([seen] {
    const LogSink first = set_log_sink(nullptr);
    const std::string own(100, 'x');  // captures of a replaced sink live until it returns
    set_log_sink([seen, own](LogLevel, std::string_view text) {
      set_log_sink([seen](LogLevel, std::string_view later) { seen->emplace_back(later); });
      seen->push_back(std::string(text) + own.substr(99));
    });
    log_message(LogLevel::info, "one");
    log_message(LogLevel::info, "two");
    set_log_sink(first);
  });
  CHECK(*seen == std::vector<std::string>{"onex", "two"});
}

TEST_CASE("what a sink throws is dropped, and the sink is called again") {
  int calls = 0;
  const ScopedLogSink sink([&](LogLevel, std::string_view) {
    ++calls;
    throw std::runtime_error("no room for logs");
  });
  CHECK_NOTHROW(log_message(LogLevel::info, "this line is in order here"));
  CHECK_NOTHROW(log_message(LogLevel::info, "and so is this one"));
  CHECK(calls == 2);
}

TEST_CASE("the sink that was set before is not called once another is set") {
  std::atomic<int> late = 0;
  for (int round = 0; round < 50; ++round) {
    const ScopedLogSink quiet(nullptr);
    std::atomic<bool> replaced = false;
    std::promise<void> stop;
    auto stopped = stop.get_future();
    std::thread logs([&] {
      while (stopped.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
        log_message(LogLevel::info, "text");
    });
    {
      std::string text;  // not locked, since calls do not overlap
      const ScopedLogSink sink([&](LogLevel, std::string_view said) {
        if (replaced) ++late;
        text = said;
      });
      log_message(LogLevel::info, "text");
    }
    replaced = true;
    stop.set_value();
    logs.join();
  }
  CHECK(late == 0);
}

TEST_CASE("an exception that goes no further is a warning with its text, however long") {
  std::string said;
  const ScopedLogSink sink([&](LogLevel, std::string_view text) { said = text; });
  const auto lost = [](const auto& thrown) {
    try {
      throw thrown;
    } catch (...) {
      log_exception("events were lost");
    }
  };
  lost(std::runtime_error("the disk is full"));
  CHECK(said == "events were lost: the disk is full");
  lost(7);
  CHECK(said == "events were lost: an exception that is not derived from std::exception");
  lost(std::runtime_error(std::string(5000, 'a')));
  CHECK(said.size() == 1023);
}

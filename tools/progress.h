#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace towerflow::tools {

/// A progress bar on stderr for work of known size; silent unless stderr is a terminal.
///
///     converting  [##########----------]  50 %  35000 of 70000, 2 s left
///
/// It is drawn at most ten times a second, so that `update` may be called for every step, and
/// erased by `finish` or the destructor. After a failed write, nothing more is drawn. Not
/// thread-safe.
class Progress {
 public:
  /// `what` is shown before the bar. Only tests pass `stream` and `shown`.
  explicit Progress(std::string what, std::FILE* stream = stderr,
                    std::optional<bool> shown = std::nullopt);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { finish(); }

  /// `done` of `total` is done; a total of 0 or less draws nothing.
  void update(std::int64_t done, std::int64_t total);
  /// Erases the bar. Must be called before other lines are printed.
  void finish();

  /// Returns the text of the bar `seconds` after the start, without control characters.
  static std::string line(const std::string& what, std::int64_t done, std::int64_t total,
                          double seconds);

 private:
  using Clock = std::chrono::steady_clock;

  void draw(const std::string& text);

  std::string what_;
  std::FILE* stream_;
  bool shown_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_;
};

}  // namespace towerflow::tools

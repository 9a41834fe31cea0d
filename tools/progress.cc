#include "tools/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace towerflow::tools {
namespace {

constexpr int kCells = 30;
constexpr auto kBetweenDrawings = std::chrono::milliseconds(100);
/// Estimates from less time would be guesses.
constexpr double kSecondsBeforeEstimate = 1.0;

std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::min(std::ceil(seconds), 1e9));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02} h", whole / 3600, whole / 60 % 60);
}

}  // namespace

Progress::Progress(std::string what, std::FILE* stream, std::optional<bool> shown)
    : what_(std::move(what)),
      stream_(stream),
      shown_(shown.value_or(isatty(fileno(stream)) == 1)) {}

void Progress::update(std::int64_t done, std::int64_t total) {
  if (!shown_ || total <= 0) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + kBetweenDrawings;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  draw(fmt::format("\r{}\033[K", line(what_, done, total, seconds)));
  drawn_ = shown_;
}

void Progress::draw(const std::string& text) {
  // The terminal may be closed in the meantime.
  shown_ = std::fputs(text.c_str(), stream_) >= 0 && std::fflush(stream_) == 0;
}

void Progress::finish() {
  if (!drawn_) return;
  drawn_ = false;
  next_ = Clock::time_point{};
  draw("\r\033[K");
}

std::string Progress::line(const std::string& what, std::int64_t done, std::int64_t total,
                           double seconds) {
  done = std::clamp<std::int64_t>(done, 0, total);
  const double part = static_cast<double>(done) / static_cast<double>(total);
  const int full = static_cast<int>(part * kCells);
  std::string text =
      fmt::format("{}  [{}{}] {:3} %  {} of {}", what, std::string(full, '#'),
                  std::string(kCells - full, '-'), static_cast<int>(part * 100), done, total);
  if (seconds >= kSecondsBeforeEstimate && done > 0) {
    text += fmt::format(", {} left", duration(seconds * static_cast<double>(total - done) /
                                              static_cast<double>(done)));
  }
  return text;
}

}  // namespace towerflow::tools

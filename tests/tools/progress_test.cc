#include "tools/progress.h"

#include <doctest/doctest.h>

#include <memory>
#include <thread>

namespace towerflow::tools {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File scratch() { return {std::tmpfile(), std::fclose}; }

std::string content(std::FILE* file) {
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  return text;
}

TEST_CASE("the line shows part, count and, after a second, the time left") {
  CHECK(Progress::line("converting", 35000, 70000, 0.5) ==
        "converting  [###############---------------]  50 %  35000 of 70000");
  CHECK(Progress::line("x", 1, 3, 10) ==
        "x  [##########--------------------]  33 %  1 of 3, 20 s left");
  CHECK(Progress::line("x", 1, 13, 10) ==
        "x  [##----------------------------]   7 %  1 of 13, 2:00 min left");
  CHECK(Progress::line("x", 1, 1001, 10) ==
        "x  [------------------------------]   0 %  1 of 1001, 2:46 h left");
  CHECK(Progress::line("x", 0, 10, 5) == "x  [------------------------------]   0 %  0 of 10");
  CHECK(Progress::line("x", 12, 10, 0) == "x  [##############################] 100 %  10 of 10");
}

TEST_CASE("nothing is written unless the stream is a terminal") {
  const File file = scratch();
  {
    Progress progress("converting", file.get());
    progress.update(1, 2);
    progress.finish();
  }
  CHECK(content(file.get()).empty());
}

TEST_CASE("it is drawn at most ten times a second and erased at the end") {
  const File file = scratch();
  {
    Progress progress("work", file.get(), true);
    progress.update(5, 0);
    CHECK(content(file.get()).empty());
    for (int i = 0; i < 1000; ++i) progress.update(1, 4);
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    for (int i = 0; i < 10; ++i) progress.update(3, 4);
  }
  const std::string text = content(file.get());
  std::size_t drawings = 0;
  for (std::size_t at = text.find("work"); at != std::string::npos; at = text.find("work", at + 1))
    ++drawings;
  CHECK(drawings >= 2);
  CHECK(drawings <= 20);  // would be 1010 if every call drew
  CHECK(text.find("75 %") != std::string::npos);
  CHECK(text.ends_with("\r\033[K"));
}

TEST_CASE("where it cannot be drawn, as on a terminal that is gone, the work goes on without it") {
  const File full(std::fopen("/dev/full", "w"), std::fclose);
  REQUIRE(full != nullptr);
  Progress progress("work", full.get(), true);
  CHECK_NOTHROW(progress.update(1, 4));
  CHECK(std::ferror(full.get()) != 0);
  std::clearerr(full.get());
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  CHECK_NOTHROW(progress.update(2, 4));
  CHECK_NOTHROW(progress.finish());
  CHECK(std::ferror(full.get()) == 0);  // did not try to write again
}

}  // namespace
}  // namespace towerflow::tools

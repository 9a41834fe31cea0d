// The file of convolution plans: what is written is read, and nothing else is.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <thread>
#include <vector>

#include "core/device/convolution_plans.h"
#include "cuda/backend/plan_file.h"
#include "cuda/backend/plan_table.h"
#include "tests/data/support.h"
#include "tests/support/error_text.h"

using namespace towerflow;
using testing::error_text;
using testing::ScratchFolder;

namespace {

/// Returns a file with one plan, one part of which is replaced.
std::string file_with(const std::string& part, const std::string& by) {
  std::string text =
      R"({"card": {"forward": {"engine": 58, "knobs": {"2": 1, "14": 3}, "milliseconds": 0.25,
          "first_milliseconds": 1, "timed": 14}}})";
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), by);
}

}  // namespace

TEST_SUITE("the file of plans") {
  TEST_CASE("what is written is read") {
    const ScratchFolder folder;
    const std::string path = folder / "plans.json";
    const std::vector<ConvolutionPlan> plans{
        {.device = "a card", .convolution = "backward", .engine = 3},
        {.device = "a card",
         .convolution = "forward \"x\"",
         .engine = 58,
         .knobs = {{2, 1}, {14, -3}},
         .milliseconds = 0.0123,
         .first_milliseconds = 4.5,
         .timed = 14},
        {.device = "b card", .convolution = "forward", .engine = INT64_MAX, .knobs = {{2, 0}}}};
    cuda::write_convolution_plans(path, plans);
    const std::vector<ConvolutionPlan> found = read_convolution_plans(path);
    REQUIRE(found.size() == plans.size());
    for (std::size_t i = 0; i < plans.size(); ++i) {
      CHECK(found[i].device == plans[i].device);
      CHECK(found[i].convolution == plans[i].convolution);
      CHECK(found[i].engine == plans[i].engine);
      CHECK(found[i].knobs == plans[i].knobs);
      CHECK(found[i].milliseconds == plans[i].milliseconds);
      CHECK(found[i].first_milliseconds == plans[i].first_milliseconds);
      CHECK(found[i].timed == plans[i].timed);
    }
    cuda::write_convolution_plans(path, {});
    CHECK(read_convolution_plans(path).empty());
    CHECK(folder.files() == 1);
  }

  TEST_CASE("sessions that add to one file at once lose nothing") {
    const ScratchFolder folder;
    const std::string path = folder / "plans.json";
    constexpr int kSessions = 4, kPlans = 25;
    std::vector<std::thread> threads;
    for (int session = 0; session < kSessions; ++session) {
      threads.emplace_back([&path, session] {
        for (int i = 0; i < kPlans; ++i) {
          cuda::PlanTable table(path, true);
          table.add({.device = "card", .convolution = fmt::format("{} of {}", i, session)});
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(read_convolution_plans(path).size() == kSessions * kPlans);
    CHECK(folder.files() == 1);
  }

  TEST_CASE("what is no table of plans is refused") {
    const ScratchFolder folder;
    const std::string path = folder / "plans.json";
    const auto said = [&](const std::string& text) {
      testing::write_raw(path, text);
      return error_text([&] { read_convolution_plans(path); });
    };
    CHECK(said(file_with("58", "57")) == "nothing was thrown");
    for (const char* text : {"", "{", "[]", "7", "null", "\"x\"", "{} {}", "\xff\xfe"}) {
      CAPTURE(text);
      CHECK_SAYS(said(text), "DataLossError", path, "is no table of plans: it is no JSON object");
    }
    CHECK_SAYS(said(std::string(100000, '[')), "DataLossError", "it is no JSON object");
    CHECK_SAYS(said(R"({"card": 3})"), "'card' is no object");
    CHECK_SAYS(said(R"({"card": {"forward": []}})"), "'forward' is no object");
    CHECK_SAYS(said(R"({"card": {"forward": {}}})"), "'forward' has no valid \"engine\"");
    for (const char* engine : {"\"58\"", "5.5", "null", "1e400", "18446744073709551615"}) {
      CAPTURE(engine);
      CHECK_SAYS(said(file_with("58", engine)), "DataLossError");
    }
    CHECK_SAYS(said(file_with("14}", "true}")), "no valid \"timed\"");
    CHECK_SAYS(said(file_with("0.25", "-1")), "no valid \"milliseconds\"");
    CHECK_SAYS(said(file_with("0.25", "\"x\"")), "no valid \"milliseconds\"");
    CHECK_SAYS(said(file_with("\"first_milliseconds\"", "\"last\"")), "\"first_milliseconds\"");
    CHECK_SAYS(said(file_with("{\"2\": 1, \"14\": 3}", "[1]")), "no valid \"knobs\"");
    CHECK_SAYS(said(file_with("\"14\"", "\"14x\"")), "the knob '14x', which is no number");
    CHECK_SAYS(said(file_with("\"14\"", "\"99999999999999999999\"")), "which is no number");
    CHECK_SAYS(said(file_with("\"14\": 3", "\"14\": \"3\"")), "no valid \"14\"");
  }

  TEST_CASE("what cannot be read or written is an error with the path") {
    const ScratchFolder folder;
    const std::string missing = folder / "none.json";
    CHECK_SAYS(error_text([&] { read_convolution_plans(missing); }), "NotFoundError", missing);
    CHECK_SAYS(error_text([&] { read_convolution_plans(folder.path()); }),
               "FailedPreconditionError");
    const std::string elsewhere = folder / "no-folder/plans.json";
    CHECK_SAYS(error_text([&] { cuda::write_convolution_plans(elsewhere, {}); }), "NotFoundError");
  }
}

// Runs the recorded programs with the library: README.md.
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>

#include "tests/golden/programs.h"
#include "tests/support/data_dir.h"

namespace {

using namespace towerflow::golden;

const std::filesystem::path& folder() {
  static const std::filesystem::path path = towerflow::test::source_root() / "tests/golden";
  return path;
}

/// Returns the programs to skip: lines `FILE/PROGRAM: REASON` of skips.txt.
std::map<std::string, std::string> read_skips() {
  std::map<std::string, std::string> skipped;
  std::ifstream stream(folder() / "skips.txt");
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t colon = line.find(": ");
    REQUIRE_MESSAGE(colon != std::string::npos, "skips.txt, a line without a reason: ", line);
    skipped[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return skipped;
}

void check_file(const std::string& name) {
  static const auto skipped = read_skips();
  std::filesystem::path path = folder() / "programs" / (name + ".json");
  if (!std::filesystem::exists(path)) path += ".gz";
  const auto programs = read_program_file(path);
  REQUIRE(!programs.empty());
  int left_out = 0;
  for (const Json& program : programs) {
    const std::string full_name = name + "/" + program["name"].get<std::string>();
    const auto skip = skipped.find(full_name);
    if (skip != skipped.end()) {
      ++left_out;
      std::printf("left out %s: %s\n", full_name.c_str(), skip->second.c_str());
      continue;
    }
    const auto found = check_program(program);
    std::string text;
    for (std::size_t i = 0; i < std::min<std::size_t>(found.size(), 3); ++i) {
      text += found[i].message() + "\n";
    }
    CHECK_MESSAGE(found.empty(), full_name, ": ", found.size(), " disagreements\n", text);
  }
  std::printf("%s: %zu programs, %d left out\n", name.c_str(), programs.size(), left_out);
}

TEST_CASE("naming") { check_file("naming"); }
TEST_CASE("scopes") { check_file("scopes"); }
TEST_CASE("devices") { check_file("devices"); }
TEST_CASE("collected") { check_file("collected"); }
TEST_CASE("collected_towers") { check_file("collected_towers"); }
TEST_CASE("update_ops") { check_file("update_ops"); }
TEST_CASE("three_stage_gan") { check_file("three_stage_gan"); }
TEST_CASE("shapes") { check_file("shapes"); }
TEST_CASE("numerics") { check_file("numerics"); }
TEST_CASE("randoms") { check_file("randoms"); }
TEST_CASE("getters") { check_file("getters"); }
TEST_CASE("partitions") { check_file("partitions"); }
TEST_CASE("settings") { check_file("settings"); }
TEST_CASE("gradients_options") { check_file("gradients_options"); }
TEST_CASE("training") { check_file("training"); }
TEST_CASE("adaptive") { check_file("adaptive"); }
TEST_CASE("more_optimizers") { check_file("more_optimizers"); }
TEST_CASE("metrics") { check_file("metrics"); }
TEST_CASE("absent") { check_file("absent"); }
TEST_CASE("clipping") { check_file("clipping"); }
TEST_CASE("averages") { check_file("averages"); }
TEST_CASE("initialized") { check_file("initialized"); }
TEST_CASE("edges") { check_file("edges"); }
TEST_CASE("step_counts") { check_file("step_counts"); }
TEST_CASE("queues") { check_file("queues"); }
TEST_CASE("initial_values") { check_file("initial_values"); }
TEST_CASE("losses") { check_file("losses"); }
TEST_CASE("pieces_and_layers") { check_file("pieces_and_layers"); }
TEST_CASE("mnist") { check_file("mnist"); }
TEST_CASE("mnist_summaries") { check_file("mnist_summaries"); }
TEST_CASE("summaries") { check_file("summaries"); }
TEST_CASE("scoping") { check_file("scoping"); }
TEST_CASE("op_names") { check_file("op_names"); }
TEST_CASE("swept") { check_file("swept"); }
TEST_CASE("swept again") { check_file("swept_again"); }
TEST_CASE("called") { check_file("called"); }
TEST_CASE("called_again") { check_file("called_again"); }
TEST_CASE("systems") { check_file("systems"); }
TEST_CASE("random_known") { check_file("random_known"); }
TEST_CASE("random_fresh") { check_file("random_fresh"); }

TEST_CASE("every file of programs has a test case, every skip names a program") {
  std::size_t files = 0, named = 0;
  const auto skipped = read_skips();
  for (const auto& entry : std::filesystem::directory_iterator(folder() / "programs")) {
    ++files;
    const std::string file = entry.path().filename();
    const std::string stem = file.substr(0, file.find('.'));
    for (const Json& program : read_program_file(entry.path())) {
      named += skipped.count(stem + "/" + program["name"].get<std::string>());
    }
  }
  CHECK(files == 40);
  CHECK(named == skipped.size());
}

}  // namespace

// Runs golden programs with the library outside the tests, for sweeps over many programs.
//
//   golden_run [--record] [FILE]
//
// FILE (default: standard input) holds one program or a file of programs. Without --record the
// programs have TensorFlow's outcomes: prints the disagreements of each program and exits
// with 1 if there is any. With --record prints the programs with our outcomes.
#include <cstdio>
#include <iostream>
#include <sstream>

#include "tests/golden/programs.h"

namespace {

using namespace towerflow::golden;

int check(const std::vector<Json>& programs) {
  int wrong = 0;
  for (const Json& program : programs) {
    const auto found = check_program(program);
    if (found.empty()) continue;
    ++wrong;
    for (const Disagreement& one : found) std::printf("%s\n", one.message().c_str());
  }
  std::printf("%zu programs, %d disagree\n", programs.size(), wrong);
  return wrong == 0 ? 0 : 1;
}

int record(const std::vector<Json>& programs) {
  Json records = Json::array();
  for (const Json& program : programs) records.push_back(record_program(program));
  std::printf("%s\n", Json{{"format", 1}, {"programs", records}}.dump().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  bool recording = false;
  std::string file;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--record") {
      recording = true;
    } else if (argument.starts_with("--") || !file.empty()) {
      std::fprintf(stderr, "usage: golden_run [--record] [FILE]\n");
      return 2;
    } else {
      file = argument;
    }
  }
  try {
    std::ostringstream text;
    if (file.empty()) text << std::cin.rdbuf();
    const auto programs = file.empty() ? read_programs(text.str()) : read_program_file(file);
    return recording ? record(programs) : check(programs);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}

#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/golden/compare.h"

namespace towerflow::golden {

/// Parses a file of programs or a single program. Throws BadProgram for anything else.
std::vector<Json> read_programs(const std::string& text);
/// Returns the contents of a file, decompressed if it is gzip. Throws BadProgram.
std::string unpacked_text(const std::filesystem::path& file);
/// Returns the programs of such a file.
std::vector<Json> read_program_file(const std::filesystem::path& file);

/// Runs a recorded program in a new graph and returns all disagreements in order. An unknown call
/// or value form counts as one and ends the program.
std::vector<Disagreement> check_program(const Json& program);

/// Returns the program with our outcomes in each call's `expect` and in `final`, in the form of
/// TensorFlow's records. Throws BadProgram.
Json record_program(const Json& program);

}  // namespace towerflow::golden

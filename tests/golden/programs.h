#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/golden/compare.h"

namespace towerflow::golden {

/// A file of programs, or one program alone. Throws BadProgram for anything else.
std::vector<Json> read_programs(const std::string& text);
/// What is in a file, which may be packed by gzip. Throws BadProgram.
std::string unpacked_text(const std::filesystem::path& file);
/// The programs of such a file.
std::vector<Json> read_program_file(const std::filesystem::path& file);

/// Runs a recorded program in a graph of its own; every disagreement, in order. A call or a form
/// that the C++ side does not know is one too, and ends the program.
std::vector<Disagreement> check_program(const Json& program);

/// The program with what our side does in `expect` of each call and in `final`, in the form in
/// which TensorFlow's side is recorded. Throws BadProgram.
Json record_program(const Json& program);

}  // namespace towerflow::golden

#include "tests/golden/programs.h"

#include <zlib.h>

#include <array>
#include <memory>

#include "tests/golden/interpreter.h"

namespace towerflow::golden {

std::vector<Json> read_programs(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) throw BadProgram("this is no JSON");
  if (json.is_object() && json.contains("calls")) return {json};
  if (!json.is_object() || json.value("format", 0) != 1 || !json.contains("programs")) {
    throw BadProgram("neither a program nor a file of programs of format 1");
  }
  return json["programs"].get<std::vector<Json>>();
}

std::string unpacked_text(const std::filesystem::path& file) {
  const std::unique_ptr<gzFile_s, decltype(&gzclose)> stream(gzopen(file.c_str(), "rb"), &gzclose);
  if (stream == nullptr) throw BadProgram("cannot read " + file.string());
  std::string text;
  std::array<char, 1 << 16> part{};
  int count = 0;
  while ((count = gzread(stream.get(), part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  if (count < 0) throw BadProgram("cannot unpack " + file.string());
  return text;
}

std::vector<Json> read_program_file(const std::filesystem::path& file) {
  return read_programs(unpacked_text(file));
}

std::vector<Disagreement> check_program(const Json& program) {
  std::vector<Disagreement> found;
  const Comparison comparison(program);
  Interpreter interpreter;
  int index = 0;
  for (const Json& call : program["calls"]) {
    std::vector<Disagreement> here;
    try {
      here = comparison.outcome(index, call, interpreter.step(call));
    } catch (const std::exception& error) {
      Json bare = call;
      bare.erase("expect");
      found.push_back(
          {program["name"], index, bare.dump(), "a call that the C++ side can run", error.what()});
      return found;
    }
    found.insert(found.end(), here.begin(), here.end());
    ++index;
  }
  const auto last = comparison.final(interpreter.finish());
  found.insert(found.end(), last.begin(), last.end());
  return found;
}

Json record_program(const Json& program) {
  Json record = program;
  Interpreter interpreter;
  for (Json& call : record["calls"]) {
    call.erase("expect");
    call["expect"] = interpreter.step(call);
  }
  record["final"] = interpreter.finish();
  return record;
}

}  // namespace towerflow::golden

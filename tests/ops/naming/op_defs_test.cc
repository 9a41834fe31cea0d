// The library's op definitions against those of TensorFlow 2.21, for ops that it has
// (golden/op_defs.txt, written by make_op_defs.py).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "core/graph/op_def.h"
#include "core/graph/widening.h"

using namespace towerflow;

namespace {

using Line = std::vector<std::string>;

/// Returns the lines of the file by op. Fields are separated by tabs.
std::map<std::string, Line> read_op_defs() {
  std::ifstream file("tests/ops/naming/golden/op_defs.txt");
  REQUIRE(file.good());
  std::map<std::string, Line> lines;
  for (std::string text; std::getline(file, text);) {
    std::istringstream stream(text);
    Line line;
    for (std::string field; std::getline(stream, field, '\t');) line.push_back(field);
    const std::string name = line.at(0);
    lines[name] = line;
  }
  return lines;
}

std::string arguments_text(const std::vector<ArgDef>& arguments) {
  std::vector<std::string> texts;
  for (const ArgDef& argument : arguments) texts.push_back(argument.text());
  return fmt::format("{}", fmt::join(texts, "; "));
}

/// Returns whether an attribute of TensorFlow's line follows from the signature. The library gives
/// these no default.
bool is_in_signature(const OpDef& op, const std::string& attribute) {
  const std::string name = attribute.substr(0, attribute.find(' '));
  return op.signature.has_attribute(name) && op.attrs.find(name) == nullptr;
}

/// Returns "name type default" of each attribute except internal ones. Attributes with a fixed
/// value have no default here if TensorFlow's have none.
std::vector<std::string> attributes_of(const OpDef& op, const Line& wanted) {
  std::vector<std::string> texts;
  for (const AttrDef& one : op.attrs.list()) {
    if (one.name.starts_with('_')) continue;
    const std::string given = fmt::format("{} {} -", one.name, one.type);
    const bool must = one.fixed && std::find(wanted.begin(), wanted.end(), given) != wanted.end();
    texts.push_back(!one.default_value || must ? given
                                               : fmt::format("{} {} {}", one.name, one.type,
                                                             attr_text(*one.default_value)));
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

}  // namespace

TEST_CASE("op definitions: every op of the library lists what it takes and gives") {
  for (const OpDef* op : OpRegistry::global().all()) {
    CAPTURE(op->name);
    CHECK((op->name == "NoOp" || op->name == "ControlTrigger" || !op->inputs.list().empty() ||
           !op->outputs.list().empty()));
    std::set<std::string> names;
    for (const ArgDef& argument : op->signature.inputs) CHECK(names.insert(argument.name).second);
  }
}

TEST_CASE("op definitions: arguments, results and attributes are TensorFlow's") {
  const std::map<std::string, Line> theirs = read_op_defs();
  std::size_t compared = 0, attributes = 0;
  for (const OpDef* op : OpRegistry::global().all()) {
    CAPTURE(op->name);
    const auto found = theirs.find(op->name);
    CHECK(found != theirs.end());
    if (found == theirs.end() || found->second.size() == 1) continue;
    Line line = found->second;
    line.resize(std::max<std::size_t>(line.size(), 3));
    CHECK(arguments_text(op->signature.inputs) == line[1]);
    CHECK(arguments_text(op->signature.outputs) == line[2]);
    Line wanted(line.begin() + 3, line.end());
    attributes += wanted.size();
    std::erase_if(wanted, [&](const std::string& one) { return is_in_signature(*op, one); });
    CHECK(attributes_of(*op, wanted) == wanted);
    ++compared;
  }
  CHECK(compared > 150);
  MESSAGE(compared, " ops and ", attributes, " attributes compared");
}

TEST_CASE("op definitions: the list of ops that TensorFlow was asked about") {
  std::string names;
  for (const OpDef* op : OpRegistry::global().all()) names += op->name + "\n";
  if (const char* path = std::getenv("TOWERFLOW_OPS_LIST")) std::ofstream(path) << names;
  std::ifstream file("tests/ops/naming/golden/ops.txt");
  std::stringstream listed;
  listed << file.rdbuf();
  CHECK(listed.str() == names);
}

TEST_CASE("op definitions: ops take float16 and bfloat16 where TensorFlow's do") {
  std::ifstream file("tests/ops/naming/golden/short_floats.txt");
  std::set<std::string> theirs;
  for (std::string name; std::getline(file, name);) theirs.insert(name);
  CHECK(theirs.size() > 150);
  // These move bytes, or find their dtype elsewhere.
  const std::set<std::string> moving{"DecodeRaw", "Where"};
  // TensorFlow takes all dtypes, has no such op, or takes float16 alone.
  const std::set<std::string> more{
      "Einsum",           "Equal",           "ListDiff",        "MatrixBandPart",
      "MirrorPadGrad",    "NotEqual",        "ProductOfOthers", "Qr",
      "ScatterNd",        "SparseApplyAdam", "SumToShape",      "TensorScatterAdd",
      "TensorScatterSub", "Unique",          "UniqueWithCounts"};
  for (const OpDef* op : OpRegistry::global().all()) {
    CAPTURE(op->name);
    const bool expected =
        (theirs.contains(op->name) && !moving.contains(op->name)) || more.contains(op->name);
    CHECK(takes_short_floats(*op) == expected);
  }
}

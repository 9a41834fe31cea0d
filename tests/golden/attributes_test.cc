// Compares the attributes of the programs' nodes with TensorFlow's (attributes.json.gz, written by
// record_attributes.py), and exports, parses and imports the same graphs.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <zlib.h>

#include <cstdio>

#include "core/graph/graph_def.h"
#include "tests/golden/interpreter.h"
#include "tests/golden/programs.h"
#include "tests/support/data_dir.h"
#include "tests/support/imported_nodes.h"

namespace {

using namespace towerflow;
using golden::Json;

std::filesystem::path golden_folder() { return test::source_root() / "tests/golden"; }

/// Returns an attribute in the form of record_attributes.py.
std::string recorded_text(const AttrValue& value) {
  const auto* array = value.get_if<Array>();
  if (array == nullptr) return attr_text(value);
  std::string bytes;
  if (array->dtype() == DType::string) {
    for (const std::string& text : array->flat<std::string>()) bytes += '\0' + text;
  } else {
    bytes.assign(static_cast<const char*>(array->raw()), array->bytes());
  }
  const auto crc =
      crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
  return fmt::format("{} {} {:08x}", dtype_name(array->dtype()), array->shape().text(), crc);
}

/// Builds a program without running it.
void build(golden::Interpreter& interpreter, const Json& program) {
  for (const Json& call : program["calls"]) {
    if (call["op"] != "run") interpreter.step(call);
  }
  interpreter.finish();
}

struct Counts {
  int nodes = 0, attributes = 0;
};

/// Returns whether a node is part of a gradient, where nodes may differ from TensorFlow's.
bool in_gradients(const std::string& name) {
  for (std::size_t at = 0; (at = name.find("gradients", at)) != std::string::npos; ++at) {
    const bool whole = at == 0 || name[at - 1] == '/';
    if (whole && name.find('/', at) != std::string::npos) return true;
  }
  return false;
}

/// Compares the nodes that both sides have under the same name.
void compare(const GraphDef& ours, const Json& theirs, Counts& counts) {
  for (const NodeDef& node : ours.node) {
    const auto found = theirs.find(node.name);
    if (found == theirs.end() || in_gradients(node.name)) continue;
    CHECK((*found)[0] == node.op);
    CAPTURE(node.name);
    const Json& wanted = (*found)[1];
    for (const auto& item : wanted.items()) {
      const std::string& name = item.key();
      const auto& text = item.value();
      CAPTURE(name);
      const auto value = node.attr.find(name);
      CHECK(value != node.attr.end());
      if (value != node.attr.end()) CHECK(recorded_text(value->second) == text);
      ++counts.attributes;
    }
    for (const auto& attr : node.attr) {
      const std::string& name = attr.first;
      if (name.starts_with('_')) continue;
      CAPTURE(name);
      CHECK(wanted.contains(name));
    }
    ++counts.nodes;
  }
}

void check_imported(const GraphDef& def) {
  Graph graph;
  const auto guard = graph.as_default();
  import_graph_def(GraphDef::FromString(def.SerializeToString()), {.name = ""});
  const GraphDef again = graph.as_graph_def({.add_shapes = true});
  const std::vector<NodeDef> wanted = testing::as_imported(def.node);
  REQUIRE(again.node.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CAPTURE(wanted[i].name);
    CHECK(again.node[i] == wanted[i]);
  }
}

}  // namespace

TEST_CASE("attributes: those of TensorFlow, of every node; a graph is made again of them") {
  Counts counts;
  const Json recorded = Json::parse(golden::unpacked_text(golden_folder() / "attributes.json.gz"));
  for (const auto& item : recorded.items()) {
    const std::string& file = item.key();
    const auto& programs = item.value();
    for (const Json& program :
         golden::read_program_file(golden_folder() / "programs" / (file + ".json"))) {
      const std::string name = program["name"];
      CAPTURE(file);
      CAPTURE(name);
      golden::Interpreter interpreter;
      build(interpreter, program);
      const GraphDef def = interpreter.graph().as_graph_def({.add_shapes = true});
      compare(def, programs.at(name), counts);
      check_imported(def);
    }
  }
  CHECK(counts.nodes > 5000);
  std::printf("attributes: %d nodes, %d attributes\n", counts.nodes, counts.attributes);
}

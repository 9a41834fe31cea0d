#include "tests/golden/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "tests/golden/describe.h"

namespace towerflow::golden {
namespace {

std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts(1);
  for (const char c : name) {
    if (c == '/') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// Removes a numeric suffix: "gradients" for "gradients_2".
std::string without_suffix(const std::string& part) {
  const std::size_t cut = part.rfind('_');
  if (cut == std::string::npos || cut + 1 == part.size()) return part;
  const bool digits = part.find_first_not_of("0123456789", cut + 1) == std::string::npos;
  return digits ? part.substr(0, cut) : part;
}

std::string shortened(const Json& json) {
  const std::string text = json.dump();
  return text.size() <= 1500 ? text : text.substr(0, 1500) + " ...";
}

/// Calls `visit` with the functions among the arguments of a call.
void for_each_function(const Json& form, const std::function<void(const Json&)>& visit) {
  if (form.is_object() && form.contains("function") && form["function"].is_object()) {
    visit(form["function"]);
  } else if (form.is_structured()) {
    for (const Json& part : form) for_each_function(part, visit);
  }
}

/// Removes the bodies of functions from a call, for messages.
void hide_functions(Json& form) {
  if (form.is_object() && form.contains("function") && form["function"].is_object()) {
    form["function"] = "...";
  } else if (form.is_structured()) {
    for (Json& part : form) hide_functions(part);
  }
}

bool calls_functions(const Json& args) {
  bool found = false;
  for_each_function(args, [&](const Json&) { found = true; });
  return found;
}

constexpr const char* kInner = "(inner)";  // replaces names that may differ from TensorFlow's

/// Returns whether values are equal; for kInner any name matches.
bool matches_golden(const Json& expected, const Json& got) {
  if (expected == kInner) return got.is_string();
  if (expected.is_structured() && expected.type() == got.type()) {
    if (expected.size() != got.size()) return false;
    if (expected.is_array()) {
      return std::equal(expected.begin(), expected.end(), got.begin(), matches_golden);
    }
    for (const auto& [key, part] : expected.items()) {
      if (!got.contains(key) || !matches_golden(part, got[key])) return false;
    }
    return true;
  }
  return expected == got;
}

/// Returns the first nodes that differ.
std::optional<std::pair<Json, Json>> differing_nodes(const Json& expected, const Json& got) {
  for (std::size_t i = 0; i < std::max(expected.size(), got.size()); ++i) {
    const Json there = i < expected.size() ? expected[i] : Json("no more nodes");
    const Json here = i < got.size() ? got[i] : Json("no more nodes");
    if (!matches_golden(there, here)) return std::pair(there, here);
  }
  return std::nullopt;
}

}  // namespace

std::string Disagreement::message() const {
  return fmt::format("program {}, {}: {}\n  expected {}\n  got      {}", program,
                     call < 0 ? "at its end" : fmt::format("call {}", call), text, expected, got);
}

Comparison::Comparison(const Json& program) : program_(program) {
  gradients_.insert("gradients");
  for (const Json& scope : program.value("inner", Json::array())) gradients_.insert(scope);
  for (const Json& call : program["calls"]) {
    add_names(call);
    for (const Json& node : call.value("expect", Json::object()).value("nodes", Json::array())) {
      const std::string name = node["name"];
      if (node["op"] == "VariableV2") variables_.insert(name);
    }
  }
}

void Comparison::add_names(const Json& call) {
  const std::string op = call["op"];
  const Json args = call.value("args", Json::object());
  const bool named = args.contains("name") && args["name"].is_string();
  if (op == "gradients" && named) gradients_.insert(args["name"]);
  if (op.ends_with("Optimizer")) {  // its name is that of the class, without the suffix
    optimizers_.insert(op.substr(0, op.size() - std::string_view("Optimizer").size()));
  }
  const bool applies = op == "apply_gradients" || op == "minimize" || op.ends_with("Optimizer");
  if (applies && named) optimizers_.insert(args["name"]);
  for_each_function(args, [&](const Json& function) {
    for (const Json& inner : function["calls"]) add_names(inner);
  });
}

bool Comparison::is_inner(const std::string& node) const {
  const std::vector<std::string> parts = parts_of(node);
  std::string before;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const std::string plain = without_suffix(parts[i]);
    if (gradients_.contains(parts[i]) || gradients_.contains(plain)) return true;
    // `conv1/weights/Momentum/read` is part of a slot, `Momentum/update` of an optimizer.
    const bool optimizer = optimizers_.contains(parts[i]) || optimizers_.contains(plain);
    if (optimizer && !variables_.contains(before)) return true;
    before += (before.empty() ? "" : "/") + parts[i];
  }
  return false;
}

Json Comparison::visible_name(const std::string& name) const {
  const std::string node = name.substr(0, name.rfind(':'));
  return is_inner(node) && !variables_.contains(node) ? Json(kInner) : Json(name);
}

Json Comparison::visible_result(const Json& result) const {
  if (result.is_array()) {
    Json items = Json::array();
    for (const Json& item : result) items.push_back(visible_result(item));
    return items;
  }
  if (!result.is_object()) return result;
  if (result.contains("object")) return {{"object", true}};
  if (result.contains("tensor")) return {{"tensor", visible_name(result["tensor"])}};
  if (result.contains("operation")) return {{"operation", visible_name(result["operation"])}};
  if (result.contains("indexed_slices")) {
    Json names = Json::array();
    for (const Json& name : result["indexed_slices"]) names.push_back(visible_name(name));
    return {{"indexed_slices", names}};
  }
  if (result.contains("dict")) {
    Json items = Json::object();
    for (const auto& [key, item] : result["dict"].items()) items[key] = visible_result(item);
    return {{"dict", items}};
  }
  return result;
}

Json Comparison::visible_node(const Json& node) const {
  Json visible = node;
  const std::string op = node["op"];
  const bool has_outputs = node.contains("outputs") && !node["outputs"].empty();
  if (has_outputs && (op == "_Dataset" || node["outputs"][0][0] == "variant")) {
    visible["op"] = "Dataset";
    visible.erase("inputs");
    visible.erase("outputs");
  }
  if (op == "_OneShotIterator" || op == "_MakeIterator") visible["op"] = op.substr(1);
  if (op.ends_with("OneShotIterator") || op.ends_with("MakeIterator")) visible.erase("inputs");
  if (op == "FusedBatchNormV3") visible["outputs"].erase(5);
  if (visible.contains("inputs")) {
    for (Json& input : visible["inputs"]) input = visible_name(input);
  }
  for (const char* set : {"control_inputs", "colocated"}) {
    if (!visible.contains(set)) continue;
    std::set<std::string> names;
    for (const Json& name : visible[set]) {
      const Json seen = visible_name(name);
      if (seen != kInner) names.insert(seen);
    }
    visible[set] = names;
    if (names.empty()) visible.erase(set);
  }
  return visible;
}

Json Comparison::visible_nodes(const Json& outcome) const {
  Json nodes = Json::array();
  for (const Json& node : outcome.value("nodes", Json::array())) {
    const std::string name = node["name"];
    if (!is_inner(name)) {
      nodes.push_back(visible_node(node));
    } else if (node["op"] == "VariableV2") {
      nodes.push_back({{"name", name}, {"op", node["op"]}, {"outputs", node["outputs"]}});
    }
  }
  // A node that brings a tensor into a branch or loop precedes its reader here, and follows it in
  // TensorFlow.
  const auto brings = [](const Json& node) {
    const std::string op = node["op"];
    return op == "Switch" || op == "RefSwitch" || op == "Enter" || op == "RefEnter";
  };
  std::stable_sort(nodes.begin(), nodes.end(), [&](const Json& a, const Json& b) {
    if (brings(a) != brings(b)) return brings(b);
    return brings(a) && a["name"] < b["name"];
  });
  return nodes;
}

std::string Comparison::first_difference(const Json& theirs, const Json& ours) const {
  const auto nodes = differing_nodes(visible_nodes(theirs), visible_nodes(ours));
  if (!nodes) return "";
  return fmt::format("expected {}\n  got      {}", nodes->first.dump(), nodes->second.dump());
}

std::vector<Disagreement> Comparison::outcome(int index, const Json& call, const Json& ours) const {
  std::vector<Disagreement> found;
  const Json& theirs = call["expect"];
  Json bare = call;
  bare.erase("expect");
  hide_functions(bare);
  const auto report = [&](const std::string& expected, const std::string& got) {
    found.push_back({program_["name"], index, shortened(bare), expected, got});
  };
  const auto kind = [](const Json& outcome) -> std::string {
    if (outcome.contains("skipped")) return "skipped";
    return outcome.contains("error") ? outcome["error"].get<std::string>() : "success";
  };
  const bool both_reject = kind(ours) == kDoesNotCompile && theirs.contains("error");
  if (kind(ours) != kind(theirs) && !both_reject) {
    report(
        kind(theirs),
        kind(ours) + (ours.contains("message") ? ": " + ours["message"].get<std::string>() : ""));
    if (ours.contains("error")) return found;
  }
  const bool sorted = calls_functions(call.value("args", Json::object()));
  const auto seen = [&](const Json& outcome) {
    Json list = visible_nodes(outcome);
    if (sorted) {
      std::sort(list.begin(), list.end(),
                [](const Json& a, const Json& b) { return a["name"] < b["name"]; });
    }
    return list;
  };
  const auto nodes = differing_nodes(seen(theirs), seen(ours));
  if (nodes) report(shortened(nodes->first), shortened(nodes->second));
  if (theirs.contains("values") && ours.contains("values")) {
    const std::string mode = call["args"].value("compare", "close");
    for (std::size_t i = 0; i < theirs["values"].size(); ++i) {
      const std::string wrong = compare_arrays(theirs["values"][i], ours["values"][i], mode);
      if (wrong.empty()) continue;
      report(fmt::format("value {}: {}", i, shortened(theirs["values"][i])),
             wrong + ": " + shortened(ours["values"][i]));
    }
  } else {
    const Json result = visible_result(theirs.value("result", Json()));
    const Json our_result = visible_result(ours.value("result", Json()));
    if (!matches_golden(result, our_result)) report(shortened(result), shortened(our_result));
  }
  return found;
}

std::vector<Disagreement> Comparison::final(const Json& ours) const {
  std::vector<Disagreement> found;
  const Json& theirs = program_["final"];
  for (const char* part : {"collections", "listings"}) {
    std::set<std::string> keys;
    for (const Json* side : {&theirs, &ours}) {
      for (const auto& [key, members] : (*side)[part].items()) keys.insert(key);
    }
    for (const std::string& key : keys) {
      const auto members = [&](const Json& side) {
        Json list = side[part].value(key, Json::array());
        for (Json& member : list) {
          if (member.is_object() && member.contains("object")) member.erase("object");
        }
        return list;
      };
      const Json expected = members(theirs), got = members(ours);
      if (expected == got) continue;
      found.push_back({program_["name"], -1, fmt::format("{} {}", part, key), shortened(expected),
                       shortened(got)});
    }
  }
  return found;
}

}  // namespace towerflow::golden

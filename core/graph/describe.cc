#include "core/graph/describe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/graph/graph.h"
#include "core/graph/nearest.h"
#include "core/graph/op_def.h"

namespace towerflow {
namespace {

std::string parent_of(const std::string& name) {
  const auto slash = name.rfind('/');
  return slash == std::string::npos ? "" : name.substr(0, slash);
}

std::string leaf_of(const std::string& name) { return name.substr(name.rfind('/') + 1); }

bool is_in_scope(const std::string& name, const std::string& scope) {
  return scope.empty() || name.starts_with(scope + "/");
}

std::string without_slash(std::string scope) {
  if (scope.ends_with('/')) scope.pop_back();
  return scope;
}

/// Returns the collection keys by name of operation, without the index of tensors and variables.
std::map<std::string, std::vector<std::string>> collection_keys_by_op(const Graph& graph) {
  std::map<std::string, std::vector<std::string>> found;
  for (const std::string& key : graph.collections().keys()) {
    for (const CollectionItem& item : graph.collections().all(key)) {
      if (!item.name) continue;
      auto& keys = found[item.name->substr(0, item.name->find(':'))];
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  return found;
}

std::string line_of(const OpDescription& op) {
  std::string line = fmt::format("{}  {}", leaf_of(op.name), op.type);
  if (!op.outputs.empty()) line += "  " + fmt::format("{}", fmt::join(op.outputs, ", "));
  if (!op.device.empty()) line += "  on " + op.device;
  if (!op.variable_scope.empty()) line += "  variable scope " + op.variable_scope;
  if (!op.collections.empty()) {
    line += fmt::format("  in {}", fmt::join(op.collections, ", "));
  }
  if (op.site.known()) line += "  made at " + op.site.text();
  if (op.first_reuse) line += "  first reused at " + op.first_reuse->text();
  return line;
}

std::string dot_quoted(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    if (c == '\n')
      escaped += "\\n";
    else
      escaped += c;
  }
  return '"' + escaped + '"';
}

/// Returns a colour for each device, in the order of device names; white for none.
std::map<std::string, std::string> colours(const std::vector<const OpDescription*>& ops) {
  static const char* const kPalette[] = {"#cfe2f3", "#d9ead3", "#fce5cd", "#ead1dc",
                                         "#fff2cc", "#d9d2e9", "#d0e0e3", "#f4cccc"};
  std::map<std::string, std::string> colours;
  for (const OpDescription* op : ops) colours[op->device];
  std::size_t next = 0;
  for (auto& [device, colour] : colours) {
    colour = device.empty() ? "white" : kPalette[next++ % std::size(kPalette)];
  }
  return colours;
}

std::string strip_scope(const std::string& name, const std::string& scope) {
  return is_in_scope(name, scope) && !scope.empty() ? name.substr(scope.size() + 1) : name;
}

std::vector<std::string> strip_scopes(const std::vector<std::string>& names,
                                      const std::string& scope) {
  std::vector<std::string> result;
  for (const std::string& name : names) result.push_back(strip_scope(name, scope));
  return result;
}

}  // namespace

GraphDescription::GraphDescription(const Graph& graph) {
  const auto listings = collection_keys_by_op(graph);
  for (const Operation& operation : graph.get_operations()) {
    const Node& node = operation.node();
    OpDescription op{.name = node.name,
                     .type = node.op->name,
                     .name_scope = parent_of(node.name),
                     .variable_scope = node.variable_scope == nullptr ? "" : *node.variable_scope,
                     .device = node.device,
                     .role = node.role,
                     .site = node.site,
                     .first_reuse = graph.first_reuse(node)};
    for (const OutputSpec& output : node.outputs) {
      op.outputs.push_back(fmt::format("{}{} {}", dtype_name(output.dtype),
                                       output.is_ref ? "_ref" : "", output.shape.text()));
    }
    for (const Tensor& input : node.inputs) op.inputs.push_back(input.name());
    for (const Node* control : node.control_inputs) op.controls.push_back(control->name);
    if (const auto found = listings.find(node.name); found != listings.end()) {
      op.collections = found->second;
    }
    ops_.push_back(std::move(op));
  }
}

const OpDescription& GraphDescription::op(const std::string& name, Site site) const {
  std::vector<std::string> names;
  for (const OpDescription& op : ops_) {
    if (op.name == name) return op;
    names.push_back(op.name);
  }
  throw KeyError(fmt::format("The name '{}' refers to an Operation not in the graph.", name),
                 {.site = site, .hint = nearest_hint(name, names)});
}

std::string GraphDescription::tree(const std::string& scope) const {
  const std::string top = without_slash(scope);
  // Scopes in the order in which they first appear, each with its own operations before its inner
  // scopes: an operation and the scope of its helpers often share a name.
  struct Scope {
    std::vector<const OpDescription*> ops;
    std::vector<std::string> inner;
  };
  std::map<std::string, Scope> scopes;
  std::set<std::string> met;
  for (const OpDescription& op : ops_) {
    if (!is_in_scope(op.name, top)) continue;
    scopes[op.name_scope].ops.push_back(&op);
    for (std::string at = op.name_scope; at != top; at = parent_of(at)) {
      if (!met.insert(at).second) break;
      scopes[parent_of(at)].inner.push_back(at);
    }
  }
  std::string text;
  const auto print = [&](const auto& self, const std::string& at, std::size_t depth) -> void {
    for (const OpDescription* op : scopes[at].ops) {
      text += std::string(2 * depth, ' ') + line_of(*op) + "\n";
    }
    for (const std::string& inner : scopes[at].inner) {
      text += std::string(2 * depth, ' ') + leaf_of(inner) + "/\n";
      self(self, inner, depth + 1);
    }
  };
  if (!top.empty()) text += top + "/\n";
  print(print, top, top.empty() ? 0 : 1);
  return text;
}

std::string GraphDescription::dot(const std::string& scope) const {
  const std::string top = without_slash(scope);
  std::vector<const OpDescription*> shown;
  std::set<std::string> names;
  std::map<std::string, std::vector<const OpDescription*>> by_scope;
  std::map<std::string, std::set<std::string>> inner;
  for (const OpDescription& op : ops_) {
    if (!is_in_scope(op.name, top)) continue;
    shown.push_back(&op);
    names.insert(op.name);
    by_scope[op.name_scope].push_back(&op);
    for (std::string at = op.name_scope; at != top; at = parent_of(at)) {
      inner[parent_of(at)].insert(at);
    }
  }
  const auto colour = colours(shown);
  std::string text = "digraph towerflow {\n  rankdir=BT;\n  node [shape=box, style=filled];\n";
  const auto print = [&](const auto& self, const std::string& at) -> void {
    for (const OpDescription* op : by_scope[at]) {
      text += fmt::format("  {} [label={}, fillcolor=\"{}\", tooltip={}];\n", dot_quoted(op->name),
                          dot_quoted(leaf_of(op->name) + "\n" + op->type), colour.at(op->device),
                          dot_quoted(line_of(*op)));
    }
    for (const std::string& scope_inside : inner[at]) {
      text += fmt::format("  subgraph {} {{\n  label={};\n", dot_quoted("cluster_" + scope_inside),
                          dot_quoted(leaf_of(scope_inside) + "/"));
      self(self, scope_inside);
      text += "  }\n";
    }
  };
  print(print, top);
  for (const OpDescription* op : shown) {
    for (const std::string& input : op->inputs) {
      const std::string from = input.substr(0, input.rfind(':'));
      if (names.contains(from))
        text += fmt::format("  {} -> {};\n", dot_quoted(from), dot_quoted(op->name));
    }
    for (const std::string& from : op->controls) {
      if (names.contains(from)) {
        text += fmt::format("  {} -> {} [style=dashed];\n", dot_quoted(from), dot_quoted(op->name));
      }
    }
  }
  return text + "}\n";
}

ScopeDifference GraphDescription::difference(const std::string& a, const std::string& b,
                                             Site site) const {
  ScopeDifference result{.a = without_slash(a), .b = without_slash(b)};
  std::map<std::string, const OpDescription*> in_a, in_b;
  std::set<std::string> scopes;
  for (const OpDescription& op : ops_) {
    scopes.insert(op.name.substr(0, op.name.find('/')));
    const bool a_holds = is_in_scope(op.name, result.a), b_holds = is_in_scope(op.name, result.b);
    if (op.role != NodeRole::program) {
      result.left_out += a_holds || b_holds ? 1 : 0;
      continue;
    }
    if (a_holds) in_a.emplace(strip_scope(op.name, result.a), &op);
    if (b_holds) in_b.emplace(strip_scope(op.name, result.b), &op);
  }
  for (const auto& [scope, ops] : {std::pair(&result.a, &in_a), std::pair(&result.b, &in_b)}) {
    if (!ops->empty() && !scope->empty()) continue;
    throw ValueError(
        fmt::format("there is no operation in the name scope '{}'", *scope),
        {.site = site,
         .hint = nearest_hint(*scope, std::vector<std::string>(scopes.begin(), scopes.end()))});
  }
  std::vector<ScopeDifference::Changed> changed;
  std::map<std::string, std::size_t> how_often;
  const auto compare = [&](const std::string& name, const char* what, const std::string& of_a,
                           const std::string& of_b) {
    if (of_a == of_b) return;
    const auto shown = [](const std::string& text) { return text.empty() ? "none" : text; };
    changed.push_back({name, fmt::format("{}: {} against {}", what, shown(of_a), shown(of_b))});
    ++how_often[changed.back().what];
  };
  for (const auto& [name, op] : in_a) {
    const auto twin = in_b.find(name);
    if (twin == in_b.end()) {
      result.only_a.push_back(name);
      continue;
    }
    ++result.in_both;
    const OpDescription& other = *twin->second;
    const auto list = [](const std::vector<std::string>& items) {
      return fmt::format("{}", fmt::join(items, ", "));
    };
    compare(name, "type", op->type, other.type);
    compare(name, "device", op->device, other.device);
    compare(name, "variable scope", op->variable_scope, other.variable_scope);
    compare(name, "outputs", list(op->outputs), list(other.outputs));
    compare(name, "inputs", list(strip_scopes(op->inputs, result.a)),
            list(strip_scopes(other.inputs, result.b)));
    compare(name, "control inputs", list(strip_scopes(op->controls, result.a)),
            list(strip_scopes(other.controls, result.b)));
    compare(name, "collections", list(op->collections), list(other.collections));
  }
  for (const auto& [name, op] : in_b) {
    if (!in_a.contains(name)) result.only_b.push_back(name);
  }
  // A device difference of most operations is reported only once: towers differ in it by design.
  for (const auto& [what, count] : how_often) {
    if (what.starts_with("device: ") && count > 1 && 2 * count > result.in_both) {
      result.common_device_changes.push_back(what);
    }
  }
  for (auto& one : changed) {
    const auto& all = result.common_device_changes;
    if (std::find(all.begin(), all.end(), one.what) == all.end()) {
      result.changed.push_back(std::move(one));
    }
  }
  return result;
}

bool ScopeDifference::same_structure() const {
  return only_a.empty() && only_b.empty() && changed.empty();
}

std::string ScopeDifference::text() const {
  std::string text = fmt::format("'{}' against '{}': {} operations in both", a, b, in_both);
  if (same_structure()) text += ", which are the same";
  if (left_out > 0) text += fmt::format("; {} of gradients and updates left out", left_out);
  text += "\n";
  for (const std::string& what : common_device_changes) text += fmt::format("  most: {}\n", what);
  for (const std::string& name : only_a) text += fmt::format("  only in '{}': {}\n", a, name);
  for (const std::string& name : only_b) text += fmt::format("  only in '{}': {}\n", b, name);
  for (const Changed& one : changed) text += fmt::format("  {}: {}\n", one.name, one.what);
  return text;
}

}  // namespace towerflow

#include "core/graph/node_attrs.h"

#include <fmt/format.h>

#include "core/graph/error.h"

namespace towerflow {
namespace {

[[noreturn]] void throw_unlisted(const OpDef& op, const std::string& node, const char* what) {
  throw errors::UnimplementedError(
      fmt::format("op '{}' does not list its {}", op.name, what),
      {.node = node, .op = op.name, .hint = "`inputs`, `outputs` and `attrs` of its OpDef do"});
}

std::vector<OutputSpec> specs_of(std::span<const Tensor> tensors) {
  std::vector<OutputSpec> specs;
  for (const Tensor& tensor : tensors) {
    specs.push_back({tensor.dtype(), tensor.shape(), tensor.is_ref()});
  }
  return specs;
}

/// Returns what the node has and its op's definition does not list, such as "attributes"; nullptr
/// if the definition is complete.
const char* missing_from_op_def(const Node& node) {
  const OpDef& op = *node.op;
  if (!node.inputs.empty() && op.signature.inputs.empty()) return "arguments";
  if (!node.outputs.empty() && op.signature.outputs.empty()) return "results";
  if (!node.attrs.empty() && !op.attrs.has_struct()) return "attributes";
  return nullptr;
}

/// Returns the value unchanged, but gives an empty list, whose element type a file does not record,
/// the type that the op declares.
AttrValue with_list_type(const OpDef& op, const AttrDef* listed, const std::string& name,
                         const AttrValue& value) {
  if (!value.is_empty_list()) return value;
  if (listed != nullptr && listed->fixed && listed->default_value->is_empty_list()) {
    return *listed->default_value;
  }
  for (const auto* arguments : {&op.signature.inputs, &op.signature.outputs}) {
    for (const ArgDef& argument : *arguments) {
      if (argument.type_list_attr == name) return std::vector<DType>();
    }
  }
  return value;
}

/// Throws ValueError for a number of results that is negative or huge, which a small file may
/// contain.
void check_results(const OpDef& op, const AttrMap& known) {
  constexpr std::int64_t kMaxResults = std::int64_t{1} << 20;
  for (const ArgDef& result : op.signature.outputs) {
    const auto at = known.find(result.number_attr);
    const auto* number = at == known.end() ? nullptr : at->second.get_if<std::int64_t>();
    if (number == nullptr || (*number >= 0 && *number <= kMaxResults)) continue;
    throw ValueError(
        fmt::format("attribute '{}' of op '{}' cannot be {}: it is a number of results",
                    result.number_attr, op.name, *number));
  }
}

}  // namespace

bool lists_attributes(const Node& node) { return missing_from_op_def(node) == nullptr; }

AttrMap node_attributes(const Node& node) {
  const OpDef& op = *node.op;
  if (const char* what = missing_from_op_def(node)) throw_unlisted(op, node.name, what);
  AttrMap values;
  node.attrs.for_each([&](const char* field, AttrValue value) {
    if (const AttrDef* listed = op.attrs.find_field(field)) {
      values.emplace(listed->name, std::move(value));
    }
  });
  for (const AttrDef& listed : op.attrs.list()) {
    if (listed.fixed) values.emplace(listed.name, *listed.default_value);
  }
  try {
    match_arguments(op.signature.inputs, specs_of(node.inputs), values);
    match_arguments(op.signature.outputs, node.outputs, values);
  } catch (const ValueError& error) {  // the op lists arguments other than it takes
    throw ValueError(error.message(), {.site = node.site, .node = node.name, .op = op.name});
  }
  return values;
}

Attrs parse_attributes(const OpDef& op, const AttrMap& values, const std::string& node,
                       std::span<const Tensor> inputs) {
  AttrMap known;
  for (const auto& [name, given] : values) {
    const AttrDef* listed = op.attrs.find(name);
    const AttrValue value = with_list_type(op, listed, name, given);
    if (listed != nullptr && listed->fixed && value != *listed->default_value) {
      throw errors::UnimplementedError(
          fmt::format("attribute '{}' of op '{}' is {}, but the library supports only {}", name,
                      op.name, attr_text(value), attr_text(*listed->default_value)),
          {.node = node, .op = op.name});
    }
    if (listed == nullptr && !op.signature.has_attribute(name)) {
      if (name.starts_with('_')) continue;
      throw ValueError(fmt::format("op '{}' has no attribute '{}'", op.name, name),
                       {.node = node, .op = op.name});
    }
    known.emplace(name, value);
  }
  if (!inputs.empty() && op.signature.inputs.empty() && op.signature.outputs.empty()) {
    throw_unlisted(op, node, "arguments");
  }
  match_arguments(op.signature.inputs, specs_of(inputs), known);
  check_results(op, known);
  return op.attrs.make(op.name, known, node, inputs);
}

}  // namespace towerflow

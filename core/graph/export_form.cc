#include "core/graph/export_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "core/graph/error.h"

namespace towerflow {

FormTensor FormWriter::input(std::size_t index) const {
  const Tensor& tensor = node_.inputs.at(index);
  return {fmt::format("%{}", index), {tensor.dtype(), Shape::unknown(), tensor.is_ref()}};
}

FormTensor FormWriter::input(std::string_view argument) const {
  const std::vector<ArgDef>& listed = node_.op->signature.inputs;
  const auto at = std::find_if(listed.begin(), listed.end(),
                               [&](const ArgDef& one) { return one.name == argument; });
  return input(static_cast<std::size_t>(at - listed.begin()));
}

std::vector<FormTensor> FormWriter::write(const std::string& op, const OpSignature& signature,
                                          const std::vector<FormTensor>& inputs, AttrMap attrs,
                                          const std::vector<FormTensor>& after) {
  std::vector<OutputSpec> specs;
  for (const FormTensor& one : inputs) specs.push_back(one.spec);
  match_arguments(signature.inputs, specs, attrs);
  const auto has_op = [&](const NodeDef& one) { return one.op == op; };
  const auto before = std::count_if(nodes_.begin(), nodes_.end(), has_op);
  NodeDef& made = nodes_.emplace_back();
  made.op = op;
  made.name = before == 0 ? op : fmt::format("{}_{}", op, before);
  for (const FormTensor& one : inputs) made.input.push_back(one.name);
  for (const FormTensor& one : after) made.input.push_back("^" + one.name);
  made.attr = std::move(attrs);
  std::vector<FormTensor> results;
  for (const ArgDef& result : signature.outputs) {
    OutputSpec spec{result.dtype, Shape::unknown(), result.is_ref};
    if (!result.type_attr.empty()) spec.dtype = *made.attr.at(result.type_attr).get_if<DType>();
    results.push_back(
        {results.empty() ? made.name : fmt::format("{}:{}", made.name, results.size()),
         std::move(spec)});
  }
  num_results_ = results.size();
  return results;
}

FormTensor FormWriter::add(const std::string& op, const std::vector<FormTensor>& inputs,
                           AttrMap attrs, const std::vector<FormTensor>& after) {
  const OpDef& def = OpRegistry::global().get(op);
  for (const AttrDef& one : def.attrs.list()) {
    const bool wanted = one.default_value && !one.name.starts_with('_');
    if (wanted) attrs.emplace(one.name, *one.default_value);
  }
  return write(op, def.signature, inputs, std::move(attrs), after).at(0);
}

std::vector<FormTensor> FormWriter::add_foreign(const std::string& op, const ArgTexts& arguments,
                                                const ArgTexts& results,
                                                const std::vector<FormTensor>& inputs) {
  OpSignature signature;
  for (const std::string& text : arguments.list()) {
    signature.inputs.push_back(parse_argument(op, text));
  }
  for (const std::string& text : results.list()) {
    signature.outputs.push_back(parse_argument(op, text));
  }
  return write(op, signature, inputs, {}, {});
}

FormTensor FormWriter::constant(Array value) {
  const DType dtype = value.dtype();
  return add("Const", {}, {{"dtype", dtype}, {"value", std::move(value)}});
}

std::vector<NodeDef> FormWriter::take() {
  nodes_.back().name.clear();
  return std::move(nodes_);
}

namespace {

// Attributes of the last node of a form, besides each attribute of the node it stands for.
constexpr const char* kOriginalOp = "_original_op";
// Where the form reads each input: "Sum:0", or ":1" in the last node.
constexpr const char* kOriginalInputs = "_original_inputs";
constexpr const char* kOriginalParts = "_original_parts";  // the other nodes: "Sum"
constexpr std::string_view kOriginalAttr = "_original_attr_";

bool is_data(const std::string& input) { return !input.starts_with('^'); }

/// Returns the node of an input: "Sum" for "Sum:1" and "^Sum".
std::string node_of(const std::string& input) {
  const std::string name = is_data(input) ? input : input.substr(1);
  return name.substr(0, name.rfind(':'));
}

/// Returns a part under the names of the graph.
NodeDef renamed_part(NodeDef part, const NodeDef& whole,
                     const std::map<std::string, std::string>& names) {
  part.name = names.at(part.name);
  for (std::string& input : part.input) {
    if (input.starts_with('%')) {
      input = whole.input.at(static_cast<std::size_t>(std::stoul(input.substr(1))));
      continue;
    }
    const std::string local = node_of(input);
    const std::string behind = is_data(input) ? input.substr(local.size()) : "";
    input = (is_data(input) ? "" : "^") + names.at(local) + behind;
  }
  for (const std::string& input : whole.input) {
    if (!is_data(input)) part.input.push_back(input);
  }
  part.device = whole.device;
  const auto beside = whole.attr.find("_class");
  if (beside != whole.attr.end()) part.attr.insert(*beside);
  return part;
}

/// Returns where the form reads each input of the node: "Sum:0".
std::vector<std::string> input_places(const std::vector<NodeDef>& parts, const Node& node) {
  std::vector<std::string> places(node.inputs.size());
  for (const NodeDef& part : parts) {
    for (std::size_t k = 0; k < part.input.size(); ++k) {
      if (!part.input[k].starts_with('%')) continue;
      std::string& place = places.at(std::stoul(part.input[k].substr(1)));
      if (place.empty()) place = fmt::format("{}:{}", part.name, k);
    }
  }
  const auto unread = std::find(places.begin(), places.end(), "");
  if (unread == places.end()) return places;
  throw errors::InternalError(
      fmt::format("the form of op '{}' reads no input {}", node.op->name, unread - places.begin()),
      {.node = node.name, .op = node.op->name});
}

}  // namespace

std::vector<NodeDef> write_form(const Node& node, const NodeDef& whole,
                                const std::function<bool(const std::string&)>& is_taken) {
  FormWriter writer(node);
  node.op->export_form(writer);
  std::vector<NodeDef> parts = writer.take();
  std::map<std::string, std::string> names{{"", node.name}};
  for (NodeDef& part : parts) {
    if (part.name.empty()) continue;
    std::string full = node.name + "/" + part.name;
    for (int i = 1; is_taken(full); ++i) full = fmt::format("{}/{}_{}", node.name, part.name, i);
    names[part.name] = full;
  }
  const std::vector<std::string> places = input_places(parts, node);
  std::vector<std::string> inputs, inner;
  const auto local = [&](const std::string& part) {  // its name relative to the node's
    return part.empty() ? part : names.at(part).substr(node.name.size() + 1);
  };
  for (const std::string& place : places) {
    const std::size_t colon = place.rfind(':');
    inputs.push_back(local(place.substr(0, colon)) + place.substr(colon));
  }
  for (NodeDef& part : parts) {
    if (!part.name.empty()) inner.push_back(local(part.name));
    part = renamed_part(std::move(part), whole, names);
  }
  AttrMap& attributes = parts.back().attr;
  attributes[kOriginalOp] = node.op->name;
  attributes[kOriginalInputs] = std::move(inputs);
  attributes[kOriginalParts] = std::move(inner);
  for (const auto& [name, value] : whole.attr) {
    if (name.starts_with('_'))
      attributes.emplace(name, value);
    else
      attributes.emplace(std::string(kOriginalAttr) + name, value);
  }
  const auto shapes = attributes.find("_output_shapes");
  if (shapes != attributes.end()) {  // TensorFlow requires one per result
    shapes->second.get_if<std::vector<Shape>>()->resize(writer.num_results(), Shape::unknown());
  }
  return parts;
}

namespace {

/// A form found in a GraphDef.
struct ParsedForm {
  NodeDef whole;                   // the node that replaces it
  std::vector<std::string> parts;  // full names of its other nodes
};

class FormReader {
 public:
  explicit FormReader(const GraphDef& def) : def_(def) {
    for (const NodeDef& node : def.node) nodes_.emplace(node.name, &node);
  }

  std::optional<GraphDef> read(const std::set<std::string>& kept) {
    for (const NodeDef& node : def_.node) {
      if (auto form = form_of(node)) add(node.name, *std::move(form));
    }
    if (forms_.empty()) return std::nullopt;
    for (const std::string& name : kept) release_if_read_outside(name, "");
    for (const NodeDef& node : def_.node) {
      for (const std::string& input : node.input)
        release_if_read_outside(node_of(input), node.name);
      if (const auto* groups = list_at(node, "_class")) {
        for (const std::string& group : *groups) {
          if (group.starts_with("loc:@")) release_if_read_outside(group.substr(5), node.name);
        }
      }
    }
    GraphDef made;
    for (const NodeDef& node : def_.node) {
      const auto form = forms_.find(node.name);
      if (form != forms_.end())
        made.node.push_back(std::move(form->second.whole));
      else if (!owners_.contains(node.name))
        made.node.push_back(node);
    }
    return made;
  }

 private:
  static const std::vector<std::string>* list_at(const NodeDef& node, const char* name) {
    const auto at = node.attr.find(name);
    return at == node.attr.end() ? nullptr : at->second.get_if<std::vector<std::string>>();
  }

  const NodeDef* part(const NodeDef& last, const std::string& name) const {
    const auto at = nodes_.find(name.empty() ? last.name : last.name + "/" + name);
    return at == nodes_.end() ? nullptr : at->second;
  }

  /// Returns the input at "Sum:0", nullptr if there is none.
  const std::string* input_at(const NodeDef& last, const std::string& place) const {
    const std::size_t colon = place.rfind(':');
    if (colon == std::string::npos) return nullptr;
    const NodeDef* node = part(last, place.substr(0, colon));
    std::size_t index = 0;
    const char* const end = place.data() + place.size();
    const auto [at, error] = std::from_chars(place.data() + colon + 1, end, index);
    if (node == nullptr || error != std::errc() || at != end) return nullptr;
    return index < node->input.size() && is_data(node->input[index]) ? &node->input[index]
                                                                     : nullptr;
  }

  /// Returns the form that ends with `last`; nullopt if it ends none, or if its attributes are
  /// invalid.
  std::optional<ParsedForm> form_of(const NodeDef& last) const {
    const auto named = last.attr.find(kOriginalOp);
    const auto* name = named == last.attr.end() ? nullptr : named->second.get_if<std::string>();
    const OpDef* op = name == nullptr ? nullptr : OpRegistry::global().find(*name);
    const auto *places = list_at(last, kOriginalInputs), *parts = list_at(last, kOriginalParts);
    if (op == nullptr || op->export_form == nullptr || places == nullptr || parts == nullptr) {
      return std::nullopt;
    }
    ParsedForm form{{last.name, op->name, {}, last.device, {}}, {}};
    std::set<std::string> inner;
    for (const std::string& one : *parts) {
      const NodeDef* node = one.empty() ? nullptr : part(last, one);
      if (node == nullptr) return std::nullopt;
      form.parts.push_back(node->name);
      inner.insert(node->name);
    }
    for (const std::string& place : *places) {
      const std::string* input = input_at(last, place);
      if (input == nullptr || inner.contains(node_of(*input))) return std::nullopt;
      form.whole.input.push_back(*input);
    }
    for (const std::string& input : last.input) {
      if (!is_data(input) && !inner.contains(node_of(input))) form.whole.input.push_back(input);
    }
    for (const auto& [key, value] : last.attr) {
      if (key == kOriginalOp || key == kOriginalInputs || key == kOriginalParts) continue;
      if (key.starts_with(kOriginalAttr))
        form.whole.attr.emplace(key.substr(kOriginalAttr.size()), value);
      else if (key.starts_with('_'))
        form.whole.attr.emplace(key, value);
    }
    return form;
  }

  void add(const std::string& name, ParsedForm form) {
    for (const std::string& part : form.parts) {
      const bool shared = !owners_.emplace(part, name).second;
      if (shared) return release(name, form);
    }
    forms_.emplace(name, std::move(form));
  }

  void release(const std::string& name, const ParsedForm& form) {
    for (const std::string& part : form.parts) {
      const auto owner = owners_.find(part);
      if (owner != owners_.end() && owner->second == name) owners_.erase(owner);
    }
  }

  /// Releases the form that owns node `name` if `reader` is not a part of that form: a form whose
  /// inner nodes are read from outside cannot be replaced.
  void release_if_read_outside(const std::string& name, const std::string& reader) {
    const auto owner = owners_.find(name);
    if (owner == owners_.end() || owner->second == reader) return;
    const auto own = owners_.find(reader);
    if (own != owners_.end() && own->second == owner->second) return;
    const auto form = forms_.find(owner->second);
    if (form == forms_.end()) return;
    release(form->first, form->second);
    forms_.erase(form);
  }

  const GraphDef& def_;
  std::map<std::string, const NodeDef*> nodes_;
  std::map<std::string, ParsedForm> forms_;    // by the name of the last node
  std::map<std::string, std::string> owners_;  // name of the last node, by part
};

}  // namespace

std::optional<GraphDef> read_forms(const GraphDef& def, const std::set<std::string>& kept) {
  const auto has_original_op = [](const NodeDef& node) { return node.attr.contains(kOriginalOp); };
  if (std::none_of(def.node.begin(), def.node.end(), has_original_op)) return std::nullopt;
  return FormReader(def).read(kept);
}

}  // namespace towerflow

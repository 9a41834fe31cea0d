#include "tests/golden/describe.h"

#include <algorithm>
#include <cmath>

#include "core/graph/control_flow.h"
#include "core/graph/node.h"
#include "core/graph/op_def.h"
#include "layers/structure.h"

namespace towerflow::golden {
namespace {

Json describe_shape(const Shape& shape) {
  if (!shape.has_rank()) return nullptr;
  Json sizes = Json::array();
  for (const Dim& dim : shape.dims()) sizes.push_back(dim.known() ? Json(dim.size()) : Json());
  return sizes;
}

std::string dtype_text(DType dtype, bool is_ref) {
  return std::string(dtype_name(dtype)) + (is_ref ? "_ref" : "");
}

Json describe_reuse(Reuse reuse) {
  if (reuse.mode() == Reuse::Mode::automatic) return "AUTO_REUSE";
  return reuse.mode() == Reuse::Mode::yes;
}

Json real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

std::string base64(const std::string& raw) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < raw.size(); i += 3) {
    unsigned bits = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (i + k < raw.size() ? static_cast<unsigned char>(raw[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k > raw.size() ? '=' : kDigits[bits >> (18 - 6 * k) & 63U];
    }
  }
  return text;
}

Json describe_text(const std::string& raw) {
  const bool printable =
      std::all_of(raw.begin(), raw.end(), [](char c) { return 32 <= c && c < 127; });
  return printable ? Json(raw) : Json{{"base64", base64(raw)}};
}

template <class T>
Json element(const T& value) {
  if constexpr (std::is_floating_point_v<T>) return real(value);
  return value;
}

/// Returns the JSON form of a member of a collection.
Json describe_member(const CollectionItem& item) {
  if (const auto* text = std::any_cast<std::string>(&item.value)) return Json{{"string", *text}};
  if (const auto* number = std::any_cast<std::int64_t>(&item.value)) return *number;
  if (const auto* number = std::any_cast<double>(&item.value)) return *number;
  if (item.value.type() == typeid(Tensor) || item.value.type() == typeid(Variable) ||
      item.value.type() == typeid(Operation)) {
    return *item.name;
  }
  if (const auto* context = std::any_cast<ControlFlowContext*>(&item.value)) {
    return {{"object", nullptr}, {"name", (*context)->name()}};
  }
  return {{"object", nullptr}, {"name", item.name ? Json(*item.name) : Json()}};
}

Json names_of(const std::vector<Variable>& variables) {
  Json names = Json::array();
  for (const Variable& variable : variables) names.push_back(variable.name());
  return names;
}

struct Describe {
  Json operator()(NoneType) const { return nullptr; }
  Json operator()(bool flag) const { return flag; }
  Json operator()(std::int64_t number) const { return number; }
  Json operator()(double number) const { return number; }
  Json operator()(const std::string& text) const { return {{"string", text}}; }
  Json operator()(const Array& array) const { return describe_array(array, true); }
  Json operator()(const Tensor& tensor) const { return {{"tensor", tensor.name()}}; }
  Json operator()(const Variable& variable) const {
    if (variable.partitioned()) return {{"object", "PartitionedVariable"}};
    return {{"variable", variable.name()},
            {"dtype", dtype_text(variable.dtype(), true)},
            {"shape", describe_shape(variable.shape())}};
  }
  Json operator()(const Operation& operation) const { return {{"operation", operation.name()}}; }
  Json operator()(const IndexedSlices& slices) const {
    return {{"indexed_slices", {slices.values.name(), slices.indices.name()}}};
  }
  Json operator()(const Shape& shape) const { return {{"shape", describe_shape(shape)}}; }
  Json operator()(const VariableScopeHandle& scope) const {
    return {{"scope", scope->name()},
            {"original_name_scope", scope->original_name_scope()},
            {"reuse", describe_reuse(scope->reuse())}};
  }
  Json operator()(const Initializer&) const { return {{"object", "Initializer"}}; }
  Json operator()(const std::shared_ptr<const List>& list) const {
    Json items = Json::array();
    for (const Value& item : *list) items.push_back(describe(item));
    return items;
  }
  Json operator()(const std::shared_ptr<const Dict>& dict) const {
    Json items = Json::object();
    for (const auto& [key, item] : *dict) items[key] = describe(item);
    return {{"dict", items}};
  }
  Json operator()(const Object& object) const {
    if (object.type == "State") return state(std::any_cast<nn::rnn_cell::State>(object.object));
    return {{"object", object.type}};
  }
  static Json state(const nn::rnn_cell::State& parts) {
    if (parts.is_leaf()) return {{"tensor", parts.leaf().name()}};
    Json items = Json::array();
    for (const nn::rnn_cell::State& part : parts.items()) items.push_back(state(part));
    return items;
  }
};

}  // namespace

Json describe(const Value& value) { return std::visit(Describe{}, value.held()); }

Json describe_node(const Operation& operation) {
  const Node& node = operation.node();
  Json outputs = Json::array(), inputs = Json::array();
  for (const OutputSpec& output : node.outputs) {
    outputs.push_back({dtype_text(output.dtype, output.is_ref), describe_shape(output.shape)});
  }
  for (const Tensor& input : node.inputs) inputs.push_back(input.name());
  std::vector<std::string> control, colocated = node.colocation_groups;
  for (const Node* before : node.control_inputs) control.push_back(before->name);
  std::sort(control.begin(), control.end());
  for (std::string& group : colocated) group.erase(0, group.find('@') + 1);
  std::sort(colocated.begin(), colocated.end());
  std::erase(colocated, node.name);
  Json record{{"name", node.name}, {"op", operation.type()}};
  if (!outputs.empty()) record["outputs"] = std::move(outputs);
  if (!node.device.empty()) record["device"] = node.device;
  if (!inputs.empty()) record["inputs"] = std::move(inputs);
  if (!control.empty()) record["control_inputs"] = control;
  if (!colocated.empty()) record["colocated"] = colocated;
  return record;
}

Json describe_array(const Array& array, bool with_values) {
  Json record{{"dtype", dtype_name(array.dtype())}, {"shape", array.shape().sizes()}};
  if (!with_values) return record;
  Json values = Json::array();
  if (array.dtype() == DType::string) {
    for (const std::string& text : array.flat<std::string>()) values.push_back(describe_text(text));
  } else {
    const bool known = dispatch_dtype(array.dtype(), [&]<class T>() {
      for (const T& value : array.flat<T>()) values.push_back(element(value));
    });
    if (!known) throw BadProgram("values of dtype " + std::string(dtype_name(array.dtype())));
  }
  record["values"] = std::move(values);
  return record;
}

Json describe_values(const Value& result, const Args& args) {
  const bool with_values = args.text("compare", "close") != "shape";
  Json values = Json::array();
  for (const Value& value : *result.list()) {
    values.push_back(value.none() ? Json() : describe_array(*value.get_if<Array>(), with_values));
  }
  return values;
}

Json describe_final(const Graph& graph) {
  Json collections = Json::object();
  for (const std::string& key : graph.collections().keys()) {
    Json members = Json::array();
    for (const CollectionItem& item : graph.collections().all(key)) {
      members.push_back(describe_member(item));
    }
    collections[key] = std::move(members);
  }
  return {{"collections", std::move(collections)},
          {"listings",
           {{"global_variables", names_of(global_variables())},
            {"local_variables", names_of(local_variables())},
            {"trainable_variables", names_of(trainable_variables())},
            {"model_variables", names_of(model_variables())},
            {"moving_average_variables", names_of(moving_average_variables())}}}};
}

}  // namespace towerflow::golden

#include "core/graph/attrs_def.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/error.h"

namespace towerflow {

const AttrValue* AttrReader::find(const char* name, bool required) const {
  const auto at = values_.find(name);
  if (at != values_.end()) return &at->second;
  if (required) {
    throw ValueError(fmt::format("attribute '{}' of op '{}' is missing", name, op_),
                     {.node = node_, .op = op_});
  }
  return nullptr;
}

std::string AttrReader::name_of(int input) const {
  if (input == attr::kOwnName) return node_;
  const auto at = static_cast<std::size_t>(input);
  return at < inputs_.size() ? inputs_[at].op().name() : std::string();
}

void AttrReader::read(const attr::FieldList& fields, void* attributes) const {
  for (const attr::FieldInfo& field : fields) {
    if (field.is_name) {
      *static_cast<std::string*>(field.address_in(attributes)) = name_of(field.input);
      continue;
    }
    const AttrValue* given = find(field.name, field.required);
    if (given != nullptr && !field.type->assign(*given, field.address_in(attributes))) {
      throw_wrong_attr_type(field.name, *given, field.type->name());
    }
  }
}

void AttrReader::throw_wrong_attr_type(const char* name, const AttrValue& given,
                                       const char* type) const {
  throw ValueError(fmt::format("attribute '{}' of op '{}' cannot be {} {}: it is of type {}", name,
                               op_, attr_type(given), attr_text(given), type),
                   {.node = node_, .op = op_});
}

AttrsDef::AttrsDef() = default;
AttrsDef::AttrsDef(const attr::FieldList& fields, const void* defaults, Make maker) : make_(maker) {
  for (const attr::FieldInfo& field : fields) {
    if (field.is_name) {
      names_ = true;
      continue;
    }
    AttrDef& one = list_.emplace_back();
    one.name = one.field = field.name;
    one.type = field.type->name();
    if (!field.required) one.default_value = field.type->value(field.address_in(defaults));
  }
}
AttrsDef::AttrsDef(const AttrsDef& other) = default;
AttrsDef::AttrsDef(AttrsDef&& other) noexcept = default;
AttrsDef& AttrsDef::operator=(const AttrsDef& other) = default;
AttrsDef& AttrsDef::operator=(AttrsDef&& other) noexcept = default;
AttrsDef::~AttrsDef() = default;

AttrsDef AttrsDef::fixed(std::string name, AttrValue value) && {
  std::string type = attr_type(value);
  list_.push_back({std::move(name), std::move(type), std::move(value), true});
  return std::move(*this);
}

AttrsDef AttrsDef::without(std::string_view name) && {
  std::erase_if(list_, [&](const AttrDef& one) { return one.name == name; });
  return std::move(*this);
}

AttrsDef AttrsDef::renamed(std::string_view field, std::string name) && {
  for (AttrDef& one : list_) {
    if (one.field == field) one.name = name;
  }
  return std::move(*this);
}

AttrsDef AttrsDef::defaults_to(std::string_view name, AttrValue value) && {
  for (AttrDef& one : list_) {
    if (one.name == name) one.default_value = value;
  }
  return std::move(*this);
}

const AttrDef* AttrsDef::find(std::string_view name) const {
  const auto at = std::find_if(list_.begin(), list_.end(),
                               [&](const AttrDef& one) { return one.name == name; });
  return at == list_.end() ? nullptr : &*at;
}

const AttrDef* AttrsDef::find_field(std::string_view field) const {
  const auto at = std::find_if(list_.begin(), list_.end(),
                               [&](const AttrDef& one) { return one.field == field; });
  return at == list_.end() ? nullptr : &*at;
}

Attrs AttrsDef::make(const std::string& op, const AttrMap& values, const std::string& node,
                     std::span<const Tensor> inputs) const {
  if (make_ == nullptr) return {};
  AttrMap fields;
  for (const AttrDef& one : list_) {
    if (one.field.empty()) continue;
    const auto given = values.find(one.name);
    if (given != values.end())
      fields.emplace(one.field, given->second);
    else if (one.default_value)
      fields.emplace(one.field, *one.default_value);
  }
  return make_(AttrReader(op, fields, node, inputs));
}

void AttrsDef::make_defaults(const std::string& op) {
  const bool given = std::any_of(list_.begin(), list_.end(),
                                 [](const AttrDef& one) { return !one.default_value; });
  if (!given && !names_) defaults_ = make(op, {}, "", {});
}

}  // namespace towerflow

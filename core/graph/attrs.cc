#include "core/graph/attrs.h"

#include <algorithm>

namespace towerflow::types {

Attrs::Base::~Base() = default;

bool Attrs::operator==(const Attrs& other) const {
  if (holder_ == other.holder_) return true;
  if (holder_ == nullptr || other.holder_ == nullptr) return false;
  const Base& a = *holder_;
  const Base& b = *other.holder_;
  if (typeid(a) != typeid(b)) return false;
  return std::all_of(a.fields.begin(), a.fields.end(), [&](const attr::FieldInfo& field) {
    return field.type->equal(field.address_in(a.attributes), field.address_in(b.attributes));
  });
}

void Attrs::for_each(
    const std::function<void(const char* name, const AttrValue& value)>& visit) const {
  if (holder_ == nullptr) return;
  for (const attr::FieldInfo& field : holder_->fields) {
    visit(field.name, field.type->value(field.address_in(holder_->attributes)));
  }
}

std::size_t Attrs::hash() const {
  std::size_t hash = 0;
  for_each([&](const char*, const AttrValue& value) { hash = hash * 31 + attr_hash(value); });
  return hash;
}

std::string Attrs::text() const {
  std::string text = "{";
  for_each([&](const char* name, const AttrValue& value) {
    if (text.size() > 1) text += ", ";
    text += std::string(name) + "=" + attr_text(value);
  });
  return text + "}";
}

}  // namespace towerflow::types

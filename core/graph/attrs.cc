#include "core/graph/attrs.h"

namespace towerflow::types {

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

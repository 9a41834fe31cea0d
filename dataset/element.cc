#include "dataset/element.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/error.h"

namespace towerflow::data {
namespace {

std::string structure_text(const Structure& structure, const ElementSpec& spec, std::size_t& at) {
  if (structure.kind == Structure::Kind::tensor) {
    const std::size_t i = at++;
    return fmt::format("{} {}", dtype_name(spec.dtypes[i]), spec.shapes[i].text());
  }
  const bool dict = structure.kind == Structure::Kind::dict;
  std::string text(1, dict ? '{' : '(');
  for (std::size_t i = 0; i < structure.parts.size(); ++i) {
    if (i > 0) text += ", ";
    if (dict) text += structure.keys[i] + ": ";
    text += structure_text(structure.parts[i], spec, at);
  }
  return text + (dict ? '}' : ')');
}

}  // namespace

namespace types {

std::size_t Structure::size() const {
  if (kind == Kind::tensor) return 1;
  std::size_t count = 0;
  for (const Structure& part : parts) count += part.size();
  return count;
}

ElementSpec ElementSpec::of(std::vector<DType> dtypes, std::vector<Shape> shapes) {
  if (shapes.empty()) shapes.assign(dtypes.size(), Shape::unknown());
  if (shapes.size() != dtypes.size()) {
    throw ValueError(fmt::format("{} dtypes were given for an element, but {} shapes",
                                 dtypes.size(), shapes.size()));
  }
  ElementSpec spec{{}, std::move(dtypes), std::move(shapes)};
  if (spec.dtypes.size() != 1) {
    spec.structure = {Structure::Kind::tuple, std::vector<Structure>(spec.dtypes.size()), {}};
  }
  return spec;
}

std::string ElementSpec::text() const {
  std::size_t at = 0;
  return structure_text(structure, *this, at);
}

Element::Element(Leaf, Operand operand) : leaf_(std::move(operand)) {}
Element::Element(std::vector<Element> parts)
    : kind_(Structure::Kind::tuple), parts_(std::move(parts)) {}
Element::Element(std::vector<std::pair<std::string, Element>> parts)
    : kind_(Structure::Kind::dict) {
  for (auto& [key, part] : parts) {
    keys_.push_back(std::move(key));
    parts_.push_back(std::move(part));
  }
}

Element::Element(bool value, Site site) : Element(Leaf(), Operand(value, site)) {}
Element::Element(int value, Site site) : Element(Leaf(), Operand(value, site)) {}
Element::Element(std::int64_t value, Site site) : Element(Leaf(), Operand(value, site)) {}
Element::Element(float value, Site site) : Element(Leaf(), Operand(value, site)) {}
Element::Element(double value, Site site) : Element(Leaf(), Operand(value, site)) {}
Element::Element(const char* text, Site site) : Element(Leaf(), Operand(text, site)) {}
Element::Element(const std::string& text, Site site) : Element(Leaf(), Operand(text, site)) {}
Element::Element(const Tensor& tensor, Site site) : Element(Leaf(), Operand(tensor, site)) {}

Element Element::of(const Structure& structure, const std::vector<Tensor>& tensors) {
  std::size_t at = 0;
  const auto make = [&](const auto& self, const Structure& part) -> Element {
    if (part.kind == Structure::Kind::tensor) return {Leaf(), Operand(tensors.at(at++))};
    std::vector<Element> parts;
    for (const Structure& inner : part.parts) parts.push_back(self(self, inner));
    Element made(std::move(parts));
    made.kind_ = part.kind;
    made.keys_ = part.keys;
    return made;
  };
  return make(make, structure);
}

Structure Element::structure() const {
  Structure structure{kind_, {}, keys_};
  for (const Element& part : parts_) structure.parts.push_back(part.structure());
  return structure;
}

const Element& Element::operator[](int index) const {
  if (index < 0 || static_cast<std::size_t>(index) >= parts_.size()) {
    throw ValueError(
        fmt::format("the element has {} parts, but part {} is requested", parts_.size(), index));
  }
  return parts_[static_cast<std::size_t>(index)];
}

const Element& Element::operator[](const std::string& key) const {
  const auto at = std::find(keys_.begin(), keys_.end(), key);
  if (at == keys_.end()) {
    throw KeyError(
        fmt::format("the element has no part '{}'; its keys are: {}", key, fmt::join(keys_, ", ")));
  }
  return parts_[static_cast<std::size_t>(at - keys_.begin())];
}

Element::operator Tensor() const {
  const Tensor* tensor = leaf_ ? leaf_->tensor() : nullptr;
  if (tensor == nullptr) {
    throw ValueError(
        fmt::format("the element is not one tensor: it has {} parts", size()),
        {.hint = "a function takes a parameter for each part of a tuple, or a data::Element"});
  }
  return *tensor;
}

void Element::check_parts(std::size_t count) const {
  if (kind_ == Structure::Kind::tuple && parts_.size() == count) return;
  const char* kind = kind_ == Structure::Kind::tensor  ? "one tensor"
                     : kind_ == Structure::Kind::tuple ? "a tuple"
                                                       : "a dictionary";
  throw ValueError(fmt::format("the element is {} with {} parts, but {} parts are requested", kind,
                               size(), count));
}

std::vector<Operand> Element::components() const {
  std::vector<Operand> list;
  add_components(list);
  return list;
}

void Element::add_components(std::vector<Operand>& list) const {
  if (leaf_) list.push_back(*leaf_);
  for (const Element& part : parts_) part.add_components(list);
}

}  // namespace types
}  // namespace towerflow::data

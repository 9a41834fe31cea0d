#pragma once

#include <memory>
#include <typeinfo>
#include <utility>

#include "core/graph/attr_fields.h"
#include "core/graph/types.h"

namespace towerflow::types {

/// The attributes of a node: one struct specific to the op, which lists its fields (`attr::field`).
///
/// Empty for an op without attributes. Copies share the struct, which never changes.
class Attrs {
 public:
  Attrs() = default;

  template <attr::HasFields T>
  Attrs(T value)  // NOLINT: a node is made from its attribute struct
      : holder_(std::make_shared<const Holder<T>>(std::move(value))) {}

  bool empty() const { return holder_ == nullptr; }

  /// Returns the struct. Throws std::bad_cast if the attributes have another type.
  template <class T>
  const T& as() const {
    const auto* holder = dynamic_cast<const Holder<T>*>(holder_.get());
    if (holder == nullptr) throw std::bad_cast();
    return holder->value;
  }
  template <class T>
  const T* get_if() const {
    const auto* holder = dynamic_cast<const Holder<T>*>(holder_.get());
    return holder == nullptr ? nullptr : &holder->value;
  }

  /// Returns whether the struct types and all fields are the same.
  bool operator==(const Attrs& other) const;
  std::size_t hash() const;
  /// Returns "{exclusive=true, reverse=false}".
  std::string text() const;

  /// Calls `visit` for each field, with the name that its struct declares.
  void for_each(const std::function<void(const char* name, const AttrValue& value)>& visit) const;

 private:
  struct Base {
    Base(const attr::FieldList& list, const void* values) : fields(list), attributes(values) {}
    Base(const Base&) = delete;  // `attributes` points into the object
    Base& operator=(const Base&) = delete;
    virtual ~Base();
    const attr::FieldList& fields;
    const void* attributes;
  };
  template <class T>
  struct Holder : Base {
    explicit Holder(T v) : Base(attr::fields_of<T>(), &value), value(std::move(v)) {}
    T value;
  };

  std::shared_ptr<const Base> holder_;
};

}  // namespace towerflow::types

#pragma once

#include <concepts>
#include <memory>
#include <typeinfo>

#include "core/graph/types.h"

namespace towerflow::types {

/// The attributes of a node: one struct of the op's own, compared by its defaulted `==`.
///
/// An op without attributes leaves it empty. Copies share the struct, which never changes.
class Attrs {
 public:
  Attrs() = default;

  template <std::equality_comparable T>
  requires(!std::same_as<T, Attrs>)
      Attrs(T value)  // NOLINT: a node is made from its attribute struct
      : holder_(std::make_shared<const Holder<T>>(std::move(value))) {}

  bool empty() const { return holder_ == nullptr; }

  /// The struct; throws std::bad_cast when the attributes are of another type.
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

  bool operator==(const Attrs& other) const {
    if (holder_ == other.holder_) return true;
    return holder_ != nullptr && other.holder_ != nullptr && holder_->equals(*other.holder_);
  }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual bool equals(const Base& other) const = 0;
  };
  template <class T>
  struct Holder : Base {
    explicit Holder(T v) : value(std::move(v)) {}
    bool equals(const Base& other) const override {
      const auto* same = dynamic_cast<const Holder*>(&other);
      return same != nullptr && value == same->value;
    }
    T value;
  };

  std::shared_ptr<const Base> holder_;
};

}  // namespace towerflow::types

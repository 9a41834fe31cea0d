#pragma once

#include <memory>
#include <typeinfo>

#include "core/graph/attr_fields.h"
#include "core/graph/types.h"

namespace towerflow::types {

/// The attributes of a node: one struct of the op's own, which lists its fields (`attr::field`).
///
/// An op without attributes leaves it empty. Copies share the struct, which never changes.
class Attrs {
 public:
  Attrs() = default;

  template <attr::HasFields T>
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

  /// Whether all fields are the same.
  bool operator==(const Attrs& other) const {
    if (holder_ == other.holder_) return true;
    return holder_ != nullptr && other.holder_ != nullptr && holder_->equals(*other.holder_);
  }
  std::size_t hash() const;
  /// "{exclusive=true, reverse=false}"
  std::string text() const;

  /// Each field under the name that its struct gives it.
  void for_each(const std::function<void(const char* name, AttrValue value)>& visit) const {
    if (holder_ != nullptr) holder_->visit(visit);
  }

 private:
  using Visit = std::function<void(const char*, AttrValue)>;
  struct Base {
    virtual ~Base() = default;
    virtual bool equals(const Base& other) const = 0;
    virtual void visit(const Visit& visit) const = 0;
  };
  template <class T>
  struct Holder : Base {
    explicit Holder(T v) : value(std::move(v)) {}
    bool equals(const Base& other) const override {
      const auto* same = dynamic_cast<const Holder*>(&other);
      return same != nullptr && attr::equal_fields(value, same->value);
    }
    void visit(const Visit& visit) const override {
      attr::visit_fields(value, [&]<class M>(const auto& described, const M& member) {
        visit(described.name, AttrValue(AttrConversion<M>::to(member)));
      });
    }
    T value;
  };

  std::shared_ptr<const Base> holder_;
};

}  // namespace towerflow::types

#pragma once

#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/graph/attrs.h"
#include "core/graph/tensor.h"

namespace towerflow {

/// One attribute of an op.
struct AttrDef {
  std::string name;
  std::string type;                          ///< "int", "list(type)"
  std::optional<AttrValue> default_value{};  ///< none where a node must give it
  /// The only value that the library computes; TensorFlow knows others.
  bool fixed = false;
  std::string field{};  ///< of the attribute struct
};

/// The fields of a struct that is being made from a NodeDef.
class AttrReader {
 public:
  AttrReader(const std::string& op, const AttrMap& values, const std::string& node,
             std::span<const Tensor> inputs)
      : op_(op), values_(values), node_(node), inputs_(inputs) {}

  /// Sets the fields of a struct. Throws ValueError for one that is missing or of another type.
  void read(const attr::FieldList& fields, void* attributes) const;

 private:
  const AttrValue* find(const char* name, bool required) const;
  std::string name_of(int input) const;
  [[noreturn]] void throw_wrong_attr_type(const char* name, const AttrValue& given,
                                          const char* type) const;

  const std::string& op_;
  const AttrMap& values_;
  const std::string& node_;
  std::span<const Tensor> inputs_;
};

/// The attributes of an op: what its struct lists, and what TensorFlow's op has besides. Dtypes and
/// counts of arguments are none of them: the signature tells those.
class AttrsDef {
 public:
  using Make = Attrs (*)(const AttrReader& reader);

  // Defined in attrs_def.cc: each registration of an op would compile them anew.
  AttrsDef();
  AttrsDef(const attr::FieldList& fields, const void* defaults, Make maker);
  AttrsDef(const AttrsDef& other);
  AttrsDef(AttrsDef&& other) noexcept;
  AttrsDef& operator=(const AttrsDef& other);
  AttrsDef& operator=(AttrsDef&& other) noexcept;
  ~AttrsDef();

  /// An attribute of which the library does one value.
  AttrsDef fixed(std::string name, AttrValue value) &&;
  /// A field that another op with the same struct has.
  AttrsDef without(std::string_view name) &&;
  AttrsDef renamed(std::string_view field, std::string name) &&;
  AttrsDef defaults_to(std::string_view name, AttrValue value) &&;

  const std::vector<AttrDef>& list() const { return list_; }
  const AttrDef* find(std::string_view name) const;
  /// The attribute that a field of the struct is; nullptr where the op has none.
  const AttrDef* find_field(std::string_view field) const;
  bool has_struct() const { return make_ != nullptr; }

  /// The struct of a node that leaves all to their defaults; empty when one must be given.
  const Attrs& defaults() const { return defaults_; }
  /// The struct of what a NodeDef says. Throws ValueError with op and attribute for one that is
  /// missing or of another type.
  Attrs make(const std::string& op, const AttrMap& values, const std::string& node,
             std::span<const Tensor> inputs) const;

 private:
  friend class OpRegistry;
  void make_defaults(const std::string& op);

  std::vector<AttrDef> list_;
  Make make_ = nullptr;
  bool names_ = false;  // the struct holds names that the graph gave
  Attrs defaults_;
};

/// The attributes that a struct lists; of no struct, those that `fixed` adds.
template <class T = void>
AttrsDef attributes() {
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    const T defaults{};
    return AttrsDef(attr::fields_of<T>(), &defaults, [](const AttrReader& reader) -> Attrs {
      T made{};
      reader.read(attr::fields_of<T>(), &made);
      return made;
    });
  }
}

}  // namespace towerflow

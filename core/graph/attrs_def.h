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
  std::optional<AttrValue> default_value{};  ///< none if a node must specify it
  /// The default is the only value that the library supports; TensorFlow has others.
  bool fixed = false;
  std::string field{};  ///< name in the attribute struct
};

/// Reads the fields of an attribute struct from a NodeDef.
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

/// The attributes of an op: those its struct lists, and others that TensorFlow's op has. Dtypes and
/// counts of arguments are not among them: they follow from the signature.
class AttrsDef {
 public:
  using Make = Attrs (*)(const AttrReader& reader);

  // Not inline: else each registration of an op would compile them again.
  AttrsDef();
  AttrsDef(const attr::FieldList& fields, const void* defaults, Make maker);
  AttrsDef(const AttrsDef& other);
  AttrsDef(AttrsDef&& other) noexcept;
  AttrsDef& operator=(const AttrsDef& other);
  AttrsDef& operator=(AttrsDef&& other) noexcept;
  ~AttrsDef();

  /// Adds an attribute for which the library supports only one value.
  AttrsDef fixed(std::string name, AttrValue value) &&;
  /// Removes a field that only another op with the same struct has.
  AttrsDef without(std::string_view name) &&;
  AttrsDef renamed(std::string_view field, std::string name) &&;
  AttrsDef defaults_to(std::string_view name, AttrValue value) &&;

  const std::vector<AttrDef>& list() const { return list_; }
  const AttrDef* find(std::string_view name) const;
  /// Returns the attribute for a field of the struct, nullptr if the op has none.
  const AttrDef* find_field(std::string_view field) const;
  bool has_struct() const { return make_ != nullptr; }

  /// Returns the struct with all defaults; empty if a node must specify something.
  const Attrs& defaults() const { return defaults_; }
  /// Returns the struct for the attributes of a NodeDef. Throws ValueError with op and attribute
  /// for one that is missing or of another type.
  Attrs make(const std::string& op, const AttrMap& values, const std::string& node,
             std::span<const Tensor> inputs) const;

 private:
  friend class OpRegistry;
  void make_defaults(const std::string& op);

  std::vector<AttrDef> list_;
  Make make_ = nullptr;
  bool names_ = false;  // the struct has names that the graph assigned
  Attrs defaults_;
};

/// Returns the attributes that a struct lists; without a struct, those that `fixed` adds.
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

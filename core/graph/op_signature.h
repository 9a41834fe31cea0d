#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/attr_value.h"
#include "core/graph/node.h"

namespace towerflow {

/// An argument or a result of an op. It is one tensor, or N tensors of one dtype, N being an
/// attribute, or a list of tensors whose dtypes are an attribute. A single dtype is fixed or an
/// attribute.
struct ArgDef {
  std::string name;
  DType dtype = DType::invalid;  ///< if it is fixed
  std::string type_attr{};       ///< "T"
  std::string number_attr{};     ///< "N"
  std::string type_list_attr{};  ///< "Tcomponents"
  bool is_ref = false;           ///< refers to a variable's storage
  bool is_index = false;         ///< an axis, a size or an index: int32 or int64

  bool is_list() const { return !number_attr.empty() || !type_list_attr.empty(); }
  /// Returns "values: N * T", as in an OpDef.
  std::string text() const;
};

/// Parses "x: T", "axis: int32", "values: N * T", "ref: Ref(T)" and
/// "components: list(Tcomponents)", the syntax of TensorFlow's REGISTER_OP, in which a list of
/// dtypes is an attribute's type. Also parses "axis: Index(Tidx)", whose attribute may be int32 or
/// int64. Throws ValueError with op and text.
ArgDef parse_argument(const std::string& op, const std::string& text);

/// Arguments as an op lists them. Made from string views, which need no destructors, so that
/// hundreds of op registrations compile quickly.
class ArgTexts {
 public:
  ArgTexts();
  ArgTexts(std::initializer_list<std::string_view> texts);
  explicit ArgTexts(std::vector<std::string> texts);
  ArgTexts(const ArgTexts& other);
  ArgTexts(ArgTexts&& other) noexcept;
  ArgTexts& operator=(const ArgTexts& other);
  ArgTexts& operator=(ArgTexts&& other) noexcept;
  ~ArgTexts();

  const std::vector<std::string>& list() const { return list_; }

 private:
  std::vector<std::string> list_;
};

/// The arguments and results of an op.
struct OpSignature {
  OpSignature();
  OpSignature(const OpSignature& other);
  OpSignature(OpSignature&& other) noexcept;
  OpSignature& operator=(const OpSignature& other);
  OpSignature& operator=(OpSignature&& other) noexcept;
  ~OpSignature();

  std::vector<ArgDef> inputs, outputs;

  /// Returns whether a dtype or a count in it is an attribute with this name.
  bool has_attribute(std::string_view name) const;
};

/// Adds to `known` the dtypes and counts that the given tensors imply for the arguments; existing
/// entries stay. Throws ValueError for tensors that do not fit: too many, too few, of another dtype
/// than `known` or another argument requires, an index that is neither int32 nor int64.
void match_arguments(std::span<const ArgDef> arguments, std::span<const OutputSpec> tensors,
                     AttrMap& known);

}  // namespace towerflow

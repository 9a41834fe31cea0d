#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/attr_value.h"
#include "core/graph/node.h"

namespace towerflow {

/// An argument or a result of an op. Its dtype is fixed, or an attribute; it is one tensor, or as
/// many of one dtype as an attribute says, or a list of tensors of the dtypes in an attribute.
struct ArgDef {
  std::string name;
  DType dtype = DType::invalid;  ///< where it is fixed
  std::string type_attr{};       ///< "T"
  std::string number_attr{};     ///< "N"
  std::string type_list_attr{};  ///< "Tcomponents"
  bool is_ref = false;           ///< refers to a variable's storage
  bool is_index = false;         ///< an axis, a size or an index: int32 or int64

  bool is_list() const { return !number_attr.empty() || !type_list_attr.empty(); }
  /// "values: N * T", as it is written in an OpDef.
  std::string text() const;
};

/// Reads "x: T", "axis: int32", "values: N * T", "ref: Ref(T)" and "components: list(Tcomponents)":
/// what TensorFlow's REGISTER_OP takes, where a list of dtypes is an attribute's type. Also reads
/// "axis: Index(Tidx)", whose attribute may be int32 or int64. Throws ValueError with op and text.
ArgDef parse_argument(const std::string& op, const std::string& text);

/// Arguments as an op lists them. The list is written as views: nothing has to be destroyed where
/// an op is registered, which keeps hundreds of registrations quick to compile.
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

  /// Whether a dtype or a number in it is called so.
  bool has_attribute(std::string_view name) const;
};

/// Adds the dtypes and numbers that tensors tell of the arguments they are given for; what `known`
/// holds already stays. Throws ValueError for tensors that do not fit: too many, too few, of
/// another dtype than `known` or another argument says, an index that is no int32 or int64.
void match_arguments(std::span<const ArgDef> arguments, std::span<const OutputSpec> tensors,
                     AttrMap& known);

}  // namespace towerflow

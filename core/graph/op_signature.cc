#include "core/graph/op_signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/graph/error.h"

namespace towerflow {
namespace {

bool is_name(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
}

/// Returns the text between `open` and a closing bracket at the end, or nullopt without them.
std::optional<std::string_view> inside(std::string_view text, std::string_view open) {
  if (!text.starts_with(open) || !text.ends_with(')')) return std::nullopt;
  return text.substr(open.size(), text.size() - open.size() - 1);
}

DType named_dtype(std::string_view name) {
  for (int number = 1; number < 32; ++number) {
    const auto dtype = static_cast<DType>(number);
    if (dtype_size(dtype) > 0 && name == dtype_name(dtype)) return dtype;
  }
  return DType::invalid;
}

/// Returns the value of an attribute that is a count or dtypes, nullptr if it is not known.
template <class T>
const T* known_value(const AttrMap& known, const std::string& name) {
  const auto at = known.find(name);
  return at == known.end() ? nullptr : at->second.get_if<T>();
}

template <class T>
void set_known(AttrMap& known, const std::string& name, const T& value, const ArgDef& argument) {
  const auto [at, added] = known.try_emplace(name, value);
  if (added || at->second == AttrValue(value)) return;
  throw ValueError(fmt::format("argument '{}' requires attribute '{}' to be {}, but it is {}",
                               argument.text(), name, attr_text(value), attr_text(at->second)));
}

/// Returns how many tensors belong to each argument; those of unknown count share what others
/// leave.
std::vector<std::size_t> sizes_of(std::span<const ArgDef> arguments, std::size_t total,
                                  const AttrMap& known) {
  std::vector<std::optional<std::size_t>> sizes;
  std::size_t taken = 0, open = 0;
  for (const ArgDef& argument : arguments) {
    std::optional<std::size_t> size;
    if (!argument.is_list()) size = 1;
    if (const auto* number = known_value<std::int64_t>(known, argument.number_attr)) {
      size = static_cast<std::size_t>(std::clamp<std::int64_t>(*number, 0, 1 << 30));
    }
    if (const auto* types = known_value<std::vector<DType>>(known, argument.type_list_attr)) {
      size = types->size();
    }
    taken += size.value_or(0);
    open += size ? 0 : 1;
    sizes.push_back(size);
  }
  const std::size_t left = total < taken ? 0 : total - taken;
  const bool fits = open == 0 ? total == taken : total >= taken && left % open == 0;
  if (!fits) {
    throw ValueError(fmt::format("{} tensors are given where {}{} are taken", total,
                                 open == 0 ? "" : "at least ", taken));
  }
  std::vector<std::size_t> found;
  for (const auto& size : sizes) found.push_back(size ? *size : left / open);
  return found;
}

void match(const ArgDef& argument, std::span<const OutputSpec> tensors, AttrMap& known) {
  std::vector<DType> dtypes;
  for (const OutputSpec& tensor : tensors) {
    dtypes.push_back(tensor.dtype);
    if (argument.dtype != DType::invalid && tensor.dtype != argument.dtype) {
      throw ValueError(
          fmt::format("argument '{}' is {}", argument.text(), dtype_name(tensor.dtype)));
    }
    if (argument.is_ref && !tensor.is_ref) {
      throw ValueError(fmt::format("argument '{}' is not a variable", argument.text()));
    }
    if (argument.is_index && tensor.dtype != DType::int32 && tensor.dtype != DType::int64) {
      throw ValueError(fmt::format(
          "Value for attr '{}' of {} is not in the list of allowed values: int32, int64",
          argument.type_attr, dtype_name(tensor.dtype)));
    }
    if (!argument.type_attr.empty()) set_known(known, argument.type_attr, tensor.dtype, argument);
  }
  if (!argument.number_attr.empty()) {
    set_known(known, argument.number_attr, static_cast<std::int64_t>(tensors.size()), argument);
  }
  if (!argument.type_list_attr.empty()) set_known(known, argument.type_list_attr, dtypes, argument);
}

}  // namespace

std::string ArgDef::text() const {
  std::string type = dtype != DType::invalid ? dtype_name(dtype) : type_attr;
  if (!type_list_attr.empty()) type = "list(" + type_list_attr + ")";
  if (is_ref) type = "Ref(" + type + ")";
  if (!number_attr.empty()) type = number_attr + " * " + type;
  return name + ": " + type;
}

ArgDef parse_argument(const std::string& op, const std::string& text) {
  const std::size_t colon = text.find(": ");
  ArgDef made{.name = text.substr(0, colon)};
  std::string_view type;
  if (colon != std::string::npos) type = std::string_view(text).substr(colon + 2);
  const std::size_t times = type.find(" * ");
  if (times != std::string_view::npos) {
    made.number_attr = type.substr(0, times);
    type.remove_prefix(times + 3);
  }
  if (const auto referred = inside(type, "Ref(")) {
    made.is_ref = true;
    type = *referred;
  } else if (const auto index = inside(type, "Index(")) {
    made.is_index = true;
    type = *index;
  }
  if (const auto listed = inside(type, "list(")) {
    made.type_list_attr = *listed;
    type = *listed;
  } else {
    made.dtype = named_dtype(type);
    if (made.dtype == DType::invalid) made.type_attr = type;
  }
  const bool twice_a_list =
      !made.type_list_attr.empty() && (!made.number_attr.empty() || made.is_ref);
  const bool fixed_index = made.is_index && made.type_attr.empty();
  const bool numbered = times == std::string_view::npos || is_name(made.number_attr);
  if (!is_name(made.name) || !is_name(type) || !numbered || twice_a_list || fixed_index) {
    throw ValueError(
        fmt::format("op '{}' has an argument \"{}\" that cannot be read", op, text),
        {.op = op,
         .hint = "\"x: T\", \"axis: int32\", \"axis: Index(Tidx)\", \"values: N * T\", "
                 "\"ref: Ref(T)\" and \"components: list(Tcomponents)\" can"});
  }
  return made;
}

ArgTexts::ArgTexts() = default;
ArgTexts::ArgTexts(std::initializer_list<std::string_view> texts)
    : list_(texts.begin(), texts.end()) {}
ArgTexts::ArgTexts(std::vector<std::string> texts) : list_(std::move(texts)) {}
ArgTexts::ArgTexts(const ArgTexts& other) = default;
ArgTexts::ArgTexts(ArgTexts&& other) noexcept = default;
ArgTexts& ArgTexts::operator=(const ArgTexts& other) = default;
ArgTexts& ArgTexts::operator=(ArgTexts&& other) noexcept = default;
ArgTexts::~ArgTexts() = default;

OpSignature::OpSignature() = default;
OpSignature::OpSignature(const OpSignature& other) = default;
OpSignature::OpSignature(OpSignature&& other) noexcept = default;
OpSignature& OpSignature::operator=(const OpSignature& other) = default;
OpSignature& OpSignature::operator=(OpSignature&& other) noexcept = default;
OpSignature::~OpSignature() = default;

bool OpSignature::has_attribute(std::string_view name) const {
  const auto has = [&](const ArgDef& argument) {
    return !name.empty() && (name == argument.type_attr || name == argument.number_attr ||
                             name == argument.type_list_attr);
  };
  return std::any_of(inputs.begin(), inputs.end(), has) ||
         std::any_of(outputs.begin(), outputs.end(), has);
}

void match_arguments(std::span<const ArgDef> arguments, std::span<const OutputSpec> tensors,
                     AttrMap& known) {
  const std::vector<std::size_t> sizes = sizes_of(arguments, tensors.size(), known);
  std::size_t at = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    match(arguments[i], tensors.subspan(at, sizes[i]), known);
    at += sizes[i];
  }
}

}  // namespace towerflow

#include "core/graph/operand.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/graph/capture.h"
#include "core/graph/constant.h"
#include "core/graph/error.h"
#include "core/graph/graph.h"
#include "core/graph/scopes.h"
#include "core/graph/short_float.h"

namespace towerflow {
namespace {

using Items = std::vector<Nested>;

const Tensor* first_tensor(const Nested& nested) {
  if (const auto* tensor = std::get_if<Tensor>(&nested.value())) return tensor;
  if (const auto* items = std::get_if<Items>(&nested.value())) {
    for (const Nested& item : *items) {
      if (const Tensor* found = first_tensor(item)) return found;
    }
  }
  return nullptr;
}

void collect(const Nested& nested, std::size_t depth, std::vector<Dim>& dims,
             std::vector<const Nested*>& leaves) {
  const auto* items = std::get_if<Items>(&nested.value());
  if (items == nullptr) {
    if (depth != dims.size()) throw ValueError("nested values are ragged: some are deeper");
    leaves.push_back(&nested);
    return;
  }
  if (leaves.empty() && depth == dims.size()) dims.push_back(Dim(items->size()));
  if (depth >= dims.size() || dims[depth] != Dim(items->size())) {
    throw ValueError(
        fmt::format("nested values are ragged: a list of {} where others differ", items->size()));
  }
  for (const Nested& item : *items) collect(item, depth + 1, dims, leaves);
}

DType natural_dtype(const std::vector<const Nested*>& leaves) {
  DType dtype = leaves.empty() ? DType::float32 : DType::invalid;
  for (const Nested* leaf : leaves) {
    DType own = DType::string;
    if (std::holds_alternative<bool>(leaf->value())) {
      own = DType::bool_;
    } else if (const auto* number = std::get_if<std::int64_t>(&leaf->value())) {
      const bool fits = *number >= std::numeric_limits<std::int32_t>::min() &&
                        *number <= std::numeric_limits<std::int32_t>::max();
      own = fits ? DType::int32 : DType::int64;
    } else if (std::holds_alternative<double>(leaf->value())) {
      own = DType::float32;
    }
    const auto rank = [](DType d) {
      return d == DType::int32 ? 1 : d == DType::int64 ? 2 : d == DType::float32 ? 3 : 0;
    };
    if (dtype == DType::invalid || (rank(dtype) > 0 && rank(own) > rank(dtype))) {
      dtype = own;
    } else if (dtype != own && (rank(dtype) == 0 || rank(own) == 0)) {
      throw TypeError(fmt::format("Can't convert a list that mixes {} and {} to a Tensor",
                                  dtype_name(dtype), dtype_name(own)));
    }
  }
  return dtype;
}

[[noreturn]] void throw_dtype_mismatch(const Nested& leaf, DType wanted) {
  const char* type = "str";
  std::string shown;
  if (const auto* b = std::get_if<bool>(&leaf.value()))
    type = "bool", shown = *b ? "True" : "False";
  else if (const auto* i = std::get_if<std::int64_t>(&leaf.value()))
    type = "int", shown = fmt::format("{}", *i);
  else if (const auto* d = std::get_if<double>(&leaf.value()))
    type = "float", shown = fmt::format("{}", *d);
  else
    shown = fmt::format("'{}'", std::get<std::string>(leaf.value()));
  throw TypeError(
      fmt::format("Expected {}, but got {} of type '{}'.", dtype_name(wanted), shown, type));
}

template <class T>
T number_as(const Nested& leaf, DType wanted) {
  if constexpr (std::is_same_v<T, bool>) {
    if (const auto* b = std::get_if<bool>(&leaf.value())) return *b;
  } else if (const auto* i = std::get_if<std::int64_t>(&leaf.value())) {
    return static_cast<T>(*i);  // wraps, as TensorFlow's constants do
  } else if (const auto* d = std::get_if<double>(&leaf.value())) {
    if constexpr (std::is_floating_point_v<T>) return static_cast<T>(*d);
  } else if (const auto* b = std::get_if<bool>(&leaf.value())) {
    return static_cast<T>(*b);
  }
  throw_dtype_mismatch(leaf, wanted);
}

std::string converted_dtype_error(DType have, DType wanted) {
  return fmt::format("Tensor conversion requested dtype {} for Tensor with dtype {}",
                     dtype_name(wanted), dtype_name(have));
}

template <class To, class From>
To cast_element(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> &&
                !std::is_same_v<To, bool>) {
    // Values out of range become the lowest integer, as in hardware conversions.
    const auto lowest = static_cast<double>(std::numeric_limits<To>::min());
    const auto beyond = 2.0 * (static_cast<double>(std::numeric_limits<To>::max() / 2) + 1.0);
    const auto wide = std::trunc(static_cast<double>(value));
    if (!(wide >= lowest && wide < beyond)) return std::numeric_limits<To>::min();
  }
  return static_cast<To>(value);
}

/// Packs a list that contains tensors, as TensorFlow does: in a name scope, inner lists first.
/// A list of mere values becomes a constant, but its number has been used up as a name by then.
Tensor pack_items(Graph& graph, const Items& items, const std::string& name, DType dtype,
                  Site site) {
  const NameScope scope(graph, name, site);
  std::vector<Tensor> parts(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (const auto* tensor = std::get_if<Tensor>(&items[i].value())) {
      parts[i] = convert_operand(graph, Operand(*tensor, site), "", std::nullopt);
      if (parts[i].dtype() == dtype) continue;
      throw TypeError(fmt::format("Cannot convert a list containing a tensor of dtype {} to {}: {}",
                                  dtype_name(parts[i].dtype()), dtype_name(dtype), parts[i].name()),
                      {.hint = "tf::cast converts between dtypes"});
    }
    const auto* list = std::get_if<Items>(&items[i].value());
    if (list == nullptr) continue;
    if (items[i].holds_tensor()) {
      parts[i] = pack_items(graph, *list, std::to_string(i), dtype, site);
    } else {
      const NameScope tried(graph, std::to_string(i), site);
    }
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (parts[i].valid()) continue;
    parts[i] = make_constant(graph, to_array(items[i], dtype), std::to_string(i), site);
  }
  return graph.add({.op = "Pack", .name = scope.name(), .inputs = parts, .site = site}).output(0);
}

}  // namespace

Array cast_elements(const Array& array, DType wanted) {
  if (is_short_float(array.dtype())) return cast_elements(widened(array), wanted);
  if (is_short_float(wanted)) return narrowed(cast_elements(array, DType::float32), wanted);
  Array out(wanted, array.shape());
  bool done = false;
  dispatch_dtype(array.dtype(), [&]<class From>() {
    done = dispatch_dtype(wanted, [&]<class To>() {
      const From* in = array.data<From>();
      To* to = out.data<To>();
      for (std::int64_t i = 0; i < array.elements(); ++i) to[i] = cast_element<To>(in[i]);
    });
  });
  if (!done) throw TypeError(converted_dtype_error(array.dtype(), wanted));
  return out;
}

Nested::Nested(const char* text) : value_(std::string(text)) {}
Nested::Nested(std::string text) : value_(std::move(text)) {}
Nested::Nested(std::initializer_list<Nested> items) : value_(std::vector<Nested>(items)) {}
Nested::Nested(std::vector<Nested> items) : value_(std::move(items)) {}
Nested::Nested(Literal, bool value) : value_(value) {}
Nested::Nested(Literal, std::int64_t value) : value_(value) {}
Nested::Nested(Literal, double value) : value_(value) {}
Nested::Nested(Literal, Tensor value) : value_(value) {}
Nested::Nested(const Nested& other) = default;
Nested::Nested(Nested&& other) noexcept = default;
Nested& Nested::operator=(const Nested& other) = default;
Nested& Nested::operator=(Nested&& other) noexcept = default;
Nested::~Nested() = default;

Operand::Operand(Held, Tensor tensor, Site site) : value_(tensor), site_(site) {}
Operand::Operand(Held, Array array, Site site) : value_(std::move(array)), site_(site) {}
Operand::Operand(Held, Nested nested, Site site) : value_(std::move(nested)), site_(site) {}
Operand::Operand(Held, const OptionalGradient& gradient, Site site) : site_(site) {
  const Gradient& present = gradient.value(site);
  if (present.is_dense())
    value_ = present.dense();
  else
    value_ = std::make_shared<const Gradient>(present);
}
Operand::Operand(bool value, Site site) : Operand(Held(), Nested(value), site) {}
Operand::Operand(int value, Site site) : Operand(Held(), Nested(value), site) {}
Operand::Operand(std::int64_t value, Site site) : Operand(Held(), Nested(value), site) {}
Operand::Operand(float value, Site site) : Operand(Held(), Nested(value), site) {}
Operand::Operand(double value, Site site) : Operand(Held(), Nested(value), site) {}
Operand::Operand(const char* text, Site site) : Operand(Held(), Nested(text), site) {}
Operand::Operand(const std::string& text, Site site) : Operand(Held(), Nested(text), site) {}
Operand::Operand(const Tensor& tensor, Site site) : Operand(Held(), tensor, site) {}
Operand::Operand(const std::vector<int>& items, Site site) : Operand(Held(), held(items), site) {}
Operand::Operand(const Operand& other) = default;
Operand::Operand(Operand&& other) noexcept = default;
Operand& Operand::operator=(const Operand& other) = default;
Operand& Operand::operator=(Operand&& other) noexcept = default;
Operand::~Operand() = default;

Operand Operand::at(Site site) const {
  Operand moved = *this;
  moved.site_ = site;
  return moved;
}

bool Nested::holds_tensor() const { return first_tensor(*this) != nullptr; }

Array to_array(const Nested& nested, std::optional<DType> wanted) {
  std::vector<Dim> dims;
  std::vector<const Nested*> leaves;
  collect(nested, 0, dims, leaves);
  const DType dtype = wanted ? *wanted : natural_dtype(leaves);
  if (is_short_float(dtype)) return narrowed(to_array(nested, DType::float32), dtype);
  Array array(dtype, Shape(std::move(dims)));
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const Nested& leaf = *leaves[i];
    if (dtype == DType::string) {
      const auto* text = std::get_if<std::string>(&leaf.value());
      if (text == nullptr) throw_dtype_mismatch(leaf, dtype);
      array.data<std::string>()[i] = *text;
    } else if (!dispatch_dtype(
                   dtype, [&]<class T>() { array.data<T>()[i] = number_as<T>(leaf, dtype); })) {
      throw_dtype_mismatch(leaf, dtype);
    }
  }
  return array;
}

Array shape_to_array(const Shape& shape) {
  if (!shape.fully_known()) {
    throw ValueError(
        fmt::format("Cannot convert a partially known TensorShape {} to a Tensor.", shape.text()),
        {.hint = "tf::shape(x) gives the sizes when the graph runs"});
  }
  const std::vector<std::int64_t> sizes = shape.sizes();
  const bool narrow =
      std::all_of(sizes.begin(), sizes.end(), std::in_range<std::int32_t, std::int64_t>);
  if (!narrow) return Array::of<std::int64_t>(Shape{sizes.size()}, sizes);
  return Array::of<std::int32_t>(Shape{sizes.size()},
                                 std::vector<std::int32_t>(sizes.begin(), sizes.end()));
}

const Tensor* Operand::any_tensor() const {
  if (const Tensor* own = tensor()) return own;
  if (slices() != nullptr) return &slices()->slices().values;
  return nested() == nullptr ? nullptr : first_tensor(*nested());
}

Tensor convert_operand(Graph& graph, const Operand& operand, const std::string& name,
                       std::optional<DType> wanted) {
  if (const Tensor* tensor = operand.tensor()) {
    if (wanted && tensor->dtype() != *wanted) {
      throw ValueError(converted_dtype_error(tensor->dtype(), *wanted) + ": " + tensor->name(),
                       {.site = operand.site(), .hint = "tf::cast converts between dtypes"});
    }
    if (&tensor->graph() != &graph) {
      // Also the helpers that an op adds for its operands belong to the function being built.
      if (CaptureScope* scope = CaptureScope::of(graph)) return scope->capture(*tensor);
    }
    const auto& rebuilt = graph.extension<RebuiltTensors>().builders;
    if (rebuilt.empty()) return *tensor;
    const auto builder = rebuilt.find(tensor->name());
    return builder == rebuilt.end() ? *tensor : builder->second();
  }
  if (const Gradient* slices = operand.slices()) {
    return densify(slices->slices(), name, wanted, operand.site());
  }
  try {
    static const std::string unnamed = "Const";
    const std::string& constant = name.empty() ? unnamed : name;
    if (const Array* array = operand.array()) {
      const bool as_it_is = !wanted || array->dtype() == *wanted;
      return make_constant(graph, as_it_is ? *array : cast_elements(*array, *wanted), constant,
                           operand.site());
    }
    const Nested& nested = *operand.nested();
    if (const auto* leaf = std::get_if<Tensor>(&nested.value())) {
      return convert_operand(graph, Operand(*leaf, operand.site()), name, wanted);
    }
    const auto* items = std::get_if<Items>(&nested.value());
    if (items == nullptr || !nested.holds_tensor()) {
      return make_constant(graph, to_array(nested, wanted), constant, operand.site());
    }
    const DType dtype = first_tensor(nested)->dtype();
    if (wanted && dtype != *wanted) {
      throw ValueError(converted_dtype_error(dtype, *wanted) + ": a list of tensors",
                       {.hint = "tf::cast converts between dtypes"});
    }
    return pack_items(graph, *items, name.empty() ? "packed" : name, dtype, operand.site());
  } catch (const Error&) {
    rethrow_with({.site = operand.site()});
  }
}

}  // namespace towerflow

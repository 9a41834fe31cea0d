#include "train/summary/attr_proto.h"

#include <fmt/format.h>

#include <cstring>

#include "core/graph/error.h"
#include "train/summary/graph_def.pb.h"

namespace towerflow {
namespace {

/// Maximum size of a tensor of which the file has only the first elements.
constexpr std::size_t kMostFilledBytes = std::size_t{1} << 28;

constexpr int kRefOffset = 100;  // DT_FLOAT_REF is DT_FLOAT + 100

[[noreturn]] void fail_attr(const std::string& what) {
  throw errors::DataLossError("no attribute: " + what);
}

// --- single values, both directions ---

void write_shape(const Shape& shape, proto::TensorShapeProto& proto) {
  proto.set_unknown_rank(!shape.has_rank());
  for (const Dim& dim : shape.dims()) proto.add_dim()->set_size(dim.size());
}

Shape read_shape(const proto::TensorShapeProto& proto) {
  if (proto.unknown_rank()) return Shape::unknown();
  std::vector<Dim> dims;
  for (const auto& dim : proto.dim()) {
    if (dim.size() < -1) fail_attr(fmt::format("a dimension of size {}", dim.size()));
    dims.push_back(dim.size() < 0 ? Dim(None) : Dim(dim.size()));
  }
  return Shape(std::move(dims));
}

DType read_type(int number) {
  const int value = number > kRefOffset ? number - kRefOffset : number;
  const auto dtype = static_cast<DType>(value);
  if (value < 0 || value > 255 || (value != 0 && dtype_size(dtype) == 0 && !is_complex(dtype))) {
    fail_attr(fmt::format("a dtype of number {}", number));
  }
  return dtype;
}

void write_tensor(const Array& array, proto::TensorProto& proto) {
  if (array.empty()) return;
  proto.set_dtype(static_cast<int>(array.dtype()));
  write_shape(array.shape(), *proto.mutable_tensor_shape());
  if (array.dtype() != DType::string) {
    proto.set_tensor_content(array.raw(), array.bytes());
    return;
  }
  for (const std::string& text : array.flat<std::string>()) proto.add_string_val(text);
}

/// Fills `array` with `values`, the last of which is repeated for all missing ones.
template <class T, class Values>
void fill_array(Array& array, const Values& values) {
  const auto count = static_cast<std::size_t>(array.elements());
  const auto given = static_cast<std::size_t>(values.size());
  if (given > count) fail_attr(fmt::format("{} values of a tensor {}", given, array.text(0)));
  T* out = static_cast<T*>(array.raw());
  for (std::size_t i = 0; i < count; ++i) {
    if (given == 0)
      out[i] = T();
    else
      out[i] = static_cast<T>(values[static_cast<int>(std::min(i, given - 1))]);
  }
}

void fill_values(const proto::TensorProto& proto, Array& array) {
  switch (array.dtype()) {
    case DType::float32:
      return fill_array<float>(array, proto.float_val());
    case DType::float64:
      return fill_array<double>(array, proto.double_val());
    case DType::int8:
      return fill_array<std::int8_t>(array, proto.int_val());
    case DType::int16:
      return fill_array<std::int16_t>(array, proto.int_val());
    case DType::int32:
      return fill_array<std::int32_t>(array, proto.int_val());
    case DType::uint8:
      return fill_array<std::uint8_t>(array, proto.int_val());
    case DType::uint16:
      return fill_array<std::uint16_t>(array, proto.int_val());
    case DType::int64:
      return fill_array<std::int64_t>(array, proto.int64_val());
    case DType::uint32:
      return fill_array<std::uint32_t>(array, proto.uint32_val());
    case DType::uint64:
      return fill_array<std::uint64_t>(array, proto.uint64_val());
    case DType::bool_:
      return fill_array<bool>(array, proto.bool_val());
    case DType::float16:
    case DType::bfloat16:
      return fill_array<std::uint16_t>(array, proto.half_val());
    case DType::string:
      return fill_array<std::string>(array, proto.string_val());
    default:
      fail_attr(fmt::format("a tensor of {}", dtype_name(array.dtype())));
  }
}

Array read_tensor(const proto::TensorProto& proto) {
  const DType dtype = read_type(proto.dtype());
  const Shape shape = read_shape(proto.tensor_shape());
  if (dtype_size(dtype) == 0 || dtype == DType::resource || !shape.fully_known()) {
    fail_attr(fmt::format("a tensor of {} {}", dtype_name(dtype), shape.text()));
  }
  std::size_t bytes = 0;
  try {
    bytes = shape.bytes(dtype_size(dtype));
  } catch (const ValueError&) {
    fail_attr("a tensor of shape " + shape.text());
  }
  const std::string& content = proto.tensor_content();
  if (!content.empty()) {
    if (dtype == DType::string || content.size() != bytes) {
      fail_attr(fmt::format("{} bytes of a tensor {} {}", content.size(), dtype_name(dtype),
                            shape.text()));
    }
    Array array(dtype, shape);
    std::memcpy(array.raw(), content.data(), bytes);
    return array;
  }
  if (bytes > kMostFilledBytes && bytes > proto.ByteSizeLong() * dtype_size(dtype)) {
    throw errors::ResourceExhaustedError(
        fmt::format("a tensor {} {}, of which the file has only the first elements, is refused: it "
                    "is larger than {} bytes",
                    dtype_name(dtype), shape.text(), kMostFilledBytes));
  }
  Array array(dtype, shape);
  fill_values(proto, array);
  return array;
}

/// Reads a tensor of a list. It may be empty: the default of a feature that has none.
Array read_optional_tensor(const proto::TensorProto& proto) {
  return proto.ByteSizeLong() == 0 ? Array() : read_tensor(proto);
}

template <class To, class From, class Read>
AttrValue read_list(const From& items, const Read& read) {
  std::vector<To> values;
  for (const auto& item : items) values.push_back(read(item));
  return values;
}

/// Reads a list; its type is that of the field that has items.
AttrValue read_list_value(const proto::AttrValue::ListValue& list) {
  const auto unchanged = [](const auto& item) { return item; };
  if (list.s_size() > 0) return read_list<std::string>(list.s(), unchanged);
  if (list.f_size() > 0) return read_list<float>(list.f(), unchanged);
  if (list.b_size() > 0) return read_list<bool>(list.b(), unchanged);
  if (list.type_size() > 0) return read_list<DType>(list.type(), read_type);
  if (list.shape_size() > 0) return read_list<Shape>(list.shape(), read_shape);
  if (list.tensor_size() > 0) return read_list<Array>(list.tensor(), read_optional_tensor);
  return read_list<std::int64_t>(list.i(), unchanged);
}

struct Writer {
  proto::AttrValue& proto;
  void operator()(bool value) const { proto.set_b(value); }
  void operator()(std::int64_t value) const { proto.set_i(value); }
  void operator()(float value) const { proto.set_f(value); }
  void operator()(const std::string& value) const { proto.set_s(value); }
  void operator()(DType value) const { proto.set_type(static_cast<int>(value)); }
  void operator()(const Shape& value) const { write_shape(value, *proto.mutable_shape()); }
  void operator()(const Array& value) const { write_tensor(value, *proto.mutable_tensor()); }
  template <class T>
  void operator()(const std::vector<T>& values) const {
    proto::AttrValue::ListValue& list = *proto.mutable_list();
    for (const T& value : values) add(list, value);
  }

 private:
  using List = proto::AttrValue::ListValue;
  static void add(List& list, bool value) { list.add_b(value); }
  static void add(List& list, std::int64_t value) { list.add_i(value); }
  static void add(List& list, float value) { list.add_f(value); }
  static void add(List& list, const std::string& value) { list.add_s(value); }
  static void add(List& list, DType value) { list.add_type(static_cast<int>(value)); }
  static void add(List& list, const Shape& value) { write_shape(value, *list.add_shape()); }
  static void add(List& list, const Array& value) { write_tensor(value, *list.add_tensor()); }
};

}  // namespace

void write_attr(const AttrValue& value, proto::AttrValue& proto) {
  std::visit(Writer{proto}, value.held());
}

AttrValue read_attr(const proto::AttrValue& proto) {
  using Case = proto::AttrValue;
  switch (proto.value_case()) {
    case Case::kList:
      return read_list_value(proto.list());
    case Case::kS:
      return proto.s();
    case Case::kI:
      return static_cast<std::int64_t>(proto.i());
    case Case::kF:
      return proto.f();
    case Case::kB:
      return proto.b();
    case Case::kType:
      return read_type(proto.type());
    case Case::kShape:
      return read_shape(proto.shape());
    case Case::kTensor:
      return read_tensor(proto.tensor());
    default:
      fail_attr("it has no value, or one of a function");
  }
}

}  // namespace towerflow

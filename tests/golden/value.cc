#include "tests/golden/value.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "layers/structure.h"
#include "ops/variables/initializers.h"
#include "ops/variables/scaling_initializers.h"
#include "tests/support/exact_array.h"

namespace towerflow::golden {
namespace {

constexpr std::array kKinds{"None",        "bool",          "int",    "float",
                            "str",         "array",         "tensor", "variable",
                            "operation",   "IndexedSlices", "shape",  "VariableScope",
                            "initializer", "list",          "dict",   "object"};

/// Returns the number of "nan", "inf" or "-inf".
double special(const std::string& text) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return kInfinity;
  if (text == "-inf") return -kInfinity;
  throw BadProgram("no float " + text);
}

Array generated(const Json& form) {
  const auto stream = form.at("stream").get<std::uint64_t>();
  std::vector<std::int64_t> sizes = form.at("shape").get<std::vector<std::int64_t>>();
  const Shape shape{std::span<const std::int64_t>(sizes)};
  for (const auto& [key, part] : form.items()) {
    if (key != "stream" && key != "shape" && key != "exponent" && key != "kind" &&
        key != "modulo" && key != "dtype") {
      throw BadProgram("generate takes no " + key);
    }
  }
  const DType dtype = to_dtype(form.value("dtype", "float32"));
  if (form.contains("modulo")) {
    return test::exact_integers(stream, shape, form["modulo"].get<std::uint64_t>(), dtype);
  }
  const std::string kind = form.value("kind", "uniform");
  if (kind != "uniform" && kind != "positive") throw BadProgram("generate: no kind " + kind);
  return test::exact_array(
      stream, shape,
      {.exponent = form.value("exponent", 0),
       .kind = kind == "positive" ? test::ExactKind::positive : test::ExactKind::uniform,
       .dtype = dtype});
}

/// Returns the array of a form {"dtype", "shape", "values"}, as describe_array writes it.
Array written(const Json& form) {
  const DType dtype = to_dtype(form.at("dtype"));
  const auto sizes = form.at("shape").get<std::vector<std::int64_t>>();
  Array array(dtype, Shape{std::span<const std::int64_t>(sizes)});
  const Json& values = form.at("values");
  const auto fill = [&]<class T>() {
    T* elements = array.data<T>();
    if (static_cast<std::int64_t>(values.size()) != array.elements())
      throw BadProgram("array: wrong number of values");
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_floating_point_v<T>) {
        elements[i] =
            static_cast<T>(values[i].is_string() ? special(values[i]) : values[i].get<double>());
      } else {
        elements[i] = values[i].get<T>();
      }
    }
  };
  if (dtype == DType::string) {
    fill.operator()<std::string>();
  } else if (!dispatch_dtype(dtype, fill)) {
    throw BadProgram("values of dtype " + std::string(dtype_name(dtype)));
  }
  return array;
}

/// Returns the initializer of this kind if it takes only a seed, else nullptr.
Initializer (*seeded_initializer(const std::string& kind))(ScalingInitializerOptions) {
  if (kind == "glorot_uniform") return glorot_uniform_initializer;
  if (kind == "glorot_normal") return glorot_normal_initializer;
  if (kind == "he_normal") return initializers::he_normal;
  if (kind == "he_uniform") return initializers::he_uniform;
  if (kind == "lecun_normal") return initializers::lecun_normal;
  if (kind == "lecun_uniform") return initializers::lecun_uniform;
  return nullptr;
}

Initializer initializer_of(const Json& form, const std::map<std::string, Value>& bound) {
  const std::string kind = form["initializer"];
  const auto number = [&](const char* key, double missing) { return form.value(key, missing); };
  std::optional<std::int64_t> seed;
  if (form.contains("seed") && !form["seed"].is_null()) seed = form["seed"].get<std::int64_t>();
  const auto only = [&](std::initializer_list<const char*> known) {
    for (const auto& [key, part] : form.items()) {
      if (key == "initializer") continue;
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        throw BadProgram("initializer " + kind + " takes no " + key);
      }
    }
  };
  if (kind == "constant") {
    only({"value"});
    return constant_initializer(to_nested(decode(form.at("value"), bound)));
  }
  if (kind == "zeros" || kind == "ones") {
    only({});
    return kind == "zeros" ? zeros_initializer() : ones_initializer();
  }
  if (kind == "random_uniform") {
    only({"minval", "maxval", "seed"});
    const auto bound_of = [&](const char* key) -> std::optional<Nested> {
      if (!form.contains(key)) return std::nullopt;
      return to_nested(decode(form.at(key), bound));
    };
    return random_uniform_initializer({.minval = bound_of("minval").value_or(Nested(0.0)),
                                       .maxval = bound_of("maxval"),
                                       .seed = seed});
  }
  if (kind == "variance_scaling") {
    only({"scale", "mode", "distribution", "seed"});
    return variance_scaling_initializer(
        {.scale = number("scale", 1.0),
         .mode = form.value("mode", "fan_in"),
         .distribution = form.value("distribution", "truncated_normal"),
         .seed = seed});
  }
  if (kind == "uniform_unit_scaling") {
    only({"factor", "seed"});
    return uniform_unit_scaling_initializer({.factor = number("factor", 1.0), .seed = seed});
  }
  if (const auto make = seeded_initializer(kind)) {
    only({"seed"});
    return make({.seed = seed});
  }
  only({"mean", "stddev", "seed"});
  const NormalInitializerOptions options{
      .mean = number("mean", 0.0), .stddev = number("stddev", 1.0), .seed = seed};
  if (kind == "random_normal") return random_normal_initializer(options);
  if (kind == "truncated_normal") return truncated_normal_initializer(options);
  throw BadProgram("no initializer " + kind);
}

/// Returns a part of the state of a cell.
Value part_of_state(const Object& object, std::size_t index) {
  const auto* state = std::any_cast<nn::rnn_cell::State>(&object.object);
  if (state == nullptr || index >= state->size()) throw BadProgram("no part of " + object.type);
  const nn::rnn_cell::State& part = state->items()[index];
  return part.is_leaf() ? Value(part.leaf()) : Value(Object{"State", part});
}

Value reference(const Json& form, const std::map<std::string, Value>& bound) {
  const auto found = bound.find(form["ref"].get<std::string>());
  if (found == bound.end()) throw Unbound(form["ref"].get<std::string>());
  Value value = found->second;
  for (const Json& key : form.value("path", Json::array())) {
    if (key.is_string()) {
      if (value.dict() == nullptr || !value.dict()->contains(key.get<std::string>())) {
        throw BadProgram("no part " + key.dump() + " in " + form.dump());
      }
      value = Value(value.dict()->at(key.get<std::string>()));
    } else {
      const auto index = key.get<std::size_t>();
      if (const auto* object = value.get_if<Object>(); object != nullptr) {
        value = part_of_state(*object, index);
        continue;
      }
      if (value.list() == nullptr || index >= value.list()->size()) {
        throw BadProgram("no part " + key.dump() + " in " + form.dump());
      }
      value = Value((*value.list())[index]);
    }
  }
  return value;
}

/// Adds the names that a form refers to, and those that functions in it bind.
void add_names(const Json& form, std::set<std::string>& refs, std::set<std::string>& own) {
  if (form.is_object()) {
    if (form.contains("ref") && form["ref"].is_string()) refs.insert(form["ref"]);
    for (const Json& call : form.value("calls", Json::array())) {
      if (call.contains("out")) own.insert(call["out"]);
    }
    for (const Json& name : form.value("parameters", Json::array())) own.insert(name);
  }
  if (!form.is_structured()) return;
  for (const Json& part : form) add_names(part, refs, own);
}

/// Returns a function for Interpreter::run_function.
Value function_of(const Json& form, const std::map<std::string, Value>& bound) {
  std::set<std::string> refs, own;
  add_names(form, refs, own);
  for (const std::string& name : refs) {
    if (!own.contains(name) && !bound.contains(name)) throw Unbound(name);
  }
  return Object{"function", std::make_shared<const Json>(form)};
}

Value decode_object(const Json& json, const std::map<std::string, Value>& bound) {
  if (json.contains("ref")) return reference(json, bound);
  if (json.contains("function")) return function_of(json["function"], bound);
  if (json.contains("tuple")) return Object{"tuple", decode(json["tuple"], bound)};
  if (json.contains("dict")) {
    Dict dict;
    for (const auto& [key, part] : json["dict"].items()) dict.emplace(key, decode(part, bound));
    return dict;
  }
  if (json.contains("generate")) return generated(json["generate"]);
  if (json.contains("initializer")) return initializer_of(json, bound);
  if (json.contains("array")) return written(json["array"]);
  if (json.contains("float")) return special(json["float"]);
  throw BadProgram("no such form of an argument: " + json.dump());
}

}  // namespace

Value::Value(List list) : held_(std::make_shared<const List>(std::move(list))) {}
Value::Value(Dict dict) : held_(std::make_shared<const Dict>(std::move(dict))) {}

Value Value::of(const OptionalGradient& gradient) {
  if (!gradient) return {};
  if (gradient->is_dense()) return gradient->dense();
  return gradient->slices();
}

const List* Value::list() const {
  const auto* list = get_if<std::shared_ptr<const List>>();
  return list == nullptr ? nullptr : list->get();
}

const Dict* Value::dict() const {
  const auto* dict = get_if<std::shared_ptr<const Dict>>();
  return dict == nullptr ? nullptr : dict->get();
}

std::string Value::kind() const { return kKinds.at(held_.index()); }

Value decode(const Json& json, const std::map<std::string, Value>& bound) {
  switch (json.type()) {
    case Json::value_t::null:
      return {};
    case Json::value_t::boolean:
      return json.get<bool>();
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return json.get<std::int64_t>();
    case Json::value_t::number_float:
      return json.get<double>();
    case Json::value_t::string:
      return json.get<std::string>();
    case Json::value_t::array: {
      List list;
      for (const Json& item : json) list.push_back(decode(item, bound));
      return list;
    }
    default:
      return decode_object(json, bound);
  }
}

Nested to_nested(const Value& value) {
  if (const auto* flag = value.get_if<bool>()) return *flag;
  if (const auto* number = value.get_if<std::int64_t>()) return *number;
  if (const auto* number = value.get_if<double>()) return *number;
  if (const auto* text = value.get_if<std::string>()) return *text;
  if (const auto* tensor = value.get_if<Tensor>()) return *tensor;
  if (const auto* variable = value.get_if<Variable>()) return variable->value();
  if (value.list() != nullptr) {
    std::vector<Nested> items;
    for (const Value& item : *value.list()) items.push_back(to_nested(item));
    return items;
  }
  if (value.none()) throw DoesNotCompile("no tensor is made of std::nullopt");
  if (value.get_if<IndexedSlices>() != nullptr) {
    throw DoesNotCompile("no tensor is made of slices but by convert_to_tensor");
  }
  throw BadProgram("cannot make a tensor of " + value.kind());
}

Operand to_operand(const Value& value) {
  if (const auto* array = value.get_if<Array>()) return *array;
  if (const auto* tensor = value.get_if<Tensor>()) return *tensor;
  if (const auto* variable = value.get_if<Variable>()) return *variable;
  return to_nested(value);
}

std::optional<Shape> to_shape(const Value& value) {
  if (value.none()) return std::nullopt;
  if (value.list() == nullptr) throw BadProgram("no shape: " + value.kind());
  std::vector<Dim> dims;
  for (const Value& size : *value.list()) {
    if (size.none()) {
      dims.push_back(None);
    } else if (const auto* number = size.get_if<std::int64_t>()) {
      dims.push_back(*number);
    } else {
      throw BadProgram("no size in a shape: " + size.kind());
    }
  }
  return Shape(std::move(dims));
}

DType to_dtype(const std::string& name) {
  for (int number = 1; number <= static_cast<int>(DType::uint64); ++number) {
    const auto dtype = static_cast<DType>(number);
    if (name == dtype_name(dtype)) return dtype;
  }
  throw BadProgram("no dtype " + name);
}

}  // namespace towerflow::golden

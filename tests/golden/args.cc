#include "tests/golden/args.h"

namespace towerflow::golden {

bool Args::has(const char* name) const {
  read_.insert(name);
  return values_.contains(name);
}

const Value& Args::value(const char* name) const {
  static const Value none;
  read_.insert(name);
  const auto found = values_.find(name);
  return found == values_.end() ? none : found->second;
}

void Args::throw_wrong_argument(const char* name, const char* wanted) const {
  throw BadProgram(std::string("argument ") + name + " should be " + wanted + ", not " +
                   value(name).kind());
}

std::optional<bool> Args::optional_flag(const char* name) const {
  if (value(name).none()) return std::nullopt;
  const auto* flag = value(name).get_if<bool>();
  if (flag == nullptr) throw_wrong_argument(name, "a bool");
  return *flag;
}

bool Args::flag(const char* name, bool missing) const {
  return optional_flag(name).value_or(missing);
}

std::optional<std::int64_t> Args::optional_integer(const char* name) const {
  if (value(name).none()) return std::nullopt;
  const auto* number = value(name).get_if<std::int64_t>();
  if (number == nullptr) throw_wrong_argument(name, "an integer");
  return *number;
}

std::int64_t Args::integer(const char* name, std::int64_t missing) const {
  return optional_integer(name).value_or(missing);
}

double Args::number(const char* name, double missing) const {
  if (value(name).none()) return missing;
  if (const auto* number = value(name).get_if<double>()) return *number;
  if (const auto* number = value(name).get_if<std::int64_t>()) return static_cast<double>(*number);
  throw_wrong_argument(name, "a number");
}

std::optional<std::string> Args::optional_text(const char* name) const {
  if (value(name).none()) return std::nullopt;
  const auto* text = value(name).get_if<std::string>();
  if (text == nullptr) throw_wrong_argument(name, "a string");
  return *text;
}

std::string Args::text(const char* name, const char* missing) const {
  return optional_text(name).value_or(missing);
}

std::optional<std::vector<std::string>> Args::texts(const char* name) const {
  if (value(name).none()) return std::nullopt;
  std::vector<std::string> texts;
  for (const Value& item : list(name)) {
    const auto* text = item.get_if<std::string>();
    if (text == nullptr) throw_wrong_argument(name, "a list of strings");
    texts.push_back(*text);
  }
  return texts;
}

std::optional<DType> Args::optional_dtype(const char* name) const {
  const auto text = optional_text(name);
  if (!text) return std::nullopt;
  return to_dtype(*text);
}

DType Args::dtype(const char* name, DType missing) const {
  return optional_dtype(name).value_or(missing);
}

std::optional<Shape> Args::shape(const char* name) const { return to_shape(value(name)); }

const List& Args::list(const char* name) const {
  if (value(name).list() == nullptr) throw_wrong_argument(name, "a list");
  return *value(name).list();
}

Axis Args::axis(const char* name) const {
  const Value& axis = value(name);
  if (axis.none()) return None;
  if (const auto* number = axis.get_if<std::int64_t>()) return *number;
  if (axis.list() == nullptr) return tensor(name);
  std::vector<int> axes;
  for (const Value& item : *axis.list()) {
    axes.push_back(static_cast<int>(*item.get_if<std::int64_t>()));
  }
  return axes;
}

Tensor Args::tensor(const char* name) const { return to_tensor(value(name)); }

std::optional<Variable> Args::optional_variable(const char* name) const {
  if (value(name).none()) return std::nullopt;
  const auto* variable = value(name).get_if<Variable>();
  if (variable == nullptr) throw_wrong_argument(name, "a variable");
  return *variable;
}

Variable Args::variable(const char* name) const {
  const auto variable = optional_variable(name);
  if (!variable) throw_wrong_argument(name, "a variable");
  return *variable;
}

std::vector<Variable> Args::variables(const char* name) const {
  std::vector<Variable> variables;
  for (const Value& item : list(name)) {
    const auto* variable = item.get_if<Variable>();
    if (variable == nullptr) throw_wrong_argument(name, "a list of variables");
    variables.push_back(*variable);
  }
  return variables;
}

std::vector<Tensor> Args::tensors(const char* name) const {
  if (value(name).list() == nullptr) return {tensor(name)};
  std::vector<Tensor> tensors;
  for (const Value& item : list(name)) tensors.push_back(to_tensor(item));
  return tensors;
}

const Object& Args::object(const char* name) const {
  const auto* object = value(name).get_if<Object>();
  if (object == nullptr) throw_wrong_argument(name, "an object");
  return *object;
}

void Args::check_all_read() const {
  for (const auto& [name, value] : values_) {
    if (!read_.contains(name)) throw BadProgram("it takes no argument " + name);
  }
}

Tensor to_tensor(const Value& value) {
  if (const auto* tensor = value.get_if<Tensor>()) return *tensor;
  if (const auto* variable = value.get_if<Variable>()) return variable->value();
  throw BadProgram("should be a tensor, not " + value.kind());
}

OptionalGradient gradient_of(const Value& value) {
  if (value.none()) return std::nullopt;
  if (const auto* slices = value.get_if<IndexedSlices>()) return Gradient(*slices);
  return Gradient(to_tensor(value));
}

AggregationMethod aggregation_method_of(const Args& args) {
  return static_cast<AggregationMethod>(args.integer("aggregation_method"));
}

Fetch to_fetch(const Value& value) {
  if (const auto* tensor = value.get_if<Tensor>()) return *tensor;
  if (const auto* variable = value.get_if<Variable>()) return *variable;
  if (const auto* operation = value.get_if<Operation>()) return *operation;
  throw BadProgram("cannot fetch " + value.kind());
}

}  // namespace towerflow::golden

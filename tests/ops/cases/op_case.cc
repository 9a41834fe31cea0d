#include "tests/ops/cases/op_case.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "core/graph/short_float.h"
#include "ops/array/placeholder.h"
#include "tests/ops/cases/families.h"

namespace towerflow::testing {
namespace {

/// Returns the numbers of an Array, which must not have strings, as doubles.
std::vector<double> as_doubles(const Array& array) {
  if (is_short_float(array.dtype())) return as_doubles(widened(array));
  std::vector<double> values;
  dispatch_dtype(array.dtype(), [&]<class T>() {
    for (const T& value : array.flat<T>()) values.push_back(static_cast<double>(value));
  });
  return values;
}

}  // namespace

Array CaseInput::array(std::size_t index, DType wanted) const {
  const DType own = dtype == DType::invalid ? wanted : dtype;
  if (is_short_float(own)) {
    CaseInput wide = *this;
    wide.dtype = DType::float32;
    return narrowed(wide.array(index, DType::float32), own);
  }
  Array made(own, shape);
  std::mt19937 engine(static_cast<unsigned>(index) + 1);
  dispatch_dtype(own, [&]<class T>() {
    T* out = made.data<T>();
    for (std::int64_t i = 0; i < made.elements(); ++i) {
      double number = low + (high - low) * (static_cast<double>(engine()) / 4294967296.0);
      // Rounded to float, so that each dtype of a case gets the same numbers.
      number = static_cast<double>(static_cast<float>(number));
      if (!values.empty()) number = values.at(static_cast<std::size_t>(i));
      if (std::is_integral_v<T>) number = std::floor(number);
      out[i] = static_cast<T>(std::is_unsigned_v<T> ? std::abs(number) : number);
    }
  });
  return made;
}

CaseInput random_input(Shape shape, double low, double high) {
  return {.shape = std::move(shape), .low = low, .high = high};
}
CaseInput input_of(Shape shape, std::vector<double> values, DType dtype) {
  return {.shape = std::move(shape), .values = std::move(values), .dtype = dtype};
}

std::vector<DType> numbers() {
  return {DType::float32, DType::float64, DType::int32, DType::int64, DType::uint8};
}
std::vector<DType> integers() { return {DType::int32, DType::int64}; }
std::vector<DType> any_dtype() {
  std::vector<DType> all = numbers();
  all.push_back(DType::bool_);
  return all;
}

const std::vector<OpCase>& op_cases() {
  static const std::vector<OpCase> all = [] {
    std::vector<OpCase> cases;
#define TOWERFLOW_ADD(name) add_##name##_cases(cases);
    TOWERFLOW_CASE_FAMILIES(TOWERFLOW_ADD)
#undef TOWERFLOW_ADD
    return cases;
  }();
  return all;
}

bool has_gradients(const OpCase& one) {
  return one.gradients == CaseGradients::both || one.gradients == CaseGradients::first;
}

bool has_float64(const OpCase& one) {
  return std::find(one.dtypes.begin(), one.dtypes.end(), DType::float64) != one.dtypes.end();
}

std::vector<Array> case_arrays(const std::vector<CaseInput>& inputs, DType dtype) {
  std::vector<Array> arrays;
  for (std::size_t i = 0; i < inputs.size(); ++i) arrays.push_back(inputs[i].array(i, dtype));
  return arrays;
}

CaseTensors case_placeholders(const std::vector<CaseInput>& inputs, DType dtype, bool unknown) {
  static constexpr const char* kNames[] = {"x", "y", "z", "w"};
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const DType own = inputs[i].dtype == DType::invalid ? dtype : inputs[i].dtype;
    const Shape& shape = inputs[i].shape;
    all.push_back(placeholder(
        own, {.shape = unknown ? Shape::of_rank(shape.rank()) : shape, .name = kNames[i]}));
  }
  return case_tensors(std::move(all), dtype);
}

CaseTensors case_tensors(std::vector<Tensor> all, DType dtype) {
  CaseTensors made;
  Tensor* const named[] = {&made.x, &made.y, &made.z, &made.w};
  for (std::size_t i = 0; i < all.size(); ++i) *named[i] = all[i];
  made.all = std::move(all);
  made.dtype = dtype;
  return made;
}

double difference(const Array& found, const Array& expected) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (found.shape() != expected.shape()) return kInfinite;
  if (found.dtype() == DType::string || expected.dtype() == DType::string) {
    return found == expected ? 0 : kInfinite;
  }
  const std::vector<double> a = as_doubles(found), b = as_doubles(expected);
  double scale = 1, largest = 0;
  for (const double value : b) {
    if (std::isfinite(value)) scale = std::max(scale, std::abs(value));
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;  // infinities too
    const double here = std::abs(a[i] - b[i]);
    if (!(here < kInfinite)) return kInfinite;
    largest = std::max(largest, here);
  }
  return largest / scale;
}

}  // namespace towerflow::testing

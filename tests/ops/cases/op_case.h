#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/graph/array.h"
#include "core/graph/tensor.h"

namespace towerflow::testing {

/// One operand of a case: its shape, values and dtype.
struct CaseInput {
  Shape shape;
  double low = -1, high = 1;     ///< range of random numbers
  std::vector<double> values{};  ///< used instead, unless empty
  DType dtype = DType::invalid;  ///< invalid: the dtype of the case

  /// Returns operand number `index` of a case in dtype `wanted`: the same numbers for each dtype,
  /// rounded to it.
  Array array(std::size_t index, DType wanted) const;
};

/// Returns an input of random numbers from `low` to `high`.
CaseInput random_input(Shape shape, double low = -1, double high = 1);
/// Returns an input of these values. Without `dtype` it has the dtype of the case.
CaseInput input_of(Shape shape, std::vector<double> values, DType dtype = DType::invalid);

/// The operands of a case as tensors, under the names that its Python uses.
struct CaseTensors {
  Tensor x, y, z, w;
  std::vector<Tensor> all;
  DType dtype = DType::invalid;  ///< of this run of the case
};

/// The results of a call: one tensor or several.
struct CaseResults : std::vector<Tensor> {
  CaseResults(Tensor one) : vector{std::move(one)} {}               // NOLINT: return tf::relu(t.x)
  CaseResults(std::vector<Tensor> all) : vector(std::move(all)) {}  // NOLINT
};

/// How far the gradients of a case are checked in float64.
enum class CaseGradients {
  both,       ///< first and second derivatives against central differences
  first,      ///< only first derivatives, for ops without a second one such as LRN
  none,       ///< the call has none: every gradient must be absent
  elsewhere,  ///< another case checks them, where differences can show them
};

/// The dtypes of most cases.
inline const std::vector<DType> kFloats{DType::float32, DType::float64};

/// One call of an op, from which all of its checks follow.
struct OpCase {
  std::string name;                                     ///< unique: "Cumsum exclusive"
  std::vector<CaseInput> inputs{};                      ///< x, y, z, w
  std::function<CaseResults(const CaseTensors&)> call;  ///< in C++
  /// The same in Python, where `tf` is tensorflow.compat.v1; "" if TensorFlow lacks it.
  std::string python{};
  DType python_dtype = DType::invalid;  ///< for TensorFlow; default: float64 if possible
  bool other_nodes = false;  ///< the call makes other nodes than Python's; docs/differences.md
  std::vector<DType> dtypes = kFloats;
  CaseGradients gradients = CaseGradients::both;
  bool needs_sizes = false;  ///< the call throws ValueError if operands have unknown sizes
  double tolerance = 1e-5;   ///< of float32 against the reference in float64; see `difference`
  double step = 1e-5;        ///< of central differences; larger for linear functions in float32
  std::vector<CaseInput> large{};  ///< operands for timing; not timed if empty
};

/// Lists of dtypes for `OpCase::dtypes`.
std::vector<DType> numbers();    ///< every numeric dtype
std::vector<DType> integers();   ///< int32 and int64
std::vector<DType> any_dtype();  ///< numeric dtypes and bool

/// Returns whether gradients of the case are built and checked.
bool has_gradients(const OpCase& one);
/// Returns whether the case has float64, in which gradients are checked.
bool has_float64(const OpCase& one);

/// Returns all cases of all families, in the order of families.h.
const std::vector<OpCase>& op_cases();
/// Returns arrays for the operands of a case.
std::vector<Array> case_arrays(const std::vector<CaseInput>& inputs, DType dtype);
/// Creates placeholders in the default graph, of unknown shapes if `unknown`.
CaseTensors case_placeholders(const std::vector<CaseInput>& inputs, DType dtype,
                              bool unknown = false);
/// Returns the tensors of a case under the names that its call uses.
CaseTensors case_tensors(std::vector<Tensor> all, DType dtype);

/// Returns the largest difference between two arrays, divided by the largest magnitude in the
/// second one or by 1, whichever is larger. Returns infinity if shapes differ or if exactly one of
/// a pair is NaN.
double difference(const Array& found, const Array& expected);

}  // namespace towerflow::testing

#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/graph/array.h"
#include "core/graph/tensor.h"

namespace towerflow::testing {

/// One operand of a case: what it holds, without a dtype where the case is tried with several.
struct CaseInput {
  Shape shape;
  double low = -1, high = 1;     ///< random numbers from here to there
  std::vector<double> values{};  ///< or these
  DType dtype = DType::invalid;  ///< invalid: that of the case

  /// The operand number `index` of a case that is tried with `wanted`: the same numbers for each
  /// dtype, rounded to it.
  Array array(std::size_t index, DType wanted) const;
};

/// An input of random numbers from `low` to `high`.
CaseInput random_input(Shape shape, double low = -1, double high = 1);
/// An input of these values, of the case's dtype or of their own.
CaseInput input_of(Shape shape, std::vector<double> values, DType dtype = DType::invalid);

/// The operands of a case as tensors, by the names that its Python has for them.
struct CaseTensors {
  Tensor x, y, z, w;
  std::vector<Tensor> all;
  DType dtype = DType::invalid;  ///< that the case is tried with
};

/// What a call gives: one tensor or several.
struct CaseResults : std::vector<Tensor> {
  CaseResults(Tensor one) : vector{std::move(one)} {}               // NOLINT: return tf::relu(t.x)
  CaseResults(std::vector<Tensor> all) : vector(std::move(all)) {}  // NOLINT
};

/// How far gradients of a case are checked, in float64.
enum class CaseGradients {
  both,       ///< first and second derivatives against central differences
  first,      ///< only the first ones, as those of a product of more numbers than memory allows
  none,       ///< the call has none: every gradient is absent
  elsewhere,  ///< another case checks them, where float64 and a difference can show them
};

/// One call of one op, from which all its checks follow.
struct OpCase {
  std::string name;                                     ///< unique: "Cumsum exclusive"
  std::vector<CaseInput> inputs{};                      ///< x, y, z, w
  std::function<CaseResults(const CaseTensors&)> call;  ///< in C++
  /// The same in Python, where `tf` is tensorflow.compat.v1; "" for what TensorFlow does not have.
  std::string python{};
  DType python_dtype = DType::invalid;  ///< that TensorFlow is asked in; float64 where it may be
  bool other_nodes = false;  ///< the call makes other nodes than Python's; docs/differences.md
  std::vector<DType> dtypes{DType::float32, DType::float64};
  CaseGradients gradients = CaseGradients::both;
  bool needs_sizes = false;  ///< the call refuses operands of unknown sizes, with a ValueError
  double tolerance = 1e-5;   ///< of float32 against the reference in float64, see `difference`
  double step = 1e-5;  ///< of the central differences; larger for a linear function in float32
  std::vector<CaseInput> large{};  ///< operands that are worth timing; none: it is not timed
};

/// Lists of dtypes for `OpCase::dtypes`.
std::vector<DType> numbers();    ///< every dtype that is a number
std::vector<DType> integers();   ///< int32 and int64
std::vector<DType> any_dtype();  ///< numbers and bool

/// Whether gradients of the case are built and checked.
bool has_gradients(const OpCase& one);
/// Whether the case is tried in float64, where gradients are checked.
bool has_float64(const OpCase& one);

/// All cases of all families, in the order of families.h.
const std::vector<OpCase>& op_cases();
/// Arrays for the operands of a case.
std::vector<Array> case_arrays(const std::vector<CaseInput>& inputs, DType dtype);
/// Placeholders in the default graph; of shapes without sizes where `unknown`.
CaseTensors case_placeholders(const std::vector<CaseInput>& inputs, DType dtype,
                              bool unknown = false);
/// The tensors of a case under the names that its call has for them.
CaseTensors case_tensors(std::vector<Tensor> all, DType dtype);

/// The largest difference of two arrays of one shape, over the largest number of the second one,
/// or over 1 where that is less; infinite where shapes differ, or a NaN stands on one side alone.
double difference(const Array& found, const Array& expected);

}  // namespace towerflow::testing

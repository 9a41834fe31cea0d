#include "tests/ops/cases/build_case.h"

#include "autodiff/gradients.h"
#include "core/graph/scopes.h"
#include "ops/array/constant.h"
#include "ops/array/indexed_slices.h"
#include "ops/math/add_n.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/variables/variable.h"

namespace towerflow::testing {
namespace {

bool is_floating(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }

/// Numbers of a fixed sequence in -1 .. 1, as many as the tensor has elements, which may be known
/// in the run alone. So a result of any shape has a cotangent.
Tensor weights_like(const Tensor& result, std::size_t index) {
  if (result.shape().fully_known()) {
    return constant(cotangent(index, result.shape(), result.dtype()));
  }
  return cast(add(result * 0.0, 0.75), result.dtype());
}

}  // namespace

Array cotangent(std::size_t index, const Shape& shape, DType dtype) {
  return some(shape).array(index + 100, dtype);
}

BuiltCase::BuiltCase(const OpCase& one, const Options& options) : guard_(graph_.as_default()) {
  const auto device = towerflow::device(options.device);
  in_ = case_placeholders(one.inputs, options.dtype, options.unknown_shapes);
  results_ = one.call(in_);
  fetches_.assign(results_.begin(), results_.end());
  has_gradient_.assign(in_.all.size(), false);
  const bool has_some =
      one.gradients != CaseGradients::none && one.gradients != CaseGradients::elsewhere;
  if (has_some || options.unwanted_gradients) add_gradients(one);
  values_ = fetches_.size();
  const std::vector<Fetch> made = initializers();
  fetches_.insert(fetches_.end(), made.begin(), made.end());
}

std::vector<Fetch> BuiltCase::initializers() const {
  if (global_variables().empty()) return {};
  return {global_variables_initializer()};
}

Feeds BuiltCase::feeds(const std::vector<Array>& arrays) const {
  Feeds feeds;
  for (std::size_t i = 0; i < arrays.size(); ++i) feeds.emplace_back(in_.all[i], arrays[i]);
  return feeds;
}

void BuiltCase::add_gradients(const OpCase& one) {
  std::vector<Tensor> weighted;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (!is_floating(results_[i].dtype())) continue;
    weighted.push_back(reduce_sum(multiply(results_[i], weights_like(results_[i], i))));
  }
  if (weighted.empty()) return;
  const auto first = gradients(add_n(weighted), in_.all);
  std::vector<Tensor> squares;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (!first[i]) continue;
    has_gradient_[i] = true;
    const Tensor dense = convert_to_tensor(*first[i]);
    fetches_.push_back(dense);
    squares.push_back(reduce_sum(square(dense)));
  }
  if (one.gradients != CaseGradients::both || squares.empty()) return;
  for (const OptionalGradient& second : gradients(add_n(squares), in_.all)) {
    if (second) fetches_.push_back(convert_to_tensor(*second));
  }
}

}  // namespace towerflow::testing

#include "tests/ops/cases/build_case.h"

#include "autodiff/gradients.h"
#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/constant.h"
#include "ops/array/indexed_slices.h"
#include "ops/math/add_n.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"
#include "ops/variables/variable.h"

namespace towerflow::testing {
namespace {

/// Returns a cotangent for `result`: fixed random numbers in -1 .. 1, or 0.75 everywhere if the
/// graph does not know its shape.
Tensor weights_like(const Tensor& result, std::size_t index) {
  if (result.shape().fully_known()) {
    return constant(cotangent(index, result.shape(), result.dtype()));
  }
  return cast(add(result * 0.0, 0.75), result.dtype());
}

}  // namespace

Array cotangent(std::size_t index, const Shape& shape, DType dtype) {
  return random_input(shape).array(index + 100, dtype);
}

BuiltCase::BuiltCase(const OpCase& one, const Options& options)
    : case_(one), guard_(graph_.as_default()) {
  const auto device = towerflow::device(options.device);
  in_ = case_placeholders(one.inputs, options.dtype, options.unknown_shapes);
  results_ = one.call(in_);
  tensors_ = results_;
  has_gradient_.assign(in_.all.size(), false);
  if (testing::has_gradients(one) || options.unwanted_gradients) add_gradients();
  if (!global_variables().empty()) initializer_ = global_variables_initializer();
}

std::vector<Fetch> BuiltCase::initializers() const {
  if (!initializer_) return {};
  return {*initializer_};
}

std::vector<Fetch> BuiltCase::fetches() const {
  std::vector<Fetch> fetches(tensors_.begin(), tensors_.end());
  for (const Fetch& initializer : initializers()) fetches.push_back(initializer);
  return fetches;
}

Feeds BuiltCase::feeds(const std::vector<Array>& arrays) const {
  Feeds feeds;
  for (std::size_t i = 0; i < arrays.size(); ++i) feeds.emplace_back(in_.all[i], arrays[i]);
  return feeds;
}

void BuiltCase::add_gradients() {
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
    tensors_.push_back(dense);
    squares.push_back(reduce_sum(square(dense)));
  }
  if (case_.gradients != CaseGradients::both || squares.empty()) return;
  for (const OptionalGradient& second : gradients(add_n(squares), in_.all)) {
    if (second) tensors_.push_back(convert_to_tensor(*second));
  }
}

}  // namespace towerflow::testing

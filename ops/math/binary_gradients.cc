// Gradients of the binary ops, expressed in the ops themselves.
#include "core/graph/graph.h"
#include "ops/array/cast.h"
#include "ops/array/fill.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/select.h"
#include "ops/math/binary.h"
#include "ops/math/binary_ops.h"
#include "ops/math/sum_to_shape.h"
#include "ops/math/unary.h"

namespace towerflow::binary_gradients {
namespace {

/// Returns whether an operand of shape `x` is known not to be broadcast with one of shape `y`: each
/// of its sizes is known to be other than 1, or meets a 1.
bool is_not_broadcast(const Shape& x, const Shape& y) {
  if (!x.has_rank() || !y.has_rank() || x.rank() < y.rank()) return false;
  const std::size_t more = x.rank() - y.rank();
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const Dim other = i < more ? Dim(1) : y[i - more];
    if (other != Dim(1) && (!x[i].known() || x.size(i) == 1)) return false;
  }
  return true;
}

/// The inputs of a gradient rule.
struct RuleInputs {
  explicit RuleInputs(const Operation& op, const Gradients& dys)
      : site(op.site()), x(op.input(0)), y(op.input(1)), dy(dense_gradient(dys[0], site)) {}
  /// Returns the gradients of both operands, summed over the broadcast dimensions.
  Gradients reduced_gradients(const Tensor& dx, const Tensor& dz) const {
    return {summed(dx, x, y), summed(dz, y, x)};  // braces are evaluated in order
  }
  Tensor summed(const Tensor& dx, const Tensor& of, const Tensor& other) const {
    return is_not_broadcast(of.shape(), other.shape()) ? dx : sum_to_shape_of(dx, of, site);
  }
  Tensor number(double value) const { return scalar_like(x, value, site); }
  Tensor times(const Tensor& a, const Tensor& b) const { return multiply(a, b, {}, site); }

  Site site;
  Tensor x, y, dy;
};

/// Returns the gradients of both operands, given as IndexedSlices. They stay slices if nothing is
/// summed.
Gradients slices_gradients(const Operation& op, const IndexedSlices& dx, const IndexedSlices& dy) {
  const auto reduced = [&](const IndexedSlices& slices, std::size_t i) -> OptionalGradient {
    const Tensor x = op.input(i);
    if (is_not_broadcast(x.shape(), op.input(1 - i).shape())) return slices;
    return sum_to_shape_of(convert_to_tensor(slices, {}, op.site()), x, op.site());
  };
  return {reduced(dx, 0), reduced(dy, 1)};
}

}  // namespace

Gradients add(const Operation& op, const Gradients& dys) {
  if (!dys[0]->is_dense()) return slices_gradients(op, dys[0]->slices(), dys[0]->slices());
  const RuleInputs p(op, dys);
  return p.reduced_gradients(p.dy, p.dy);
}

Gradients sub(const Operation& op, const Gradients& dys) {
  if (!dys[0]->is_dense()) {
    IndexedSlices minus = dys[0]->slices();
    minus.values = negative(minus.values, {}, op.site());
    return slices_gradients(op, dys[0]->slices(), minus);
  }
  const RuleInputs p(op, dys);
  return p.reduced_gradients(p.dy, negative(p.dy, {}, p.site));
}

Gradients mul(const Operation& op, const Gradients& dys) {
  const RuleInputs p(op, dys);
  const Tensor dx = p.times(p.dy, p.y);
  const bool same_shapes =
      p.x.shape().fully_known() && p.x.shape() == p.y.shape() && p.x.shape() == p.dy.shape();
  // TensorFlow orders the factors by whether shapes and dtype allow its short form.
  const bool short_form =
      same_shapes && (p.dy.dtype() == DType::float32 || p.dy.dtype() == DType::int32);
  return p.reduced_gradients(dx, short_form ? p.times(p.dy, p.x) : p.times(p.x, p.dy));
}

Gradients real_div(const Operation& op, const Gradients& dys) {
  const RuleInputs p(op, dys);
  const Tensor dx = truediv(p.dy, p.y, {}, p.site);
  const Tensor minus = truediv(negative(p.x, {}, p.site), p.y, {}, p.site);
  const Tensor slope = truediv(minus, p.y, {}, p.site);
  return p.reduced_gradients(dx, p.times(p.dy, slope));
}

Gradients div_no_nan(const Operation& op, const Gradients& dys) {
  const RuleInputs p(op, dys);
  const auto quotient = [&](const Tensor& a) { return towerflow::div_no_nan(a, p.y, {}, p.site); };
  const Tensor dx = quotient(p.dy);
  const Tensor minus = quotient(negative(p.x, {}, p.site));
  const Tensor slope = quotient(minus);
  return p.reduced_gradients(dx, p.times(p.dy, slope));
}

Gradients floor_mod(const Operation& op, const Gradients& dys) {
  const RuleInputs p(op, dys);
  const Tensor quotient = floordiv(p.x, p.y, {}, p.site);
  const Tensor steps = negative(quotient, {}, p.site);
  return p.reduced_gradients(p.dy, p.times(p.dy, steps));
}

static Gradients select_gradients(const RuleInputs& p, const Tensor& first) {
  const Tensor zero = p.number(0);
  const Tensor dx = where_v2(first, p.dy, zero, {}, p.site);
  return p.reduced_gradients(dx, where_v2(first, zero, p.dy, {}, p.site));
}

Gradients maximum(const Operation& op, const Gradients& dys) {
  const RuleInputs p(op, dys);
  return select_gradients(p, greater_equal(p.x, p.y, {}, p.site));
}

Gradients minimum(const Operation& op, const Gradients& dys) {
  const RuleInputs p(op, dys);
  return select_gradients(p, less_equal(p.x, p.y, {}, p.site));
}

Gradients pow(const Operation& op, const Gradients& dys) {
  const RuleInputs p(op, dys);
  const Tensor z = op.output(0);
  const Tensor lower = towerflow::pow(p.x, subtract(p.y, p.number(1), {}, p.site), {}, p.site);
  const Tensor scaled = p.times(p.dy, p.y);
  const Tensor dx = p.times(scaled, lower);
  // x^y has no real derivative with respect to y where x <= 0; TensorFlow uses 0 there.
  const Tensor positive = greater(p.x, p.number(0), {}, p.site);
  const Tensor safe = where_v2(positive, p.x, p.number(1), {}, p.site);
  const Tensor log_x = where_v2(positive, log(safe, {}, p.site), p.number(0), {}, p.site);
  const Tensor grown = p.times(p.dy, z);
  return p.reduced_gradients(dx, p.times(grown, log_x));
}

Gradients squared_difference(const Operation& op, const Gradients& dys) {
  const RuleInputs p(op, dys);
  const Tensor twice = p.times(p.number(2), p.dy);
  const Tensor dx = p.times(twice, subtract(p.x, p.y, {}, p.site));
  const Tensor summed = sum_to_shape_of(dx, p.x, p.site);
  return {summed, sum_to_shape_of(negative(dx, {}, p.site), p.y, p.site)};
}

/// The first operand is the y of the angle atan(y / x).
Gradients atan2(const Operation& op, const Gradients& dys) {
  const RuleInputs p(op, dys);
  const Tensor norm = towerflow::add(square(p.x, {}, p.site), square(p.y, {}, p.site), {}, p.site);
  const Tensor by_norm = truediv(p.dy, norm, {}, p.site);
  const Tensor first = p.times(p.y, by_norm);
  return p.reduced_gradients(first, p.times(negative(p.x, {}, p.site), by_norm));
}

/// Returns 1 where x is not 0, else 0: the slope of the factor x in the three functions below.
static Tensor slope_of_factor(const RuleInputs& p) {
  return cast(not_equal(p.x, p.number(0), {}, p.site), p.x.dtype(), {}, p.site);
}

Gradients xdivy(const Operation& op, const Gradients& dys) {
  const RuleInputs p(op, dys);
  const Tensor dx = math::xdivy(slope_of_factor(p), p.y, {}, p.site);
  const Tensor squared = towerflow::pow(p.y, p.number(2), {}, p.site);
  const Tensor dz = math::xdivy(negative(p.x, {}, p.site), squared, {}, p.site);
  return p.reduced_gradients(p.times(dx, p.dy), p.times(dz, p.dy));
}

Gradients xlogy(const Operation& op, const Gradients& dys) {
  const RuleInputs p(op, dys);
  const Tensor dx = math::xlogy(slope_of_factor(p), p.y, {}, p.site);
  const Tensor dz = math::xdivy(p.x, p.y, {}, p.site);
  return p.reduced_gradients(p.times(dx, p.dy), p.times(dz, p.dy));
}

Gradients xlog1py(const Operation& op, const Gradients& dys) {
  const RuleInputs p(op, dys);
  const Tensor dx = math::xlog1py(slope_of_factor(p), p.y, {}, p.site);
  const Tensor above = towerflow::add(p.y, p.number(1), {}, p.site);
  const Tensor dz = math::xdivy(p.x, above, {}, p.site);
  return p.reduced_gradients(p.times(dx, p.dy), p.times(dz, p.dy));
}

/// The order is a whole number and has no gradient.
Gradients polygamma(const Operation& op, const Gradients& dys) {
  const RuleInputs p(op, dys);
  const Tensor next = towerflow::add(p.x, p.number(1), {}, p.site);
  const Tensor slope = towerflow::polygamma(next, p.y, {}, p.site);
  return {std::nullopt, p.summed(p.times(slope, p.dy), p.y, p.x)};
}

// In the gradient ops below, input 0 is the result y of the forward op and input 1 its gradient g;
// d is the output.

Gradients sigmoid_grad(const Operation& op, const Gradients& dys) {
  const RuleInputs p(op, dys);  // d = g y (1 - y)
  const Tensor slope = subtract(p.number(1), p.times(p.number(2), p.x), {}, p.site);
  const Tensor inner = p.times(p.x, subtract(p.number(1), p.x, {}, p.site));
  return {p.times(p.times(p.dy, p.y), slope), p.times(p.dy, inner)};
}

Gradients tanh_grad(const Operation& op, const Gradients& dys) {
  const RuleInputs p(op, dys);  // d = g (1 - y^2)
  const Tensor slope = p.times(p.number(-2), p.times(p.y, p.x));
  const Tensor inner = subtract(p.number(1), p.times(p.x, p.x), {}, p.site);
  return {p.times(p.dy, slope), p.times(p.dy, inner)};
}

Gradients sqrt_grad(const Operation& op, const Gradients& dys) {
  const RuleInputs p(op, dys);  // d = g / (2 y)
  const Tensor half = p.times(p.dy, p.number(0.5));
  const Tensor by_y = truediv(half, p.x, {}, p.site);
  return {negative(truediv(p.times(by_y, p.y), p.x, {}, p.site), {}, p.site), by_y};
}

Gradients rsqrt_grad(const Operation& op, const Gradients& dys) {
  const RuleInputs p(op, dys);  // d = -g y^3 / 2
  const Tensor square = p.times(p.x, p.x);
  return {p.times(p.times(p.number(-1.5), p.dy), p.times(p.y, square)),
          p.times(p.times(p.number(-0.5), p.dy), p.times(square, p.x))};
}

// In those of activations, input 0 is the gradient g of the result and input 1 the result, or the
// argument x.

/// Returns the gradient by g, which is the op itself.
static Tensor same_op(const Operation& op, const RuleInputs& p) {
  return p.y.graph()
      .add({.op = op.type(), .name = op.type(), .inputs = {p.dy, p.y}, .site = p.site})
      .output(0);
}

Gradients relu6_grad(const Operation& op, const Gradients& dys) {
  const RuleInputs p(op, dys);
  const Tensor dx = same_op(op, p);
  return {dx, zeros_like(p.y, {}, p.site)};
}

/// The slope below zero is the result plus a constant.
static Gradients exponential_grad(const Operation& op, const Gradients& dys) {
  const RuleInputs p(op, dys);
  const Tensor dx = same_op(op, p);
  const Tensor below = less(p.y, Operand(0, p.site), {}, p.site);
  const Tensor product = p.times(p.dy, p.x);
  const Tensor zeros = zeros_like(p.y, {}, p.site);
  return {dx, where(below, product, zeros, {}, p.site)};
}
Gradients elu_grad(const Operation& op, const Gradients& dys) { return exponential_grad(op, dys); }
Gradients selu_grad(const Operation& op, const Gradients& dys) { return exponential_grad(op, dys); }

/// d = g / (1 + |x|)^2
Gradients softsign_grad(const Operation& op, const Gradients& dys) {
  const RuleInputs p(op, dys);
  const Tensor dx = same_op(op, p);
  const Tensor above = towerflow::add(abs(p.y, {}, p.site), p.number(1), {}, p.site);
  const Tensor slope = p.times(p.number(-2), truediv(sign(p.y, {}, p.site), above, {}, p.site));
  return {dx, p.times(p.times(dx, p.x), slope)};
}

}  // namespace towerflow::binary_gradients

#include "cuda/host/dnn_pointwise.h"

#include <algorithm>
#include <cmath>

namespace towerflow::cuda::host {
namespace {

const double kSqrtHalf = std::sqrt(0.5), kTanhScale = std::sqrt(2 / M_PI);

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double normal_cdf(double x) { return 0.5 * (1 + std::erf(x * kSqrtHalf)); }
double tanh_argument(double x) { return kTanhScale * (x + 0.044715 * x * x * x); }

double relu(const DnnPointwise& p, double x) {
  if (x < p.lower) return p.lower + p.slope * (x - p.lower);
  return p.has_upper && x > p.upper ? p.upper : x;
}

/// Modes of x alone, and of x and b.
double forward(const DnnPointwise& p, double x, double b, double t) {
  switch (p.mode) {
    case CUDNN_POINTWISE_ADD:
      return x + b;
    case CUDNN_POINTWISE_ADD_SQUARE:
      return x + b * b;
    case CUDNN_POINTWISE_DIV:
      return x / b;
    // Both keep a NaN of x and of b.
    case CUDNN_POINTWISE_MAX:
      return std::isnan(x) || x > b ? x : b;
    case CUDNN_POINTWISE_MIN:
      return std::isnan(x) || x < b ? x : b;
    case CUDNN_POINTWISE_MOD:
      return std::fmod(x, b);
    case CUDNN_POINTWISE_MUL:
      return x * b;
    case CUDNN_POINTWISE_POW:
      return std::pow(x, b);
    case CUDNN_POINTWISE_SUB:
      return x - b;
    case CUDNN_POINTWISE_ATAN2:
      return std::atan2(x, b);
    case CUDNN_POINTWISE_ABS:
      return std::abs(x);
    case CUDNN_POINTWISE_CEIL:
      return std::ceil(x);
    case CUDNN_POINTWISE_COS:
      return std::cos(x);
    case CUDNN_POINTWISE_EXP:
      return std::exp(x);
    case CUDNN_POINTWISE_FLOOR:
      return std::floor(x);
    case CUDNN_POINTWISE_LOG:
      return std::log(x);
    case CUDNN_POINTWISE_NEG:
      return -x;
    case CUDNN_POINTWISE_RSQRT:
      return 1 / std::sqrt(x);
    case CUDNN_POINTWISE_SIN:
      return std::sin(x);
    case CUDNN_POINTWISE_SQRT:
      return std::sqrt(x);
    case CUDNN_POINTWISE_TAN:
      return std::tan(x);
    case CUDNN_POINTWISE_ERF:
      return std::erf(x);
    case CUDNN_POINTWISE_IDENTITY:
      return x;
    case CUDNN_POINTWISE_RECIPROCAL:
      return 1 / x;
    case CUDNN_POINTWISE_RELU_FWD:
      return relu(p, x);
    case CUDNN_POINTWISE_TANH_FWD:
      return std::tanh(x);
    case CUDNN_POINTWISE_SIGMOID_FWD:
      return sigmoid(x);
    case CUDNN_POINTWISE_ELU_FWD:
      return x > 0 ? x : p.elu_alpha * std::expm1(x);
    case CUDNN_POINTWISE_GELU_FWD:
      return x * normal_cdf(x);
    case CUDNN_POINTWISE_SOFTPLUS_FWD:
      return std::log1p(std::exp(-std::abs(p.softplus_beta * x))) / p.softplus_beta +
             std::max(x, 0.0);
    case CUDNN_POINTWISE_SWISH_FWD:
      return x * sigmoid(p.swish_beta * x);
    case CUDNN_POINTWISE_GELU_APPROX_TANH_FWD:
      return 0.5 * x * (1 + std::tanh(tanh_argument(x)));
    case CUDNN_POINTWISE_CMP_EQ:
      return x == b ? 1 : 0;
    case CUDNN_POINTWISE_CMP_NEQ:
      return x != b ? 1 : 0;
    case CUDNN_POINTWISE_CMP_GT:
      return x > b ? 1 : 0;
    case CUDNN_POINTWISE_CMP_GE:
      return x >= b ? 1 : 0;
    case CUDNN_POINTWISE_CMP_LT:
      return x < b ? 1 : 0;
    case CUDNN_POINTWISE_CMP_LE:
      return x <= b ? 1 : 0;
    case CUDNN_POINTWISE_LOGICAL_AND:
      return x != 0 && b != 0 ? 1 : 0;
    case CUDNN_POINTWISE_LOGICAL_OR:
      return x != 0 || b != 0 ? 1 : 0;
    case CUDNN_POINTWISE_LOGICAL_NOT:
      return x == 0 ? 1 : 0;
    case CUDNN_POINTWISE_BINARY_SELECT:
      return t != 0 ? x : b;
    default:
      return NAN;
  }
}

/// The derivative of a mode at x.
double derivative(const DnnPointwise& p, double x) {
  switch (p.mode) {
    case CUDNN_POINTWISE_RELU_BWD:
      if (x <= p.lower) return p.slope;
      return p.has_upper && x >= p.upper ? 0 : 1;
    case CUDNN_POINTWISE_TANH_BWD:
      return 1 - std::tanh(x) * std::tanh(x);
    case CUDNN_POINTWISE_SIGMOID_BWD:
      return sigmoid(x) * (1 - sigmoid(x));
    case CUDNN_POINTWISE_ELU_BWD:
      return x > 0 ? 1 : p.elu_alpha * std::exp(x);
    case CUDNN_POINTWISE_GELU_BWD:
      return normal_cdf(x) + x * std::exp(-0.5 * x * x) / std::sqrt(2 * M_PI);
    case CUDNN_POINTWISE_SOFTPLUS_BWD:
      return sigmoid(p.softplus_beta * x);
    case CUDNN_POINTWISE_SWISH_BWD: {
      const double s = sigmoid(p.swish_beta * x);
      return s + p.swish_beta * x * s * (1 - s);
    }
    case CUDNN_POINTWISE_GELU_APPROX_TANH_BWD: {
      const double t = std::tanh(tanh_argument(x));
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kTanhScale * (1 + 3 * 0.044715 * x * x);
    }
    default:
      return NAN;
  }
}

/// Walks through an operand in the order of the result; its dimensions of size 1 stand still.
class Cursor {
 public:
  Cursor(const DnnArray* array, const std::vector<std::int64_t>& order,
         const std::vector<std::int64_t>& to)
      : array_(array), steps_(order.size(), 0) {
    if (array == nullptr) return;
    std::int64_t step = 1;
    for (std::size_t i = order.size(); i-- > 0;) {
      const auto d = static_cast<std::size_t>(order[i]);
      if (array->dims[d] == to[d]) steps_[i] = step;
      step *= array->dims[d];
    }
  }

  double at(const std::vector<std::int64_t>& index) const {
    if (array_ == nullptr) return 0;
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < index.size(); ++i) offset += index[i] * steps_[i];
    return array_->values[static_cast<std::size_t>(offset)];
  }

 private:
  const DnnArray* array_;
  std::vector<std::int64_t> steps_;
};

}  // namespace

DnnPointwiseInputs inputs_of(cudnnPointwiseMode_t mode) {
  switch (mode) {
    case CUDNN_POINTWISE_ADD:
    case CUDNN_POINTWISE_ADD_SQUARE:
    case CUDNN_POINTWISE_DIV:
    case CUDNN_POINTWISE_MAX:
    case CUDNN_POINTWISE_MIN:
    case CUDNN_POINTWISE_MOD:
    case CUDNN_POINTWISE_MUL:
    case CUDNN_POINTWISE_POW:
    case CUDNN_POINTWISE_SUB:
    case CUDNN_POINTWISE_ATAN2:
    case CUDNN_POINTWISE_CMP_EQ:
    case CUDNN_POINTWISE_CMP_NEQ:
    case CUDNN_POINTWISE_CMP_GT:
    case CUDNN_POINTWISE_CMP_GE:
    case CUDNN_POINTWISE_CMP_LT:
    case CUDNN_POINTWISE_CMP_LE:
    case CUDNN_POINTWISE_LOGICAL_AND:
    case CUDNN_POINTWISE_LOGICAL_OR:
      return {true, true, false, false};
    case CUDNN_POINTWISE_BINARY_SELECT:
      return {true, true, true, false};
    case CUDNN_POINTWISE_RELU_BWD:
    case CUDNN_POINTWISE_TANH_BWD:
    case CUDNN_POINTWISE_SIGMOID_BWD:
    case CUDNN_POINTWISE_ELU_BWD:
    case CUDNN_POINTWISE_GELU_BWD:
    case CUDNN_POINTWISE_SOFTPLUS_BWD:
    case CUDNN_POINTWISE_SWISH_BWD:
    case CUDNN_POINTWISE_GELU_APPROX_TANH_BWD:
      return {true, false, false, true};
    case CUDNN_POINTWISE_GEN_INDEX:
      return {};
    default:
      break;
  }
  const int number = static_cast<int>(mode);
  const bool math = number == 4 || (number >= 10 && number <= 22);
  const bool activation = number >= 100 && number <= 107;
  return {math || activation || mode == CUDNN_POINTWISE_LOGICAL_NOT, false, false, false};
}

bool broadcasts(const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& to) {
  if (from.size() != to.size()) return false;
  for (std::size_t d = 0; d < to.size(); ++d) {
    if (from[d] != to[d] && from[d] != 1) return false;
  }
  return true;
}

void compute(const DnnPointwise& pointwise, const DnnArray* x, const DnnArray* b, const DnnArray* t,
             DnnArray& result) {
  // The order of an array: batch, spatial dimensions, channels.
  std::vector<std::int64_t> order = {0};
  for (std::size_t d = 2; d < result.dims.size(); ++d)
    order.push_back(static_cast<std::int64_t>(d));
  if (result.dims.size() > 1) order.push_back(1);
  const Cursor x_cursor(x, order, result.dims), b_cursor(b, order, result.dims),
      t_cursor(t, order, result.dims);
  const bool backward = inputs_of(pointwise.mode).backward;
  std::vector<std::int64_t> index(order.size(), 0);
  for (double& value : result.values) {
    const double first = pointwise.alpha1 * x_cursor.at(index);
    const double second = pointwise.alpha2 * b_cursor.at(index);
    value = backward ? second * derivative(pointwise, first)
                     : forward(pointwise, first, second, t_cursor.at(index));
    for (std::size_t i = order.size(); i-- > 0;) {
      if (++index[i] < result.dims[static_cast<std::size_t>(order[i])]) break;
      index[i] = 0;
    }
  }
}

}  // namespace towerflow::cuda::host

#include "ops/nn/softmax.h"

#include <fmt/format.h>

#include <cmath>

#include "core/graph/op_builder.h"
#include "ops/array/concat.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/rank_size.h"
#include "ops/array/transpose.h"
#include "ops/family.h"
#include "ops/math/binary.h"
#include "ops/math/range.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"
#include "ops/nn/kernels.h"
#include "ops/nn/window_args.h"
#include "ops/simd/loops.h"

namespace towerflow::nn {
namespace {

void softmax_shape(InferenceContext& context) {
  require_dtype(context, 0, "logits", kFloats);
  const Shape& logits = context.shape(0);
  if (logits.has_rank() && logits.rank() < 1) {
    fail_with_shapes(context, "Shape must be at least rank 1 but is rank 0");
  }
  context.add_output(context.dtype(0), logits);
}

Tensor row_sums(const Tensor& x, Site site) { return reduce_sum(x, -1, {.keepdims = true}, site); }

std::vector<OptionalGradient> softmax_gradient(const Operation& op,
                                               const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const Tensor y = op.output(0), dy = dense_gradient(dys[0], op.site());
  const Tensor sums = row_sums(multiply(dy, y, {}, site), site);
  return {multiply(subtract(dy, sums, {}, site), y, {}, site)};
}

std::vector<OptionalGradient> log_softmax_gradient(const Operation& op,
                                                   const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const Tensor dy = dense_gradient(dys[0], op.site());
  const Tensor softmax = exp(op.output(0), {}, site);
  return {subtract(dy, multiply(row_sums(dy, site), softmax, {}, site), {}, site)};
}

double largest_of(const double* x, std::int64_t n) {
  double m = x[0];
  for (std::int64_t i = 1; i < n; ++i) m = x[i] > m ? x[i] : m;
  return m;
}

void softmax_rows(const double* x, double* y, std::int64_t rows, std::int64_t classes) {
  for (; rows > 0; --rows, x += classes, y += classes) {
    const double m = largest_of(x, classes);
    double sum = 0;
    for (std::int64_t i = 0; i < classes; ++i) sum += y[i] = std::exp(x[i] - m);
    for (std::int64_t i = 0; i < classes; ++i) y[i] /= sum;
  }
}

void log_softmax_rows(const double* x, double* y, std::int64_t rows, std::int64_t classes) {
  for (; rows > 0; --rows, x += classes, y += classes) {
    const double m = largest_of(x, classes);
    double sum = 0;
    for (std::int64_t i = 0; i < classes; ++i) sum += std::exp(x[i] - m);
    const double log_sum = std::log(sum);
    for (std::int64_t i = 0; i < classes; ++i) y[i] = x[i] - m - log_sum;
  }
}

template <class T>
using RowsLoop = void (*)(const T* x, T* y, std::int64_t rows, std::int64_t classes);

template <class T>
std::unique_ptr<PreparedKernel> softmax_kernel(const KernelRequest& request, RowsLoop<T> loop) {
  const Shape& logits = request.inputs[0].shape;
  const std::int64_t classes = logits.size(logits.rank() - 1);
  const std::int64_t rows = classes == 0 ? 0 : logits.elements() / classes;
  return rows_kernel(
      rows, 4 * classes,  // a softmax costs about as much as four additions
      [classes, loop](SliceRange range, const void* const* inputs, void* const* outputs) {
        loop(in<T>(inputs, 0) + range.begin * classes, out<T>(outputs, 0) + range.begin * classes,
             range.size(), classes);
      },
      {{0, 0}});
}

Tensor softmax_node(const char* op, const Tensor& logits, const std::string& name, Site site) {
  const Operand tensor(logits, site);
  return OpBuilder(op, name, site, {&tensor}).input(tensor, "logits").output();
}

/// An axis, as a number or as a tensor that is computed from a negative one.
struct SoftmaxAxis {
  std::optional<std::int64_t> number;
  Tensor tensor;
  Operand operand(Site site) const {
    return number ? Operand(*number, site) : Operand(tensor, site);
  }
  /// Returns a vector of this axis alone.
  Operand alone(Site site) const {
    if (number) return Operand(std::vector<int>{static_cast<int>(*number)}, site);
    return Operand(std::vector<Tensor>{tensor}, site);
  }
  Operand next(Site site) const {
    return number ? Operand(*number + 1, site) : Operand(operand(site) + Operand(1, site), site);
  }
};

/// Swaps an axis with the last one.
Tensor swap_with_last(const Tensor& x, const SoftmaxAxis& axis, const Tensor& dims,
                      const std::string& name, Site site) {
  const Tensor last = subtract(dims, 1, {}, site);
  const Tensor before = range(axis.operand(site), {}, site);
  const Operand next = axis.next(site);
  const Tensor between = range(next, last, 1, {}, site);
  const Tensor order = concat({Operand(before, site), Operand(std::vector<Tensor>{last}, site),
                               Operand(between, site), axis.alone(site)},
                              0, {}, site);
  return transpose(x, order, {.name = name}, site);
}

Tensor build_softmax(const char* op, const Operand& logits, const SoftmaxOptions& options,
                     Site site) {
  if (options.axis && options.dim) {
    throw ValueError("Cannot specify both 'dim' and 'axis'.", {.site = site, .op = op});
  }
  const std::int64_t given = options.axis.value_or(options.dim.value_or(-1));
  // TensorFlow converts logits before it opens the op's scope: a constant is named "Const".
  const Tensor x = convert_operand(graph_of(logits), logits, "", std::nullopt);
  const Shape known = x.shape();
  const auto rank_of_x = known.has_rank() ? static_cast<std::int64_t>(known.rank()) : 0;
  if (given == -1 || (known.has_rank() && given == rank_of_x - 1)) {
    return softmax_node(op, x, options.name, site);
  }
  if (!known.has_rank()) {
    throw TypeError("the rank of logits must be known for an axis that is not -1",
                    {.site = site, .op = op, .hint = "set_shape sets what the graph cannot infer"});
  }
  if (given < -rank_of_x || given >= rank_of_x) {
    throw errors::InvalidArgumentError(
        fmt::format(
            "`dim` must be in the range [{}, {}) where {} is the number of dimensions in the "
            "input. Received: dim={}",
            -rank_of_x, rank_of_x, rank_of_x, given),
        {.site = site, .op = op});
  }
  const Tensor dims = rank(x, {}, site);
  SoftmaxAxis axis{.number = given, .tensor = {}};
  std::optional<Tensor> counted;
  if (given < 0) counted = Operand(given, site) + Operand(dims, site);
  const Tensor own_rank = rank(x, {}, site);
  if (counted) {
    axis.tensor = Operand(*counted, site) % Operand(rank_of_x, site);
    axis.number.reset();
  }
  const Tensor turned = swap_with_last(x, axis, own_rank, "", site);
  Tensor result =
      swap_with_last(softmax_node(op, turned, "", site), axis, own_rank, options.name, site);
  result.set_shape(known, site);
  return result;
}

}  // namespace

static void register_softmax_ops(OpRegistry& registry) {
  registry.add({.name = "Softmax",
                .inputs = {"logits: T"},
                .outputs = {"softmax: T"},
                .shape = softmax_shape,
                .gradient = softmax_gradient});
  registry.add({.name = "LogSoftmax",
                .inputs = {"logits: T"},
                .outputs = {"logsoftmax: T"},
                .shape = softmax_shape,
                .gradient = log_softmax_gradient});
}

static void register_softmax_kernels(KernelTable& table) {
  add_kernel(table, "Softmax", "simd", 0, {DType::float32}, [](const KernelRequest& request) {
    return softmax_kernel(request, simd::loops().softmax);
  });
  add_kernel(table, "Softmax", "reference", 0, {DType::float64},
             [](const KernelRequest& request) { return softmax_kernel(request, softmax_rows); });
  add_kernel(table, "LogSoftmax", "simd", 0, {DType::float32}, [](const KernelRequest& request) {
    return softmax_kernel(request, simd::loops().log_softmax);
  });
  add_kernel(
      table, "LogSoftmax", "reference", 0, {DType::float64},
      [](const KernelRequest& request) { return softmax_kernel(request, log_softmax_rows); });
}

Tensor softmax(const Operand& logits, SoftmaxOptions options, Site site) {
  return build_softmax("Softmax", logits, options, site);
}

Tensor log_softmax(const Operand& logits, SoftmaxOptions options, Site site) {
  return build_softmax("LogSoftmax", logits, options, site);
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily softmax_family() {
  return {.ops = nn::register_softmax_ops, .kernels = nn::register_softmax_kernels};
}
}  // namespace towerflow

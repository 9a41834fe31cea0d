#include "ops/math/matmul.h"

#include <fmt/format.h>

#include <cmath>
#include <tuple>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/family.h"
#include "ops/math/batch_matmul.h"
#include "ops/math/matmul_attrs.h"
#include "ops/onednn/matmul.h"
#include "ops/reference/matmul.h"

namespace towerflow {
namespace {

bool accepts_dtype(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::int32 ||
         dtype == DType::int64;
}

void matmul_shape(InferenceContext& context) {
  const DType dtype = context.dtype(0);
  if (!accepts_dtype(dtype)) {
    context.fail_type(
        fmt::format("Value passed to parameter 'a' has DataType {} not in list of "
                    "allowed values: float32, float64, int32, int64",
                    dtype_name(dtype)));
  }
  if (context.dtype(1) != dtype) {
    context.fail_type(
        fmt::format("Input 'b' has type {} that does not match type {} of argument "
                    "'a'.",
                    dtype_name(context.dtype(1)), dtype_name(dtype)));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (context.shape(i).has_rank() && context.shape(i).rank() != 2) {
      context.fail(fmt::format("Shape must be rank 2 but is rank {}: operand '{}' of shape {}",
                               context.shape(i).rank(), i == 0 ? 'a' : 'b',
                               context.shape(i).text()));
    }
  }
  const auto& attrs = context.attrs<MatMulAttrs>();
  const Shape a = context.shape(0).has_rank() ? context.shape(0) : Shape::of_rank(2);
  const Shape b = context.shape(1).has_rank() ? context.shape(1) : Shape::of_rank(2);
  const Dim inner_a = a[attrs.transpose_a ? 0 : 1];
  const Dim inner_b = b[attrs.transpose_b ? 1 : 0];
  if (inner_a.known() && inner_b.known() && inner_a != inner_b) {
    context.fail(fmt::format(
        "Dimensions must be equal, but are {} and {}: the product of {}{} and "
        "{}{}",
        inner_a.size(), inner_b.size(), a.text(), attrs.transpose_a ? " transposed" : "", b.text(),
        attrs.transpose_b ? " transposed" : ""));
  }
  context.add_output(dtype, Shape{a[attrs.transpose_a ? 1 : 0], b[attrs.transpose_b ? 0 : 1]});
}

std::vector<OptionalGradient> matmul_gradient(const Operation& op,
                                              const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const auto& attrs = op.attrs().as<MatMulAttrs>();
  const Tensor a = op.input(0);
  const Tensor b = op.input(1);
  const Tensor dy = dense_gradient(dys[0], site);
  const auto product = [&](const Tensor& x, const Tensor& y, bool tx, bool ty) {
    return OpBuilder("MatMul", "", site, {})
        .input(x, "a", "T")
        .input(y, "b", "T")
        .attrs(MatMulAttrs{tx, ty})
        .output();
  };
  const Tensor da = attrs.transpose_a ? product(b, dy, attrs.transpose_b, true)
                                      : product(dy, b, false, !attrs.transpose_b);
  const Tensor db = attrs.transpose_b ? product(dy, a, true, attrs.transpose_a)
                                      : product(a, dy, !attrs.transpose_a, false);
  return {da, db};
}

onednn::MatMulShape geometry(const KernelRequest& request) {
  const auto& attrs = request.attributes<MatMulAttrs>();
  const Shape& a = request.inputs[0].shape;
  const Shape& c = request.outputs[0].shape;
  return {.rows = c.size(0),
          .inner = a.size(attrs.transpose_a ? 0 : 1),
          .columns = c.size(1),
          .transpose_a = attrs.transpose_a,
          .transpose_b = attrs.transpose_b};
}

std::unique_ptr<PreparedKernel> reference_kernel(const KernelRequest& request) {
  const onednn::MatMulShape g = geometry(request);
  const DType dtype = request.inputs[0].dtype;
  return function_kernel(
      [g, dtype](const LaunchArgs& args) {
        const auto run = [&]<class T, class Sum>() {
          reference::matmul(g.rows, g.inner, g.columns, g.transpose_a, g.transpose_b,
                            args.input<T>(0), args.input<T>(1), args.output<Sum>(0));
        };
        if (dtype == DType::float64) return run.template operator()<double, double>();
        // Unsigned sums wrap around, as integer sums should.
        if (dtype == DType::int32) return run.template operator()<std::uint32_t, std::uint32_t>();
        if (dtype == DType::int64) return run.template operator()<std::uint64_t, std::uint64_t>();
        run.template operator()<float, float>();
      },
      {.may_fail = false});
}

}  // namespace

Cost matmul_cost(std::span<const OutputSpec> inputs, std::span<const OutputSpec> outputs) {
  const auto elements = [](const OutputSpec& spec) {
    return static_cast<double>(spec.shape.elements());
  };
  const double a = elements(inputs[0]);
  const double b = elements(inputs[1]);
  const double c = elements(outputs[0]);
  const double inner = c > 0 ? std::sqrt(a * b / c) : 0;
  return {2 * c * inner, (a + b + c) * static_cast<double>(dtype_size(outputs[0].dtype))};
}

static void register_matmul_ops(OpRegistry& registry) {
  registry.add({.name = "MatMul",
                .inputs = {"a: T", "b: T"},
                .outputs = {"product: T"},
                .attrs = attributes<MatMulAttrs>(),
                .shape = matmul_shape,
                .gradient = matmul_gradient,
                .cost = matmul_cost});
}

static void register_matmul_kernels(KernelTable& table) {
  table.add(
      {.op = "MatMul",
       .label = "oneDNN",
       .accepts =
           [](const KernelRequest& request) { return request.inputs[0].dtype == DType::float32; },
       .prepare =
           [](const KernelRequest& request) {
             return sliced_kernel(onednn::make_matmul(geometry(request)));
           }});
  table.add({.op = "MatMul", .label = "reference", .accepts = {}, .prepare = reference_kernel});
}

OpFamily matmul_family() {
  return {.ops = register_matmul_ops, .kernels = register_matmul_kernels};
}

Tensor matmul(const Operand& a, const Operand& b, MatMulOptions options, Site site) {
  OpBuilder builder("MatMul", options.name, site, {&a, &b});
  for (const auto& [transpose, adjoint, letter] :
       {std::tuple{options.transpose_a, options.adjoint_a, 'a'},
        std::tuple{options.transpose_b, options.adjoint_b, 'b'}}) {
    if (!transpose || !adjoint) continue;
    throw ValueError(
        fmt::format("Only one of `transpose_{0}` and `adjoint_{0}` can be True.", letter),
        {.site = site, .op = "MatMul"});
  }
  const bool turn_a = options.transpose_a || options.adjoint_a;
  const bool turn_b = options.transpose_b || options.adjoint_b;
  builder.input(a, "a", "T").eager_input(b, "b", "T");
  const auto is_matrix = [](const Tensor& x) {
    return x.shape().has_rank() && x.shape().rank() <= 2;
  };
  const std::vector<Tensor> operands = builder.tensors();
  if (is_matrix(operands[0]) && is_matrix(operands[1])) {
    return builder.attrs(MatMulAttrs{turn_a, turn_b}).output();
  }
  return batch_matmul(operands[0], operands[1], turn_a, turn_b, builder.scope(), site);
}

}  // namespace towerflow

#include "ops/math/batch_matmul.h"

#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/math/batch_matmul_attrs.h"
#include "ops/math/batch_product.h"
#include "ops/math/matmul.h"
#include "ops/math/sum_to_shape.h"
#include "ops/reference/matmul.h"

namespace towerflow {
namespace {

bool batch_matmul_accepts(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::int32 ||
         dtype == DType::int64;
}

void batch_matmul_shape(InferenceContext& context) {
  const DType dtype = context.dtype(0);
  if (!batch_matmul_accepts(dtype) || context.dtype(1) != dtype) {
    context.fail_type(
        fmt::format("operands are {} and {}, not both float32, float64, int32 or int64",
                    dtype_name(dtype), dtype_name(context.dtype(1))));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (context.shape(i).has_rank() && context.shape(i).rank() < 2) {
      context.fail(
          fmt::format("Shape must be at least rank 2 but is rank {}: operand '{}' of shape {}",
                      context.shape(i).rank(), i == 0 ? 'x' : 'y', context.shape(i).text()));
    }
  }
  const Shape &x = context.shape(0), &y = context.shape(1);
  if (!x.has_rank() || !y.has_rank()) return context.add_output(dtype, Shape::unknown());
  const auto& attrs = context.attrs<BatchMatMulAttrs>();
  const auto from_end = [](const Shape& s, std::size_t i) { return s[s.rank() - i]; };
  const Dim inner_x = from_end(x, attrs.adj_x ? 2 : 1), inner_y = from_end(y, attrs.adj_y ? 1 : 2);
  if (inner_x.known() && inner_y.known() && inner_x != inner_y) {
    context.fail(
        fmt::format("Dimensions must be equal, but are {} and {}: the product of {}{} and {}{}",
                    inner_x.size(), inner_y.size(), x.text(), attrs.adj_x ? " transposed" : "",
                    y.text(), attrs.adj_y ? " transposed" : ""));
  }
  const auto batch = [](const Shape& s) {
    return Shape(std::vector<Dim>(s.dims().begin(), s.dims().end() - 2));
  };
  const auto together = broadcast_shapes(batch(x), batch(y));
  if (!together) {
    context.fail(
        fmt::format("Dimensions must be equal, but the batches of {} and {} do not broadcast",
                    x.text(), y.text()));
  }
  std::vector<Dim> dims(together->dims().begin(), together->dims().end());
  dims.push_back(from_end(x, attrs.adj_x ? 1 : 2));
  dims.push_back(from_end(y, attrs.adj_y ? 2 : 1));
  context.add_output(dtype, Shape(std::move(dims)));
}

std::vector<OptionalGradient> batch_matmul_gradient(const Operation& op,
                                                    const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const auto& attrs = op.attrs().as<BatchMatMulAttrs>();
  const Tensor x = op.input(0), y = op.input(1);
  const Tensor dy = dense_gradient(dys[0], site);
  const auto product = [&](const Tensor& a, const Tensor& b, bool adjoint_a, bool adjoint_b) {
    return matmul(a, b, {.adjoint_a = adjoint_a, .adjoint_b = adjoint_b}, site);
  };
  const Tensor dx =
      attrs.adj_x ? product(y, dy, attrs.adj_y, true) : product(dy, y, false, !attrs.adj_y);
  const Tensor dz =
      attrs.adj_y ? product(dy, x, true, attrs.adj_x) : product(x, dy, !attrs.adj_x, false);
  return {sum_to_shape_of(dx, x, site), sum_to_shape_of(dz, y, site)};
}

BatchProduct batch_of(const KernelRequest& request) {
  check_kernel_rank(request);
  const auto& attrs = request.attributes<BatchMatMulAttrs>();
  return BatchProduct::of(request.inputs[0].shape, request.inputs[1].shape, attrs.adj_x,
                          attrs.adj_y);
}

std::unique_ptr<PreparedKernel> batch_matmul_reference(const KernelRequest& request) {
  return function_kernel(
      [batch = batch_of(request), dtype = request.inputs[0].dtype](const LaunchArgs& args) {
        const onednn::MatMulShape& m = batch.matrix;
        const auto run = [&]<class T>() {
          for (std::int64_t i = 0; i < batch.count(); ++i) {
            const auto at = static_cast<std::size_t>(i);
            reference::matmul(m.rows, m.inner, m.columns, m.transpose_a, m.transpose_b,
                              args.input<T>(0) + batch.x_of[at] * m.rows * m.inner,
                              args.input<T>(1) + batch.y_of[at] * m.inner * m.columns,
                              args.output<T>(0) + i * m.rows * m.columns);
          }
        };
        if (dtype == DType::float64) return run.template operator()<double>();
        // Unsigned sums wrap around, as integer sums should.
        if (dtype == DType::int32) return run.template operator()<std::uint32_t>();
        if (dtype == DType::int64) return run.template operator()<std::uint64_t>();
        run.template operator()<float>();
      },
      {.may_fail = false});
}

Cost batch_matmul_cost(std::span<const OutputSpec> inputs, std::span<const OutputSpec> outputs) {
  const auto elements = [](const OutputSpec& spec) {
    return static_cast<double>(spec.shape.elements());
  };
  const Shape &x = inputs[0].shape, &z = outputs[0].shape;
  const double rows = static_cast<double>(std::max<std::int64_t>(z.size(z.rank() - 2), 1));
  const double matrix =
      static_cast<double>(x.size(x.rank() - 1)) * static_cast<double>(x.size(x.rank() - 2));
  return {2 * elements(outputs[0]) * matrix / rows,
          (elements(inputs[0]) + elements(inputs[1]) + elements(outputs[0])) *
              static_cast<double>(dtype_size(outputs[0].dtype))};
}

}  // namespace

static void register_batch_matmul_ops(OpRegistry& registry) {
  registry.add({.name = "BatchMatMulV2",
                .inputs = {"x: T", "y: T"},
                .outputs = {"output: T"},
                .attrs = attributes<BatchMatMulAttrs>(),
                .shape = batch_matmul_shape,
                .gradient = batch_matmul_gradient,
                .cost = batch_matmul_cost});
}

static void register_batch_matmul_kernels(KernelTable& table) {
  table.add(
      {.op = "BatchMatMulV2",
       .label = "oneDNN",
       .accepts =
           [](const KernelRequest& request) { return request.inputs[0].dtype == DType::float32; },
       .prepare =
           [](const KernelRequest& request) {
             return sliced_kernel(make_batch_product(batch_of(request)));
           }});
  table.add({.op = "BatchMatMulV2",
             .label = "reference",
             .accepts = {},
             .prepare = batch_matmul_reference});
}

OpFamily batch_matmul_family() {
  return {.ops = register_batch_matmul_ops, .kernels = register_batch_matmul_kernels};
}

Tensor batch_matmul(const Tensor& x, const Tensor& y, bool adjoint_x, bool adjoint_y,
                    const std::string& name, Site site) {
  return OpBuilder("BatchMatMulV2", name, site, {})
      .input(x, "x", "T")
      .input(y, "y", "T")
      .attrs(BatchMatMulAttrs{adjoint_x, adjoint_y})
      .output();
}

}  // namespace towerflow

#include "ops/math/cumprod.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "core/graph/short_float.h"
#include "ops/array/indexed_slices.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/math/binary.h"
#include "ops/math/binary_functors.h"
#include "ops/math/cumsum.h"
#include "ops/math/scan_attrs.h"
#include "ops/range_kernel.h"

namespace towerflow {
namespace {

void require_factor(DType dtype, Site site = {}) {
  if (dtype != DType::bool_ && dispatch_dtype(widened(dtype), []<class T>() {})) return;
  throw TypeError(
      fmt::format("Value passed to parameter 'x' has DataType {}, which is not a number",
                  dtype_name(dtype)),
      {.site = site, .op = "Cumprod"});
}

void cumprod_shape(InferenceContext& context) {
  require_factor(context.dtype(0));
  context.add_output(context.dtype(0), context.shape(0));
}

Tensor add_cumprod(const Operand& x, const ScalarOperand& axis, CumprodAttrs attrs,
                   const std::string& name, Site site) {
  OpBuilder builder("Cumprod", name, site, {&x, &axis});
  builder.input(x, "x");
  require_factor(builder.tensors()[0].dtype(), site);  // before the axis becomes a constant
  return builder.index_input(axis, "axis").attrs(attrs).output();
}

/// Each product from i on has x[i] as a factor, so dx[i] is the sum of dy y from i on, over x[i].
std::vector<OptionalGradient> cumprod_gradient(const Operation& op,
                                               const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const CumprodAttrs attrs = op.attrs().as<CumprodAttrs>();
  const Operand x(op.input(0), site);
  const Operand axis(op.input(1), site);
  const Tensor products = add_cumprod(x, axis, attrs, "", site);
  const Tensor weighted = multiply(products, dense_gradient(dys[0], site), {}, site);
  const Tensor sums =
      cumsum(weighted, axis, {.exclusive = attrs.exclusive, .reverse = !attrs.reverse}, site);
  return {div_no_nan(sums, x, {}, site), std::nullopt};
}

/// A tensor as `blocks` blocks of `rows` rows of `row` elements; the rows of a block are
/// multiplied.
struct ProductScan {
  std::int64_t blocks = 1;
  std::int64_t rows = 1;
  std::int64_t row = 1;
  CumprodAttrs attrs;

  explicit ProductScan(const KernelRequest& request) : attrs(request.attributes<CumprodAttrs>()) {
    check_kernel_rank(request);
    const Array& axis = request.values.at(1);
    if (axis.shape().rank() != 0) {
      throw errors::InvalidArgumentError(
          fmt::format("the axis of a cumprod must be a scalar, not {}", axis.shape().text()));
    }
    const Shape& x = request.inputs[0].shape;
    const std::size_t at = checked_axis(integers_of(axis)[0], x.rank());
    for (std::size_t i = 0; i < at; ++i) blocks *= x.size(i);
    rows = x.size(at);
    for (std::size_t i = at + 1; i < x.rank(); ++i) row *= x.size(i);
  }

  /// Multiplies elements `begin` .. `end` - 1 of the rows of a block, row by row.
  template <class T>
  void multiply_rows(const T* x, T* y, std::int64_t begin, std::int64_t end) const {
    const functors::Mul<T> mul;
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t at = (attrs.reverse ? rows - 1 - i : i) * row;
      const std::int64_t before = attrs.reverse ? at + row : at - row;
      const std::int64_t factor = attrs.exclusive ? before : at;
      for (std::int64_t j = begin; j < end; ++j) {
        if (i == 0)
          y[at + j] = attrs.exclusive ? T(1) : x[at + j];
        else
          y[at + j] = mul(y[before + j], x[factor + j]);
      }
    }
  }
};

/// The slices divide the blocks, or the columns of a single one.
std::unique_ptr<PreparedKernel> cumprod_kernel(const KernelRequest& request) {
  const ProductScan scan(request);
  return for_real_type(request.inputs[0].dtype, [&]<class T>() {
    const std::int64_t block = scan.rows * scan.row;
    const bool by_block = scan.blocks > 1;
    return rows_kernel(
        by_block ? scan.blocks : scan.row, by_block ? block : scan.rows,
        [scan, block, by_block](SliceRange part, const void* const* inputs, void* const* outputs) {
          const T* x = static_cast<const T*>(inputs[0]);
          T* y = static_cast<T*>(outputs[0]);
          if (!by_block) {
            if (scan.blocks == 1) scan.multiply_rows(x, y, part.begin, part.end);
            return;
          }
          for (std::int64_t i = part.begin; i < part.end; ++i) {
            scan.multiply_rows(x + i * block, y + i * block, 0, scan.row);
          }
        });
  });
}

}  // namespace

static void register_cumprod_ops(OpRegistry& registry) {
  registry.add({.name = "Cumprod",
                .inputs = {"x: T", "axis: Index(Tidx)"},
                .outputs = {"out: T"},
                .attrs = attributes<CumprodAttrs>(),
                .shape = cumprod_shape,
                .gradient = cumprod_gradient,
                .static_inputs = {1}});
}

static void register_cumprod_kernels(KernelTable& table) {
  table.add({.op = "Cumprod", .label = "rows", .accepts = {}, .prepare = cumprod_kernel});
}

OpFamily cumprod_family() {
  return {.ops = register_cumprod_ops, .kernels = register_cumprod_kernels};
}

Tensor cumprod(const Operand& x, const ScalarOperand& axis, CumprodOptions options, Site site) {
  return add_cumprod(x, axis, {options.exclusive, options.reverse}, options.name, site);
}

}  // namespace towerflow

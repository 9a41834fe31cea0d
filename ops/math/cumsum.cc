#include "ops/math/cumsum.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "core/graph/short_float.h"
#include "ops/array/indexed_slices.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/math/binary_functors.h"
#include "ops/math/scan_attrs.h"

namespace towerflow {
namespace {

void require_numeric(DType dtype, Site site = {}) {
  if (dtype != DType::bool_ && dispatch_dtype(widened(dtype), []<class T>() {})) return;
  throw TypeError(fmt::format("Value passed to parameter 'x' has DataType {}, which the op does "
                              "not take",
                              dtype_name(dtype)),
                  {.site = site, .op = "Cumsum"});
}

void cumsum_shape(InferenceContext& context) {
  require_numeric(context.dtype(0));
  context.add_output(context.dtype(0), context.shape(0));
}

Operation add_cumsum(const Operand& x, const ScalarOperand& axis, CumsumAttrs attrs,
                     const std::string& name, Site site) {
  OpBuilder builder("Cumsum", name, site, {&x, &axis});
  builder.input(x, "x");
  require_numeric(builder.tensors()[0].dtype(), site);  // before the axis becomes a constant
  return builder.index_input(axis, "axis").attrs(attrs).build();
}

/// x[i] is part of y[i] and all later sums, so dx[i] is the sum of dy from i on.
std::vector<OptionalGradient> cumsum_gradient(const Operation& op,
                                              const std::vector<OptionalGradient>& dys) {
  CumsumAttrs attrs = op.attrs().as<CumsumAttrs>();
  attrs.reverse = !attrs.reverse;
  const Operand dy(dense_gradient(dys[0], op.site()), op.site());
  const Operand axis(op.input(1), op.site());
  return {add_cumsum(dy, axis, attrs, "", op.site()).output(0), std::nullopt};
}

/// A tensor as `blocks` blocks of `rows` rows of `row` elements; the rows of a block are added up.
struct Scan {
  std::int64_t blocks = 1;
  std::int64_t rows = 1;
  std::int64_t row = 1;
  CumsumAttrs attrs;

  explicit Scan(const KernelRequest& request) : attrs(request.attributes<CumsumAttrs>()) {
    check_kernel_rank(request);
    const Array& axis = request.values.at(1);
    if (axis.shape().rank() != 0) {
      throw errors::InvalidArgumentError(
          fmt::format("the axis of a cumsum must be a scalar, not {}", axis.shape().text()));
    }
    const Shape& x = request.inputs[0].shape;
    const std::size_t at = checked_axis(integers_of(axis)[0], x.rank());
    for (std::size_t i = 0; i < at; ++i) blocks *= x.size(i);
    rows = x.size(at);
    for (std::size_t i = at + 1; i < x.rank(); ++i) row *= x.size(i);
  }
  std::int64_t elements() const { return blocks * rows * row; }
  /// Returns the offset of row `i` of a block, counted in the order of the sum.
  std::int64_t offset(std::int64_t i) const { return (attrs.reverse ? rows - 1 - i : i) * row; }
};

/// Computes one sum after another, following the definition.
template <class T>
void reference_cumsum(const Scan& scan, const T* x, T* y) {
  const functors::Add<T> add;
  for (std::int64_t line = 0; line < scan.blocks * scan.row; ++line) {
    const std::int64_t first = line / scan.row * scan.rows * scan.row + line % scan.row;
    T sum = T(0);
    for (std::int64_t i = 0; i < scan.rows; ++i) {
      const std::int64_t at = first + scan.offset(i);
      const T before = sum;
      sum = add(sum, x[at]);
      y[at] = scan.attrs.exclusive ? before : sum;
    }
  }
}

/// Adds whole rows at a time, since neighbours in memory belong to different sums. Each sum is
/// added in the reference's order and so is bitwise equal to it. A slice handles a range of the
/// columns of all blocks.
template <class T>
class RowsCumsum final : public CpuKernel {
 public:
  explicit RowsCumsum(const Scan& scan) : scan_(scan) {}
  int slices(int) const override { return loop_slices(scan_.elements()); }
  bool may_fail() const override { return false; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    if (scan_.elements() == 0) return;
    const T* x = static_cast<const T*>(inputs[0]);
    T* y = static_cast<T*>(outputs[0]);
    SliceRange lines = slice_range(scan_.blocks * scan_.row, slices(0), slice, 16);
    while (lines.begin < lines.end) {
      const std::int64_t column = lines.begin % scan_.row;
      const std::int64_t count = std::min(scan_.row - column, lines.size());
      const std::int64_t first = (lines.begin - column) * scan_.rows + column;
      add_rows(x + first, y + first, count);
      lines.begin += count;
    }
  }

 private:
  void add_rows(const T* x, T* y, std::int64_t count) const {
    const bool exclusive = scan_.attrs.exclusive;
    for (std::int64_t j = 0, at = scan_.offset(0); j < count; ++j) {
      y[at + j] = exclusive ? T(0) : T(0) + x[at + j];  // 0 + -0 is 0
    }
    for (std::int64_t i = 1; i < scan_.rows; ++i) {
      const T* before = y + scan_.offset(i - 1);
      const T* more = x + scan_.offset(exclusive ? i - 1 : i);
      T* out = y + scan_.offset(i);
      for (std::int64_t j = 0; j < count; ++j) out[j] = before[j] + more[j];
    }
  }

  Scan scan_;
};

template <class T>
void add_rows_kernel(KernelTable& table) {
  table.add(
      {.op = "Cumsum",
       .label = "rows",
       .accepts =
           [](const KernelRequest& request) { return request.inputs[0].dtype == dtype_of<T>(); },
       .prepare =
           [](const KernelRequest& request) {
             return sliced_kernel(std::make_unique<RowsCumsum<T>>(Scan(request)));
           }});
}

}  // namespace

static void register_cumsum_ops(OpRegistry& registry) {
  registry.add({.name = "Cumsum",
                .inputs = {"x: T", "axis: Index(Tidx)"},
                .outputs = {"out: T"},
                .attrs = attributes<CumsumAttrs>(),
                .shape = cumsum_shape,
                .gradient = cumsum_gradient,
                .static_inputs = {1}});
}

static void register_cumsum_kernels(KernelTable& table) {
  // In order of preference: the first that accepts is taken.
  add_rows_kernel<float>(table);
  add_rows_kernel<double>(table);
  table.add({.op = "Cumsum",
             .label = "reference",
             .accepts = {},
             .prepare = [](const KernelRequest& request) {
               return function_kernel(
                   [scan = Scan(request), dtype = request.inputs[0].dtype](const LaunchArgs& args) {
                     dispatch_dtype(dtype, [&]<class T>() {
                       if constexpr (!std::is_same_v<T, bool>) {
                         reference_cumsum(scan, args.input<T>(0), args.output<T>(0));
                       }
                     });
                   },
                   {.may_fail = false});
             }});
}

OpFamily cumsum_family() {
  return {.ops = register_cumsum_ops, .kernels = register_cumsum_kernels};
}

Tensor cumsum(const Operand& x, const ScalarOperand& axis, CumsumOptions options, Site site) {
  return add_cumsum(x, axis, {options.exclusive, options.reverse}, options.name, site).output(0);
}

}  // namespace towerflow

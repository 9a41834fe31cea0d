#include "ops/array/select.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/fill.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/select_loop.h"
#include "ops/family.h"
#include "ops/math/sum_to_shape.h"
#include "ops/strided_copy.h"

namespace towerflow {
namespace {

void check_dtypes(InferenceContext& context) {
  if (context.dtype(0) != DType::bool_) {
    context.fail_type(
        fmt::format("Input 'condition' has type {} that does not match expected type "
                    "of bool.",
                    dtype_name(context.dtype(0))));
  }
  if (context.dtype(1) != context.dtype(2)) {
    context.fail_type(
        fmt::format("the values to choose from must have one dtype, but are {} and {}",
                    dtype_name(context.dtype(1)), dtype_name(context.dtype(2))));
  }
}

void select_shape(InferenceContext& context) {
  check_dtypes(context);
  const Shape& condition = context.shape(0);
  auto shape = context.shape(1).merged(context.shape(2));
  if (!shape) {
    context.fail(
        fmt::format("the values to choose from must have one shape, but have the shapes {} and {}",
                    context.shape(1).text(), context.shape(2).text()));
  }
  if (condition.has_rank() && shape->has_rank() && condition.rank() != 0) {
    const bool rows = condition.rank() == 1 && shape->rank() >= 1;
    const bool fits =
        rows ? Shape{condition[0]}.compatible(Shape{(*shape)[0]}) : condition.compatible(*shape);
    if (!fits) {
      context.fail(fmt::format("a condition of shape {} does not fit values of shape {}",
                               condition.text(), shape->text()));
    }
    if (!rows) shape = shape->merged(condition);
  }
  context.add_output(context.dtype(1), *shape);
}

/// Returns whether the condition chooses elements: a vector of conditions chooses whole rows.
bool selects_elementwise(const Attrs&, std::span<const OutputSpec> inputs,
                         const OutputSpec& output) {
  return inputs[0].shape.rank() == 0 || inputs[0].shape == output.shape;
}

void select_v2_shape(InferenceContext& context) {
  check_dtypes(context);
  auto shape = broadcast_shapes(context.shape(1), context.shape(2));
  if (shape) shape = broadcast_shapes(*shape, context.shape(0));
  if (!shape) {
    context.fail(fmt::format("the shapes do not broadcast: condition {}, values {} and {}",
                             context.shape(0).text(), context.shape(1).text(),
                             context.shape(2).text()));
  }
  context.add_output(context.dtype(1), *shape);
}

/// Returns the strides of an operand along the dimensions of `out`, aligned at the last dimension,
/// or at the first for the condition of Select.
std::vector<std::int64_t> strides_in(const Shape& operand, const Shape& out, bool at_first) {
  std::vector<std::int64_t> strides(out.rank(), 0);
  const std::vector<std::int64_t> dense = dense_strides(operand);
  const std::size_t offset = at_first ? 0 : out.rank() - operand.rank();
  for (std::size_t i = 0; i < operand.rank(); ++i) {
    if (operand.size(i) != 1) strides[i + offset] = dense[i];
  }
  return strides;
}

class SelectKernel final : public CpuKernel {
 public:
  SelectKernel(const KernelRequest& request, bool rows)
      : dtype_(request.outputs[0].dtype), out_(request.outputs[0].shape) {
    const auto rank = out_.rank();
    for (std::size_t i = 0; i < 3; ++i) {
      const Shape& operand = request.inputs[i].shape;
      strides_[i] = strides_in(operand, out_, rows && i == 0 && operand.rank() < rank);
    }
    if (rank > 0) join_rows();
    width_ = rank == 0 ? 1 : out_.size(out_.rank() - 1);
  }
  int slices(int) const override { return loop_slices(out_.elements()); }
  bool may_fail() const override { return dtype_ == DType::string; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    if (out_.elements() == 0) return;
    dispatch_copyable(dtype_, [&]<class T>() {
      select(slice, static_cast<const bool*>(inputs[0]), static_cast<const T*>(inputs[1]),
             static_cast<const T*>(inputs[2]), static_cast<T*>(outputs[0]));
    });
  }

 private:
  template <class T>
  void select(int slice, const bool* condition, const T* x, const T* y, T* out) const {
    const std::int64_t rows = out_.elements() / width_;
    SliceRange part{0, 1}, columns{0, width_};
    if (rows == 1)
      columns = slice_range(width_, slices(0), slice, 64);
    else
      part = slice_range(rows, slices(0), slice);
    const SelectStrides step = steps();
    for (std::int64_t row = part.begin; row < part.end; ++row) {
      std::int64_t at[3];
      find_row(row, at);
      select_elements(condition + at[0] + columns.begin * step.condition,
                      x + at[1] + columns.begin * step.x, y + at[2] + columns.begin * step.y,
                      out + row * width_ + columns.begin, columns.size(), step);
    }
  }

  SelectStrides steps() const {
    if (out_.rank() == 0) return {};
    return {strides_[0].back(), strides_[1].back(), strides_[2].back()};
  }

  /// Finds the offset in each operand at which a row of the result begins.
  void find_row(std::int64_t row, std::int64_t (&at)[3]) const {
    std::fill_n(at, 3, 0);
    for (std::size_t i = out_.rank(); i-- > 1;) {
      const std::int64_t index = row % out_.size(i - 1);
      row /= out_.size(i - 1);
      for (std::size_t k = 0; k < 3; ++k) at[k] += index * strides_[k][i - 1];
    }
  }

  /// Treats everything as one row if each operand is a scalar or dense.
  void join_rows() {
    const std::vector<std::int64_t> dense = dense_strides(out_), none(out_.rank(), 0);
    for (const auto& strides : strides_) {
      if (strides != dense && strides != none) return;
    }
    for (auto& strides : strides_) strides = {strides == none ? 0 : 1};
    out_ = Shape{out_.elements()};
  }

  DType dtype_;
  Shape out_;
  std::vector<std::int64_t> strides_[3];
  std::int64_t width_ = 1;
};

std::unique_ptr<PreparedKernel> select_kernel(const KernelRequest& request) {
  check_kernel_rank(request);
  return sliced_kernel(std::make_unique<SelectKernel>(request, true));
}
std::unique_ptr<PreparedKernel> select_v2_kernel(const KernelRequest& request) {
  check_kernel_rank(request);
  return sliced_kernel(std::make_unique<SelectKernel>(request, false));
}

template <Tensor (*kSelect)(const Operand&, const Operand&, const Operand&, SelectOptions, Site),
          bool kBroadcasts>
std::vector<OptionalGradient> select_gradient(const Operation& op,
                                              const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const Tensor condition = op.input(0);
  const Tensor dy = dense_gradient(dys[0], site);
  if (!kBroadcasts) {
    const Tensor zeros = zeros_like(op.input(1), {}, site);
    const Tensor dx = kSelect(condition, dy, zeros, {}, site);
    return {std::nullopt, dx, kSelect(condition, zeros, dy, {}, site)};
  }
  const Tensor zero = scalar_like(dy, 0, site);
  const Tensor dx = kSelect(condition, dy, zero, {}, site);
  const Tensor dz = kSelect(condition, zero, dy, {}, site);
  return {std::nullopt, sum_to_shape_of(dx, op.input(1), site),
          sum_to_shape_of(dz, op.input(2), site)};
}

Tensor add_select(const char* op, const char* x_name, const char* y_name, const Operand& condition,
                  const Operand& x, const Operand& y, const SelectOptions& options, Site site) {
  return OpBuilder(op, options.name, site, {&condition, &x, &y})
      .input(condition, "condition", DType::bool_)
      .input(x, x_name, "T")
      .input(y, y_name, "T")
      .output();
}

}  // namespace

static void register_select_ops(OpRegistry& registry) {
  registry.add({.name = "Select",
                .inputs = {"condition: bool", "t: T", "e: T"},
                .outputs = {"output: T"},
                .shape = select_shape,
                .gradient = select_gradient<where, false>,
                .elementwise = selects_elementwise});
  registry.add({.name = "SelectV2",
                .inputs = {"condition: bool", "t: T", "e: T"},
                .outputs = {"output: T"},
                .shape = select_v2_shape,
                .gradient = select_gradient<where_v2, true>,
                .elementwise = elementwise_always});
}

static void register_select_kernels(KernelTable& table) {
  table.add({.op = "Select", .label = "loop", .accepts = {}, .prepare = select_kernel});
  table.add({.op = "SelectV2", .label = "loop", .accepts = {}, .prepare = select_v2_kernel});
}

OpFamily select_family() {
  return {.ops = register_select_ops, .kernels = register_select_kernels};
}

Tensor where(const Operand& condition, const Operand& x, const Operand& y, SelectOptions options,
             Site site) {
  return add_select("Select", "t", "e", condition, x, y, options, site);
}

Tensor where_v2(const Operand& condition, const Operand& x, const Operand& y, SelectOptions options,
                Site site) {
  return add_select("SelectV2", "t", "e", condition, x, y, options, site);
}

}  // namespace towerflow

#include "ops/math/argmax.h"

#include <fmt/format.h>

#include <limits>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"

namespace towerflow {
namespace {

struct ArgMaxAttrs {
  DType output_type = DType::int64;
  static constexpr auto fields = std::tuple{attr::field("output_type", &ArgMaxAttrs::output_type)};
};

void argmax_shape(InferenceContext& context) {
  const DType dtype = context.dtype(0);
  if (!dispatch_dtype(dtype, []<class T>() {})) {
    context.fail_type(
        fmt::format("Value passed to parameter 'input' has DataType {}, which the op "
                    "does not take",
                    dtype_name(dtype)));
  }
  const DType out = context.attrs<ArgMaxAttrs>().output_type;
  if (out != DType::int32 && out != DType::int64) {
    context.fail_type(fmt::format("an index cannot be of dtype {}", dtype_name(out)));
  }
  const Shape& input = context.shape(0);
  const Array* axis = context.constant(1);
  if (context.shape(1).has_rank() && context.shape(1).rank() != 0) {
    context.fail("Shape must be rank 0: the axis of an argmax");
  }
  if (!input.has_rank()) return context.add_output(out, Shape::unknown());
  if (axis == nullptr) {
    return context.add_output(
        out, input.rank() > 0 ? Shape::of_rank(input.rank() - 1) : Shape::unknown());
  }
  // The axis of a vector or a scalar is checked only when the graph runs.
  if (input.rank() <= 1) return context.add_output(out, Shape{});
  const std::int64_t wanted = integers_of(*axis).at(0);
  const auto at = normalized_axis(wanted, input.rank());
  if (!at) {
    context.fail(
        fmt::format("Dimension ({}) must be in the range [-{}, {}), the number of "
                    "dimensions in the input",
                    wanted, input.rank(), input.rank()));
  }
  std::vector<Dim> dims = input.dims();
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(*at));
  context.add_output(out, Shape(std::move(dims)));
}

template <bool kMax>
class ArgMaxKernel final : public CpuKernel {
 public:
  explicit ArgMaxKernel(const KernelRequest& request)
      : in_(request.inputs[0].shape),
        dtype_(request.inputs[0].dtype),
        axis_dtype_(request.inputs[1].dtype),
        out_dtype_(request.outputs[0].dtype),
        results_(request.outputs[0].shape.elements()) {}
  int slices(int) const override { return loop_slices(in_.elements()); }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    const std::size_t axis = checked_axis(integer_at(axis_dtype_, inputs[1], 0), in_.rank());
    const std::int64_t n = in_.size(axis);
    if (results_ == 0) return;
    if (n == 0) {
      throw errors::InvalidArgumentError(
          fmt::format("Reduction axis {} is empty in shape {}", axis, in_.text()));
    }
    if (results_ != in_.elements() / n) {
      throw errors::InvalidArgumentError(
          "the axis of an argmax is not the one that the graph expects");
    }
    std::int64_t inner = 1;
    for (std::size_t i = axis + 1; i < in_.rank(); ++i) inner *= in_.size(i);
    const SliceRange part = slice_range(results_, slices(0), slice);
    dispatch_dtype(dtype_, [&]<class T>() {
      const T* x = static_cast<const T*>(inputs[0]);
      for (std::int64_t i = part.begin; i < part.end; ++i) {
        store(outputs[0], i, find_extreme(x + i / inner * n * inner + i % inner, n, inner));
      }
    });
  }

 private:
  /// Returns the index of the largest (smallest) element. Starts from the lowest (highest) finite
  /// number, as Eigen does, so elements that do not beat it, such as NaN, are never found; the
  /// result is 0 if there are no others.
  template <class T>
  static std::int64_t find_extreme(const T* x, std::int64_t n, std::int64_t stride) {
    using Limits = std::numeric_limits<T>;
    std::int64_t found = 0;
    T reached = kMax ? Limits::lowest() : Limits::max();
    for (std::int64_t i = 0; i < n; ++i) {
      const T value = x[i * stride];
      if (kMax ? value > reached : value < reached) {
        found = i;
        reached = value;
      }
    }
    return found;
  }
  void store(void* out, std::int64_t i, std::int64_t value) const {
    if (out_dtype_ == DType::int64)
      static_cast<std::int64_t*>(out)[i] = value;
    else
      static_cast<std::int32_t*>(out)[i] = static_cast<std::int32_t>(value);
  }

  Shape in_;
  DType dtype_;
  DType axis_dtype_;
  DType out_dtype_;
  std::int64_t results_;
};

Tensor add_argmax(const char* op, const Operand& input, const ScalarOperand& axis,
                  const ArgMaxOptions& options, Site site) {
  if (axis.nested() != nullptr && !std::holds_alternative<std::int64_t>(axis.nested()->value())) {
    throw TypeError("axis must be int or Tensor with integer datatype", {.site = site, .op = op});
  }
  return OpBuilder(op, options.name, site, {&input, &axis})
      .input(input, "input")
      .index_input(axis, "dimension")
      .attrs(ArgMaxAttrs{options.output_type})
      .output();
}

}  // namespace

static void register_argmax_ops(OpRegistry& registry) {
  for (const char* op : {"ArgMax", "ArgMin"}) {
    registry.add({.name = op,
                  .inputs = {"input: T", "dimension: Index(Tidx)"},
                  .outputs = {"output: output_type"},
                  .attrs = attributes<ArgMaxAttrs>(),
                  .shape = argmax_shape,
                  .gradient = NoGradient{"an index is an integer"}});
  }
}

static void register_argmax_kernels(KernelTable& table) {
  table.add(
      {.op = "ArgMax", .label = "loop", .accepts = {}, .prepare = [](const KernelRequest& request) {
         check_kernel_rank(request);
         return sliced_kernel(std::make_unique<ArgMaxKernel<true>>(request));
       }});
  table.add(
      {.op = "ArgMin", .label = "loop", .accepts = {}, .prepare = [](const KernelRequest& request) {
         check_kernel_rank(request);
         return sliced_kernel(std::make_unique<ArgMaxKernel<false>>(request));
       }});
}

OpFamily argmax_family() {
  return {.ops = register_argmax_ops, .kernels = register_argmax_kernels};
}

Tensor argmax(const Operand& input, const ScalarOperand& axis, ArgMaxOptions options, Site site) {
  return add_argmax("ArgMax", input, axis, options, site);
}
Tensor argmin(const Operand& input, const ScalarOperand& axis, ArgMaxOptions options, Site site) {
  return add_argmax("ArgMin", input, axis, options, site);
}

}  // namespace towerflow

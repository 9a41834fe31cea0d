#include "ops/array/one_hot.h"

#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/one_hot_attrs.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"

namespace towerflow {
namespace {

bool is_one_hot_index(DType dtype) {
  return dtype == DType::uint8 || dtype == DType::int8 || dtype == DType::int32 ||
         dtype == DType::int64;
}

void one_hot_shape(InferenceContext& context) {
  if (!is_one_hot_index(context.dtype(0))) {
    context.fail_type(
        fmt::format("Value passed to parameter 'indices' has DataType {} not in list "
                    "of allowed values: uint8, int8, int32, int64",
                    dtype_name(context.dtype(0))));
  }
  if (context.dtype(1) != DType::int32) context.fail_type("the depth must be int32");
  if (context.dtype(2) != context.dtype(3)) {
    context.fail_type(fmt::format("dtype {} of on_value does not match dtype {} of off_value",
                                  dtype_name(context.dtype(2)), dtype_name(context.dtype(3))));
  }
  Dim depth(std::nullopt);
  if (const Array* known = context.constant(1)) {
    // The rank of a depth that a run computes is checked in the run, as in TensorFlow.
    if (known->shape().rank() != 0) {
      context.fail(fmt::format("Input must be scalar but has rank {}: the depth of a one_hot",
                               known->shape().rank()));
    }
    const std::int64_t size = integers_of(*known)[0];
    if (size < 0) {
      context.fail(fmt::format("Dimension size must be non-negative but is {}", size));
    }
    depth = Dim(size);
  }
  const int axis = context.attrs<OneHotAttrs>().axis;
  if (axis < -1) context.fail(fmt::format("axis must be >= -1 but is {}", axis));
  const Shape& indices = context.shape(0);
  if (!indices.has_rank()) return context.add_output(context.dtype(2), Shape::unknown());
  std::vector<Dim> dims = indices.dims();
  // An axis beyond the end is only rejected at run time, as in TensorFlow.
  const std::size_t at =
      axis < 0 ? dims.size() : std::min(static_cast<std::size_t>(axis), dims.size());
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), depth);
  context.add_output(context.dtype(2), Shape(std::move(dims)));
}

/// The output as `outer` blocks of `depth` rows of `inner` elements; each pair of block and inner
/// position has one index.
struct OneHotDims {
  std::int64_t outer = 1;
  std::int64_t depth = 0;
  std::int64_t inner = 1;

  explicit OneHotDims(const KernelRequest& request) {
    check_kernel_rank(request);
    for (const std::size_t value : {2, 3}) {
      if (request.inputs[value].shape.rank() == 0) continue;
      throw errors::InvalidArgumentError(fmt::format("{} must be a scalar, but has shape {}",
                                                     value == 2 ? "on_value" : "off_value",
                                                     request.inputs[value].shape.text()));
    }
    const int axis = request.attributes<OneHotAttrs>().axis;
    const Shape& indices = request.inputs[0].shape;
    if (axis > static_cast<int>(indices.rank())) {
      throw errors::InvalidArgumentError(
          fmt::format("Expected axis to be -1 or between [0, {}).  But received: {}",
                      indices.rank() + 1, axis));
    }
    const std::size_t at = axis < 0 ? indices.rank() : static_cast<std::size_t>(axis);
    for (std::size_t d = 0; d < indices.rank(); ++d) (d < at ? outer : inner) *= indices.size(d);
    depth = request.outputs[0].shape.size(at);
  }
};

template <class Index, class T>
void one_hot_rows(const OneHotDims& dims, SliceRange blocks, const Index* indices, const T& on,
                  const T& off, T* out) {
  const std::int64_t block = dims.depth * dims.inner;
  std::fill(out + blocks.begin * block, out + blocks.end * block, off);
  for (std::int64_t o = blocks.begin; o < blocks.end; ++o) {
    for (std::int64_t i = 0; i < dims.inner; ++i) {
      const auto index = static_cast<std::int64_t>(indices[o * dims.inner + i]);
      if (index >= 0 && index < dims.depth) out[o * block + index * dims.inner + i] = on;
    }
  }
}

class OneHotKernel final : public CpuKernel {
 public:
  explicit OneHotKernel(const KernelRequest& request)
      : dims_(request), index_(request.inputs[0].dtype), dtype_(request.outputs[0].dtype) {}
  int slices(int) const override { return row_slices(dims_.outer, dims_.depth * dims_.inner); }
  bool may_fail() const override { return dtype_ == DType::string; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    const SliceRange blocks = slice_range(dims_.outer, slices(0), slice);
    if (blocks.size() <= 0 || dims_.depth * dims_.inner == 0) return;
    dispatch_copyable(dtype_, [&]<class T>() {
      dispatch_dtype(index_, [&]<class Index>() {
        if constexpr (std::is_integral_v<Index> && !std::is_same_v<Index, bool>) {
          one_hot_rows(dims_, blocks, static_cast<const Index*>(inputs[0]),
                       *static_cast<const T*>(inputs[2]), *static_cast<const T*>(inputs[3]),
                       static_cast<T*>(outputs[0]));
        }
      });
    });
  }

 private:
  OneHotDims dims_;
  DType index_;
  DType dtype_;
};

std::unique_ptr<PreparedKernel> one_hot_kernel(const KernelRequest& request) {
  return sliced_kernel(std::make_unique<OneHotKernel>(request));
}

/// Converts a value of the options to a tensor, with dtype `hint` if it is not a tensor and can
/// have that dtype. The constant is named as in TensorFlow.
Tensor convert_value(Graph& graph, const Operand& value, std::optional<DType> hint) {
  if (hint && value.any_tensor() == nullptr) {
    try {
      return convert_operand(graph, value, "", hint);
    } catch (const TypeError&) {
      // The hint is optional: the value then has its own dtype, which is checked later.
    }
  }
  return convert_operand(graph, value, "", std::nullopt);
}

void check_one_hot_dtype(const Tensor& value, const char* which, DType wanted, Site site) {
  if (value.dtype() == wanted) return;
  throw TypeError(fmt::format("dtype {} of {} does not match dtype parameter {}",
                              dtype_name(value.dtype()), which, dtype_name(wanted)),
                  {.site = site, .op = "OneHot"});
}

}  // namespace

static void register_one_hot_ops(OpRegistry& registry) {
  registry.add({.name = "OneHot",
                .inputs = {"indices: TI", "depth: int32", "on_value: T", "off_value: T"},
                .outputs = {"output: T"},
                .attrs = attributes<OneHotAttrs>(),
                .shape = one_hot_shape,
                .gradient = NoGradient{"TensorFlow's OneHot has no gradient"},
                .static_inputs = {1}});
}

static void register_one_hot_kernels(KernelTable& table) {
  table.add({.op = "OneHot", .label = "loop", .accepts = {}, .prepare = one_hot_kernel});
}

OpFamily one_hot_family() {
  return {.ops = register_one_hot_ops, .kernels = register_one_hot_kernels};
}

Tensor one_hot(const Operand& indices, const ScalarOperand& depth, OneHotOptions options,
               Site site) {
  Graph& graph = graph_of(indices, depth);
  const NameScope scope(graph, options.name.empty() ? "one_hot" : options.name, site);
  std::optional<Tensor> on;
  std::optional<Tensor> off;
  if (options.on_value) on = convert_value(graph, *options.on_value, options.dtype);
  if (options.off_value) off = convert_value(graph, *options.off_value, options.dtype);
  DType dtype = options.dtype.value_or(DType::float32);
  if (options.dtype) {
    if (on) check_one_hot_dtype(*on, "on_value", dtype, site);
    if (off) check_one_hot_dtype(*off, "off_value", dtype, site);
  } else if (on || off) {
    dtype = on ? on->dtype() : off->dtype();
  }
  if (!on) on = convert_operand(graph, Operand(1, site), "on_value", dtype);
  if (!off) off = convert_operand(graph, Operand(0, site), "off_value", dtype);
  if (on->dtype() != off->dtype()) {
    throw TypeError(fmt::format("dtype {} of on_value does not match dtype {} of off_value",
                                dtype_name(on->dtype()), dtype_name(off->dtype())),
                    {.site = site, .op = "OneHot"});
  }
  const Tensor places = convert_operand(graph, indices, "indices", std::nullopt);
  if (!is_one_hot_index(places.dtype())) {  // before the constant for the depth is made
    throw TypeError(fmt::format("Value passed to parameter 'indices' has DataType {} not in list "
                                "of allowed values: uint8, int8, int32, int64",
                                dtype_name(places.dtype())),
                    {.site = site, .op = "OneHot"});
  }
  const Tensor size = convert_operand(graph, depth, "depth", DType::int32);
  return graph
      .add({.op = "OneHot",
            .name = scope.name(),
            .inputs = {places, size, *on, *off},
            .attrs = OneHotAttrs{options.axis},
            .site = site})
      .output(0);
}

}  // namespace towerflow

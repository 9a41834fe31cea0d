#include "ops/math/add_n.h"

#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/operands.h"
#include "ops/array/view.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/math/binary_functors.h"
#include "ops/simd/loops.h"

namespace towerflow {
namespace {

void add_n_shape(InferenceContext& context) {
  const DType dtype = context.dtype(0);
  if (dtype == DType::bool_ || !dispatch_dtype(dtype, []<class T>() {})) {
    context.fail_type(
        fmt::format("Value passed to parameter 'inputs' has DataType {}, which the "
                    "op does not take",
                    dtype_name(dtype)));
  }
  Shape shape = Shape::unknown();
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    const auto merged = shape.merged(context.shape(i));
    if (!merged) {
      context.fail(fmt::format("Shapes must be equal, but are {} and {}: input {} of a sum",
                               shape.text(), context.shape(i).text(), i));
    }
    shape = *merged;
  }
  context.add_output(dtype, shape);
}

std::vector<OptionalGradient> add_n_gradient(const Operation& op,
                                             const std::vector<OptionalGradient>& dys) {
  return std::vector<OptionalGradient>(op.num_inputs(), dys[0]);
}

/// Adds inputs in order, one cache-sized stretch at a time.
class AddNKernel final : public CpuKernel {
 public:
  explicit AddNKernel(const KernelRequest& request)
      : dtype_(request.outputs[0].dtype),
        count_(request.inputs.size()),
        elements_(request.outputs[0].shape.elements()) {}
  int slices(int) const override { return loop_slices(elements_); }
  bool may_fail() const override { return false; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    const SliceRange part = slice_range(elements_, slices(0), slice, 64);
    dispatch_dtype(dtype_, [&]<class T>() {
      if constexpr (!std::is_same_v<T, bool>) {
        for (std::int64_t begin = part.begin; begin < part.end; begin += kStretch) {
          add<T>(inputs, static_cast<T*>(outputs[0]), begin, std::min(part.end, begin + kStretch));
        }
      }
    });
  }

 private:
  static constexpr std::int64_t kStretch = 2048;

  template <class T>
  void add(const void* const* inputs, T* out, std::int64_t begin, std::int64_t end) const {
    const auto at = [&](std::size_t i) { return static_cast<const T*>(inputs[i]) + begin; };
    if constexpr (std::is_same_v<T, float>) {
      if (count_ <= kMaxSimdInputs) {
        const float* all[kMaxSimdInputs];
        for (std::size_t i = 0; i < count_; ++i) all[i] = at(i);
        simd::loops().sum_arrays(all, static_cast<int>(count_), 1.0f, out + begin, end - begin);
        return;
      }
    }
    T sums[kStretch];
    std::copy_n(at(0), end - begin, sums);
    for (std::size_t i = 1; i < count_; ++i) {
      const T* x = at(i);
      for (std::int64_t k = 0; k < end - begin; ++k) sums[k] = functors::Add<T>()(sums[k], x[k]);
    }
    std::copy_n(sums, end - begin, out + begin);
  }

  static constexpr std::size_t kMaxSimdInputs = 16;
  DType dtype_;
  std::size_t count_;
  std::int64_t elements_;
};

}  // namespace

static void register_add_n_ops(OpRegistry& registry) {
  registry.add({.name = "AddN",
                .inputs = {"inputs: N * T"},
                .outputs = {"sum: T"},
                .shape = add_n_shape,
                .gradient = add_n_gradient,
                .elementwise = elementwise_always,
                .fold_op = "AddV2"});
}

static void register_add_n_kernels(KernelTable& table) {
  const auto prepare = [](const KernelRequest& request) {
    std::vector<InPlacePair> pairs;
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {
      pairs.push_back({0, static_cast<int>(i)});
    }
    return sliced_kernel(std::make_unique<AddNKernel>(request), std::move(pairs));
  };
  table.add(
      {.op = "AddN",
       .label = "simd",
       .accepts =
           [](const KernelRequest& request) { return request.inputs[0].dtype == DType::float32; },
       .prepare = prepare});
  table.add({.op = "AddN", .label = "reference", .accepts = {}, .prepare = prepare});
}

OpFamily add_n_family() { return {.ops = register_add_n_ops, .kernels = register_add_n_kernels}; }

Tensor add_n(const OperandList& inputs, AddNOptions options, Site site) {
  if (inputs.size() == 0) {
    throw ValueError(
        "Inputs must be an iterable of at least one Tensor/IndexedSlices with the "
        "same dtype and shape.",
        {.site = site, .op = "AddN", .hint = inputs.why_empty()});
  }
  Graph& graph = graph_of(inputs);
  // As in TensorFlow, values become constants in the caller's scope; slices are left to the op.
  std::vector<Operand> operands;
  for (const Operand& item : inputs.items()) {
    const bool kept = item.slices() != nullptr && inputs.size() > 1;
    operands.push_back(kept ? item : Operand(convert_operand(graph, item, "", std::nullopt), site));
  }
  if (operands.size() == 1) {
    const Tensor only = *operands[0].tensor();
    return options.name.empty() ? only : identity(only, {.name = options.name}, site);
  }
  OpBuilder builder("AddN", options.name, site, {&operands[0]});
  check_same_dtype(inputs, "AddN", "inputs", site);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool named = operands[i].slices() != nullptr;  // a tensor needs no name
    builder.input(operands[i], named ? fmt::format("inputs_{}", i).c_str() : "inputs");
  }
  return builder.output();
}

Tensor accumulate_n(const OperandList& inputs, AccumulateNOptions options, Site site) {
  const auto fail = [site]() -> ValueError {
    return ValueError("inputs must be a list of at least one Tensor with the same dtype and shape",
                      {.site = site, .op = "AddN"});
  };
  if (inputs.size() == 0) throw fail();
  Graph& graph = graph_of(inputs);
  std::vector<Tensor> tensors;
  Shape shape = Shape::unknown();
  for (const Operand& item : inputs.items()) {
    if (item.slices() != nullptr) throw fail();
    tensors.push_back(convert_operand(graph, item, "", std::nullopt));
  }
  for (const Tensor& tensor : tensors) {
    const auto merged = shape.merged(tensor.shape());
    if (tensor.dtype() != tensors[0].dtype() || !merged) throw fail();
    shape = *merged;
  }
  if (options.tensor_dtype && *options.tensor_dtype != tensors[0].dtype()) {
    throw TypeError(
        fmt::format("The `tensor_dtype` argument is {}, but `input` is of type {}. These "
                    "must be equal.",
                    dtype_name(*options.tensor_dtype), dtype_name(tensors[0].dtype())),
        {.site = site, .op = "AddN"});
  }
  return add_n(tensors, {.name = options.name}, site);
}

}  // namespace towerflow

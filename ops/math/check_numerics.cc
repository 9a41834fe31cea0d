#include "ops/math/check_numerics.h"

#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/indexed_slices.h"
#include "ops/control/group.h"
#include "ops/control/tuple.h"
#include "ops/family.h"
#include "ops/math/check_numerics_attrs.h"

namespace towerflow {
namespace {

void check_numerics_shape(InferenceContext& context) {
  const DType dtype = context.dtype(0);
  if (dtype != DType::float32 && dtype != DType::float64) {
    context.fail_type(
        fmt::format("Value passed to parameter 'tensor' has DataType {} not in list "
                    "of allowed values: float32, float64",
                    dtype_name(dtype)));
  }
  context.add_output(dtype, context.shape(0));
}

/// Returns whether all elements are finite: whether no exponent has all bits set.
template <class T>
bool all_finite(const T* x, std::int64_t count) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits kExponent = sizeof(T) == 4 ? Bits{0x7F800000} : Bits(0x7FF0000000000000ULL);
  Bits broken = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, x + i, sizeof bits);
    broken |= (bits & kExponent) == kExponent ? Bits{1} : Bits{0};
  }
  return broken == 0;
}

template <class T>
class CheckNumericsKernel final : public CpuKernel {
 public:
  CheckNumericsKernel(std::int64_t elements, std::string message)
      : elements_(elements), message_(std::move(message)) {}
  int slices(int) const override { return loop_slices(elements_); }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    const auto* x = static_cast<const T*>(inputs[0]);
    auto* y = static_cast<T*>(outputs[0]);
    const SliceRange part = slice_range(elements_, slices(0), slice, 16);
    if (!all_finite(x + part.begin, part.size())) fail(x);
    if (x != y) std::copy_n(x + part.begin, part.size(), y + part.begin);
  }

 private:
  /// Looks at all elements, so that the message does not depend on the slice.
  [[noreturn]] void fail(const T* x) const {
    const bool nan = std::any_of(x, x + elements_, [](T value) { return std::isnan(value); });
    const bool inf = std::any_of(x, x + elements_, [](T value) { return std::isinf(value); });
    throw errors::InvalidArgumentError(fmt::format("{} : Tensor had {} values", message_,
                                                   nan && inf ? "Inf and NaN"
                                                   : nan      ? "NaN"
                                                              : "Inf"));
  }

  std::int64_t elements_;
  std::string message_;
};

std::vector<OptionalGradient> check_numerics_gradient(const Operation& op,
                                                      const std::vector<OptionalGradient>& dys) {
  const std::string message =
      fmt::format("Not a number (NaN) or infinity (Inf) values detected in gradient. {}",
                  op.attrs().as<CheckNumericsAttrs>().message);
  const Operand dy(dense_gradient(dys[0], op.site()), op.site());
  return {check_numerics(dy, message, {}, op.site())};
}

template <class T>
void add_check_numerics_kernel(KernelTable& table) {
  table.add(
      {.op = "CheckNumerics",
       .label = std::string("loop ") + dtype_name(dtype_of<T>()),
       .accepts =
           [](const KernelRequest& request) { return request.inputs[0].dtype == dtype_of<T>(); },
       .prepare =
           [](const KernelRequest& request) {
             return sliced_kernel(std::make_unique<CheckNumericsKernel<T>>(
                                      request.inputs[0].shape.elements(),
                                      request.attributes<CheckNumericsAttrs>().message),
                                  {{0, 0}});
           }});
}

}  // namespace

static void register_check_numerics_ops(OpRegistry& registry) {
  registry.add({.name = "CheckNumerics",
                .inputs = {"tensor: T"},
                .outputs = {"output: T"},
                .attrs = attributes<CheckNumericsAttrs>(),
                .shape = check_numerics_shape,
                .gradient = check_numerics_gradient,
                .effect = Effect::stateful});
}

static void register_check_numerics_kernels(KernelTable& table) {
  add_check_numerics_kernel<float>(table);
  add_check_numerics_kernel<double>(table);
}

OpFamily check_numerics_family() {
  return {.ops = register_check_numerics_ops, .kernels = register_check_numerics_kernels};
}

Tensor check_numerics(const Operand& tensor, const Text& message, CheckNumericsOptions options,
                      Site site) {
  return OpBuilder("CheckNumerics", options.name, site, {&tensor})
      .input(tensor, "tensor")
      .attrs(CheckNumericsAttrs{message})
      .output();
}

Tensor verify_tensor_all_finite(const Operand& x, const Text& message, CheckNumericsOptions options,
                                Site site) {
  Graph& graph = graph_of(x);
  const NameScope scope(graph, options.name.empty() ? "VerifyFinite" : options.name, site);
  const Tensor values = convert_operand(graph, x, "x", std::nullopt);
  const ColocationScope beside(graph, &values.node(), false, site);
  const Tensor checked = check_numerics(Operand(values, site), message, {}, site);
  return with_dependencies({checked.op()}, values, {}, site);
}

Operation add_check_numerics_ops(Site site) {
  Graph& graph = get_default_graph();
  std::vector<Tensor> floating;
  for (const Operation& op : graph.get_operations()) {
    for (const Tensor& output : op.outputs()) {
      if (!output.is_ref() && is_floating(output.dtype())) floating.push_back(output);
    }
  }
  std::vector<Fetch> last;
  for (const Tensor& tensor : floating) {
    std::vector<Node*> before;
    for (const Fetch& fetch : last) before.push_back(&fetch.operation().node());
    const ControlDependencies after(graph, before, site);
    last = {check_numerics(Operand(tensor, site),
                           fmt::format("{}:{}", tensor.op().name(), tensor.index()), {}, site)};
  }
  return group(last, {}, site);
}

}  // namespace towerflow

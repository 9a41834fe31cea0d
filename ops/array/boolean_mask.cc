#include "ops/array/boolean_mask.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/concat.h"
#include "ops/array/gather.h"
#include "ops/array/shape_of.h"
#include "ops/array/strided_slice.h"
#include "ops/array/view.h"
#include "ops/family.h"
#include "ops/math/reduce.h"

namespace towerflow {
namespace {

void where_shape(InferenceContext& context) {
  if (context.dtype(0) == DType::string) {
    context.fail_type("Value passed to parameter 'condition' has DataType string");
  }
  const Shape& condition = context.shape(0);
  const Dim rank =
      condition.has_rank() ? Dim(static_cast<std::int64_t>(condition.rank())) : Dim(std::nullopt);
  context.add_output(DType::int64, Shape(std::vector<Dim>{Dim(std::nullopt), rank}));
}

std::unique_ptr<PreparedKernel> where_kernel(const KernelRequest& request) {
  const std::vector<std::int64_t> sizes = request.inputs[0].shape.sizes();
  if (sizes.empty()) throw errors::InvalidArgumentError("where takes no scalar condition");
  const std::int64_t elements = request.inputs[0].shape.elements();
  const Shape declared_shape = request.outputs[0].shape;
  std::unique_ptr<PreparedKernel> kernel;
  dispatch_dtype(request.inputs[0].dtype, [&]<class T>() {
    kernel = function_kernel([sizes, elements, declared_shape](const LaunchArgs& args) {
      const T* condition = args.input<T>(0);
      const std::int64_t found = elements - std::count(condition, condition + elements, T{});
      const Shape shape{found, static_cast<std::int64_t>(sizes.size())};
      auto* place = static_cast<std::int64_t*>(args.output_memory(0, shape, declared_shape));
      for (std::int64_t i = 0; i < elements; ++i) {
        if (condition[i] == T{}) continue;
        std::int64_t rest = i;
        for (std::size_t d = sizes.size(); d-- > 0; rest /= sizes[d]) place[d] = rest % sizes[d];
        place += sizes.size();
      }
    });
  });
  return kernel;
}

void check_mask(const Shape& tensor, const Shape& mask, std::size_t axis, Site site) {
  if (!mask.has_rank()) {
    throw ValueError(
        "Number of mask dimensions must be specified, even if some dimensions are "
        "None.  E.g. shape=[None] is ok, but shape=None is not.",
        {.site = site, .op = "boolean_mask"});
  }
  if (mask.rank() == 0) {
    throw ValueError("mask cannot be scalar.", {.site = site, .op = "boolean_mask"});
  }
  if (!tensor.has_rank()) return;
  std::vector<Dim> sizes;
  for (std::size_t i = axis; i < std::min(tensor.rank(), axis + mask.rank()); ++i) {
    sizes.push_back(tensor[i]);
  }
  if (!Shape(sizes).compatible(mask)) {
    throw ValueError(
        fmt::format("Shapes {} and {} are incompatible", Shape(sizes).text(), mask.text()),
        {.site = site, .op = "boolean_mask"});
  }
}

/// Returns the shape once the masked dimensions are flattened into one.
Shape joined_shape(const Shape& tensor, std::size_t axis, std::size_t rank) {
  if (!tensor.has_rank()) return Shape::unknown();
  std::vector<Dim> dims(tensor.dims().begin(), tensor.dims().end());
  const auto first = dims.begin() + static_cast<std::ptrdiff_t>(axis);
  const auto behind = first + static_cast<std::ptrdiff_t>(rank);
  *first = Dim(product({first, behind}).value_or(-1));
  dims.erase(first + 1, behind);
  return Shape(std::move(dims));
}

}  // namespace

static void register_boolean_mask_ops(OpRegistry& registry) {
  registry.add({.name = "Where",
                .inputs = {"input: T"},
                .outputs = {"index: int64"},
                .shape = where_shape,
                .gradient = NoGradient{"the position of an element is an integer"}});
}

static void register_boolean_mask_kernels(KernelTable& table) {
  table.add({.op = "Where", .label = "loop", .accepts = {}, .prepare = where_kernel});
}

OpFamily boolean_mask_family() {
  return {.ops = register_boolean_mask_ops, .kernels = register_boolean_mask_kernels};
}

Tensor where(const Operand& condition, WhereOptions options, Site site) {
  return OpBuilder("Where", options.name, site, {&condition})
      .input(condition, "condition")
      .output();
}

Tensor boolean_mask(const Operand& tensor, const Operand& mask, BooleanMaskOptions options,
                    Site site) {
  Graph& graph = graph_of(tensor, mask);
  const NameScope scope(graph, options.name, site);
  const Tensor values = convert_operand(graph, tensor, "tensor", std::nullopt);
  const Tensor chosen = convert_operand(graph, mask, "mask", std::nullopt);
  const auto axis = static_cast<std::size_t>(options.axis);
  check_mask(values.shape(), chosen.shape(), axis, site);
  const int end = options.axis + static_cast<int>(chosen.shape().rank());
  // The nodes are created in the order in which TensorFlow evaluates its expressions.
  const Tensor masked = take_range(shape(values, {}, site), options.axis, end, site);
  const Tensor count = reduce_prod(masked, std::vector<int>{0}, {}, site);
  const Tensor before = take_range(shape(values, {}, site), std::nullopt, options.axis, site);
  const Tensor after = take_range(shape(values, {}, site), end, std::nullopt, site);
  const Tensor sizes = concat({before, Operand(std::vector<Tensor>{count}), after}, 0, {}, site);
  Tensor rows = reshape(values, sizes, {}, site);
  rows.set_shape(joined_shape(values.shape(), axis, chosen.shape().rank()), site);
  const Tensor flat = reshape(chosen, {-1}, {}, site);
  const Tensor places = squeeze(where(flat, {}, site), {.axis = {1}}, site);
  return gather(rows, places, {.axis = options.axis}, site);
}

}  // namespace towerflow

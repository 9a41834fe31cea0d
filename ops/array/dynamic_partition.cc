#include "ops/array/dynamic_partition.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/fill.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_of.h"
#include "ops/array/view.h"
#include "ops/copy_elements.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/math/range.h"
#include "ops/math/reduce.h"

namespace towerflow {
namespace {

struct DynamicPartitionAttrs {
  std::int64_t num_partitions = 1;
  static constexpr auto fields =
      std::tuple{attr::required("num_partitions", &DynamicPartitionAttrs::num_partitions)};
};

void dynamic_partition_shape(InferenceContext& context) {
  const std::int64_t parts = context.attrs<DynamicPartitionAttrs>().num_partitions;
  if (parts < 1) {
    context.fail(
        fmt::format("Value for attr 'num_partitions' of {} must be at least minimum 1", parts));
  }
  if (context.dtype(1) != DType::int32) {
    context.fail_type(
        fmt::format("Input 'partitions' has type {} that does not match expected "
                    "type of int32",
                    dtype_name(context.dtype(1))));
  }
  const Shape &data = context.shape(0), &partitions = context.shape(1);
  Shape part = Shape::unknown();
  if (data.has_rank() && partitions.has_rank()) {
    const std::size_t leading = std::min(data.rank(), partitions.rank());
    const auto middle = data.dims().begin() + static_cast<std::ptrdiff_t>(leading);
    if (partitions.rank() > data.rank() ||
        !Shape(std::vector<Dim>(data.dims().begin(), middle)).compatible(partitions)) {
      context.fail(fmt::format("data of shape {} does not begin with the shape of partitions, {}",
                               data.text(), partitions.text()));
    }
    std::vector<Dim> dims{Dim(None)};
    dims.insert(dims.end(), middle, data.dims().end());
    part = Shape(std::move(dims));
  }
  for (std::int64_t i = 0; i < parts; ++i) context.add_output(context.dtype(0), part);
}

/// The slices of data: the memory for their division is a counter and an address for each part.
struct DynamicPartition {
  std::int64_t slices = 0;
  std::int64_t width = 1;
  std::vector<Shape> said;
  std::vector<Dim> slice_dims;
};

struct PartCursor {
  std::int64_t count;
  void* next;
};

template <class T>
void divide_slices(const DynamicPartition& plan, const LaunchArgs& args) {
  const auto* numbers = args.input<std::int32_t>(1);
  const T* data = args.input<T>(0);
  auto* parts = reinterpret_cast<PartCursor*>(args.workspace);
  const std::size_t count = plan.said.size();
  std::fill_n(parts, count, PartCursor{0, nullptr});
  for (std::int64_t i = 0; i < plan.slices; ++i) {
    const auto number = static_cast<std::uint32_t>(numbers[i]);
    if (number >= count) {
      throw errors::InvalidArgumentError(
          fmt::format("partitions[{}] = {} is not in [0, {})", i, numbers[i], count));
    }
    ++parts[number].count;
  }
  for (std::size_t p = 0; p < count; ++p) {
    std::vector<Dim> dims = plan.slice_dims;
    dims[0] = Dim(parts[p].count);
    parts[p].next = args.output_memory(p, Shape(std::move(dims)), plan.said[p]);
  }
  const std::int64_t width = plan.width;
  for (std::int64_t i = 0; i < plan.slices; ++i) {
    PartCursor& part = parts[numbers[i]];
    T* to = static_cast<T*>(part.next);
    if (width == 1)
      *to = data[i];
    else
      copy_short_row(data + i * width, width, to);
    part.next = to + width;
  }
}

std::unique_ptr<PreparedKernel> dynamic_partition_kernel(const KernelRequest& request) {
  const Shape &data = request.inputs[0].shape, &partitions = request.inputs[1].shape;
  DynamicPartition plan;
  bool fits = partitions.rank() <= data.rank();
  for (std::size_t i = 0; fits && i < partitions.rank(); ++i) {
    fits = data.size(i) == partitions.size(i);
  }
  if (!fits) {
    throw errors::InvalidArgumentError(
        fmt::format("data of shape {} does not begin with the shape of partitions, {}", data.text(),
                    partitions.text()));
  }
  plan.slices = partitions.elements();
  plan.slice_dims = {Dim(None)};
  for (std::size_t i = partitions.rank(); i < data.rank(); ++i) {
    plan.width *= data.size(i);
    plan.slice_dims.push_back(data[i]);
  }
  for (const auto& output : request.outputs) plan.said.push_back(output.shape);
  const std::size_t bytes = plan.said.size() * sizeof(PartCursor);
  return function_kernel(
      [plan = std::move(plan), dtype = request.inputs[0].dtype](const LaunchArgs& args) {
        dispatch_copyable(dtype, [&]<class T>() { divide_slices<T>(plan, args); });
      },
      {.workspace_bytes = bytes});
}

/// Divides the numbers of the slices in the same way, to stitch the gradients of the parts.
std::vector<OptionalGradient> dynamic_partition_gradient(const Operation& op,
                                                         const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const Tensor data = op.input(0), partitions = op.input(1);
  const Tensor prefix = shape(partitions, {}, site);
  const Tensor count = reduce_prod(prefix, {}, site);
  const Tensor numbers = reshape(range(0, count, 1, {}, site), prefix, {}, site);
  const std::vector<Tensor> places =
      dynamic_partition(numbers, partitions, static_cast<int>(dys.size()), {}, site);
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < dys.size(); ++i) {
    parts.push_back(dys[i] ? dense_gradient(dys[i], site) : zeros_like(op.output(i), {}, site));
  }
  const Tensor stitched =
      parallel_dynamic_stitch(OperandList(places, site), OperandList(parts, site), {}, site);
  const Tensor sizes = shape(data, {}, site);
  return {reshape(stitched, sizes, {}, site), std::nullopt};
}

}  // namespace

static void register_dynamic_partition_ops(OpRegistry& registry) {
  registry.add({.name = "DynamicPartition",
                .inputs = {"data: T", "partitions: int32"},
                .outputs = {"outputs: num_partitions * T"},
                .attrs = attributes<DynamicPartitionAttrs>(),
                .shape = dynamic_partition_shape,
                .gradient = dynamic_partition_gradient});
}

static void register_dynamic_partition_kernels(KernelTable& table) {
  table.add({.op = "DynamicPartition",
             .label = "copy",
             .accepts = {},
             .prepare = dynamic_partition_kernel});
}

OpFamily dynamic_partition_family() {
  return {.ops = register_dynamic_partition_ops, .kernels = register_dynamic_partition_kernels};
}

std::vector<Tensor> dynamic_partition(const Operand& data, const Operand& partitions,
                                      int num_partitions, DynamicPartitionOptions options,
                                      Site site) {
  return OpBuilder("DynamicPartition", options.name, site, {&data, &partitions})
      .input(data, "data")
      .input(partitions, "partitions", DType::int32)
      .attrs(DynamicPartitionAttrs{num_partitions})
      .build()
      .outputs();
}

}  // namespace towerflow

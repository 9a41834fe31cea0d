#include "ops/array/space_to_batch.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/device/cpu/launch.h"
#include "core/graph/graph.h"
#include "core/graph/op_builder.h"
#include "ops/array/constant.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/slice.h"
#include "ops/array/stack.h"
#include "ops/array/strided_slice.h"
#include "ops/family.h"
#include "ops/math/binary.h"
#include "ops/nn/window_args.h"
#include "ops/strided_copy.h"

namespace towerflow {
namespace {

/// The blocks of each dimension after the first, and the elements added or removed at its borders.
struct BatchBlocks {
  std::vector<std::int64_t> sizes, before, behind;

  BatchBlocks(const Array& block_shape, const Array& borders) : sizes(integers_of(block_shape)) {
    const std::vector<std::int64_t> flat = integers_of(borders);
    for (std::size_t i = 0; i + 1 < flat.size(); i += 2) {
      before.push_back(flat[i]);
      behind.push_back(flat[i + 1]);
    }
  }
  /// Returns the product of the sizes; 0 if it is too large.
  std::int64_t count() const {
    std::int64_t product = 1;
    for (const std::int64_t size : sizes) {
      if (__builtin_mul_overflow(product, size, &product)) return 0;
    }
    return product;
  }
};

/// Returns the shape of the result. Throws ValueError for blocks that do not fit.
Shape blocked_shape(const BatchBlocks& blocks, const Shape& input, bool to_batch) {
  for (const std::int64_t size : blocks.sizes) {
    if (size < 1) throw ValueError(fmt::format("Each block must be at least 1, not {}", size));
  }
  std::vector<Dim> dims =
      input.has_rank() ? input.dims() : std::vector<Dim>(blocks.sizes.size() + 1, None);
  const std::int64_t count = blocks.count();
  if (dims[0].known()) {
    std::int64_t batch = 0;
    const bool fits =
        count > 0 && (to_batch ? !__builtin_mul_overflow(dims[0].size(), count, &batch)
                               : dims[0].size() % count == 0);
    if (!fits) {
      throw ValueError(fmt::format("A batch of {} cannot be {} by blocks of {} elements",
                                   dims[0].size(), to_batch ? "multiplied" : "divided", count));
    }
    dims[0] = to_batch ? batch : dims[0].size() / count;
  }
  for (std::size_t i = 0; i < blocks.sizes.size(); ++i) {
    const std::int64_t before = blocks.before[i], behind = blocks.behind[i];
    if (before < 0 || behind < 0) {
      throw ValueError(
          fmt::format("Dimension {}: {} and {} must not be negative", i + 1, before, behind));
    }
    Dim& dim = dims[i + 1];
    if (!dim.known()) continue;
    std::int64_t around = 0, size = dim.size();
    bool fits = !__builtin_add_overflow(before, behind, &around);
    if (to_batch) {
      fits = fits && !__builtin_add_overflow(size, around, &size) && size % blocks.sizes[i] == 0;
      size /= blocks.sizes[i];
    } else {
      fits = fits && !__builtin_mul_overflow(size, blocks.sizes[i], &size) && size >= around;
      size -= around;
    }
    if (!fits) {
      throw ValueError(
          fmt::format("Dimension {} of {}, with borders of {} and {}, does not fit blocks of {}",
                      i + 1, input.text(), before, behind, blocks.sizes[i]));
    }
    dim = size;
  }
  return input.has_rank() ? Shape(std::move(dims)) : Shape::unknown();
}

void require_indices(InferenceContext& context, std::size_t input, const char* argument) {
  nn::require_dtype(context, input, argument, {DType::int32, DType::int64});
}

void blocks_shape(InferenceContext& context, bool to_batch) {
  require_indices(context, 1, "block_shape");
  require_indices(context, 2, to_batch ? "paddings" : "crops");
  nn::require_rank(context, 1, 1);
  nn::require_rank(context, 2, 2);
  const Shape& input = context.shape(0);
  const Shape& sizes = context.shape(1);
  const Shape& borders = context.shape(2);
  if (borders.has_rank() && borders[1].known() && borders.size(1) != 2) {
    nn::fail_with_shapes(context, "The borders must have two columns");
  }
  if (!sizes.has_rank() || !sizes[0].known())
    nn::fail_with_shapes(context, "The number of blocks must be known");
  if (borders.has_rank() && borders[0].known() && borders[0] != sizes[0]) {
    nn::fail_with_shapes(context, "There must be borders for each block");
  }
  if (input.has_rank() && static_cast<std::int64_t>(input.rank()) <= sizes.size(0)) {
    nn::fail_with_shapes(context, fmt::format("input rank should be >= {}", sizes.size(0) + 1));
  }
  const Array* const block_shape = context.constant(1);
  if (block_shape == nullptr) {
    if (!input.has_rank()) return context.add_output(context.dtype(0), Shape::unknown());
    std::vector<Dim> dims = input.dims();
    std::fill_n(dims.begin(), sizes.size(0) + 1, None);
    return context.add_output(context.dtype(0), Shape(std::move(dims)));
  }
  if (const Array* const known = context.constant(2)) {
    context.add_output(context.dtype(0),
                       blocked_shape(BatchBlocks(*block_shape, *known), input, to_batch));
    return;
  }
  // Only the batch and the dimensions without blocks are known.
  Array zeros(DType::int32, Shape{sizes.size(0), 2});
  std::fill_n(zeros.data<std::int32_t>(), zeros.elements(), 0);
  Shape open = input;
  if (input.has_rank()) {
    std::vector<Dim> dims = input.dims();
    for (std::int64_t i = 0; i < sizes.size(0); ++i) dims[static_cast<std::size_t>(i) + 1] = None;
    open = Shape(std::move(dims));
  }
  context.add_output(context.dtype(0),
                     blocked_shape(BatchBlocks(*block_shape, zeros), open, to_batch));
}

void space_to_batch_shape(InferenceContext& context) { blocks_shape(context, true); }
void batch_to_space_shape(InferenceContext& context) { blocks_shape(context, false); }

/// Copies between a tensor and its blocks, one position inside a block after another.
class BlocksKernel final : public CpuKernel {
 public:
  BlocksKernel(const KernelRequest& request, bool to_batch)
      : blocks_(request.values.at(1), request.values.at(2)),
        whole_(request, to_batch ? 0 : 1),
        parts_(request, to_batch ? 1 : 0),
        count_(blocks_.count()),
        dtype_(request.outputs[0].dtype),
        to_batch_(to_batch) {}

  int slices(int) const override { return slice_count(count_, 1); }
  bool may_fail() const override { return dtype_ == DType::string; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    const SliceRange range = slice_range(count_, slices(0), slice);
    for (std::int64_t part = range.begin; part < range.end; ++part) {
      StridedCopy copy;
      const bool covered = plan(part, copy);
      if (to_batch_ && !covered) {
        const std::int64_t size = parts_.elements / std::max<std::int64_t>(count_, 1);
        dispatch_copyable(dtype_, [&]<class T>() {
          std::fill_n(static_cast<T*>(outputs[0]) + part * size, size, T());
        });
      }
      if (copy.elements() > 0) copy.run(dtype_, inputs[0], outputs[0], 0, 1);
    }
  }

 private:
  struct Dense {
    Shape shape;
    std::vector<std::int64_t> strides;
    std::int64_t elements;

    Dense(const KernelRequest& request, int side)
        : shape(side == 0 ? request.inputs[0].shape : request.outputs[0].shape),
          strides(dense_strides(shape)),
          elements(shape.elements()) {}
  };

  /// Fills in the copy of the elements of one position in a block; returns whether each of them
  /// has a counterpart in the whole tensor.
  bool plan(std::int64_t part, StridedCopy& copy) const {
    std::int64_t whole_at = 0, part_at = part * whole_.shape.size(0) * parts_.strides[0];
    const auto add = [&](std::int64_t size, std::int64_t whole_step, std::int64_t part_step) {
      if (to_batch_)
        copy.add(size, whole_step, part_step);
      else
        copy.add(size, part_step, whole_step);
    };
    add(whole_.shape.size(0), whole_.strides[0], parts_.strides[0]);
    bool covered = true;
    std::int64_t rest = count_;
    for (std::size_t i = 0; i < blocks_.sizes.size(); ++i) {
      const std::int64_t block = blocks_.sizes[i];
      rest /= block;
      // Element k of the part is element k * block + shift of the whole tensor.
      const std::int64_t shift = part / rest % block - blocks_.before[i];
      const std::int64_t size = whole_.shape.size(i + 1), all = parts_.shape.size(i + 1);
      const std::int64_t begin = shift >= 0 ? 0 : (-shift + block - 1) / block;
      const std::int64_t end = shift >= size ? 0 : (size - 1 - shift) / block + 1;
      const std::int64_t last = std::min(end, all);
      const std::int64_t count = std::max<std::int64_t>(last - begin, 0);
      covered = covered && count == all;
      if (count > 0) {
        whole_at += (begin * block + shift) * whole_.strides[i + 1];
        part_at += begin * parts_.strides[i + 1];
      }
      add(count, block * whole_.strides[i + 1], parts_.strides[i + 1]);
    }
    for (std::size_t d = blocks_.sizes.size() + 1; d < whole_.shape.rank(); ++d) {
      add(whole_.shape.size(d), whole_.strides[d], parts_.strides[d]);
    }
    copy.from_offset = to_batch_ ? whole_at : part_at;
    copy.to_offset = to_batch_ ? part_at : whole_at;
    return covered;
  }

  BatchBlocks blocks_;
  Dense whole_, parts_;
  std::int64_t count_;
  DType dtype_;
  bool to_batch_;
};

template <bool kToBatch>
std::unique_ptr<PreparedKernel> blocks_kernel(const KernelRequest& request) {
  check_kernel_rank(request);
  try {
    const BatchBlocks blocks(request.values.at(1), request.values.at(2));
    blocked_shape(blocks, request.inputs[0].shape, kToBatch);
  } catch (const ValueError& error) {
    throw errors::InvalidArgumentError(error.message());
  }
  return sliced_kernel(std::make_unique<BlocksKernel>(request, kToBatch));
}

Tensor blocks_node(const char* op, const char* borders_name, const Operand& input,
                   const Operand& block_shape, const Operand& borders, const std::string& name,
                   Site site) {
  return OpBuilder(op, name, site, {&input, &block_shape, &borders})
      .input(input, "input")
      .index_input(block_shape, "block_shape")
      .index_input(borders, borders_name)
      .output();
}

std::vector<OptionalGradient> space_to_batch_gradient(const Operation& op,
                                                      const std::vector<OptionalGradient>& dys) {
  return {
      batch_to_space_nd(dense_gradient(dys[0], op.site()), op.input(1), op.input(2), {}, op.site()),
      std::nullopt, std::nullopt};
}
std::vector<OptionalGradient> batch_to_space_gradient(const Operation& op,
                                                      const std::vector<OptionalGradient>& dys) {
  return {
      space_to_batch_nd(dense_gradient(dys[0], op.site()), op.input(1), op.input(2), {}, op.site()),
      std::nullopt, std::nullopt};
}

/// Both sides of square blocks, as the int64 vector that TensorFlow makes of them.
Operand square_blocks(int size, Site site) {
  return Operand(Array::of<std::int64_t>(Shape{2}, {size, size}), site);
}

/// x[:, column], with the nodes of Python.
Tensor column_of(const Tensor& x, int column, Site site) {
  const NameScope scope(x.graph(), "strided_slice", site);
  const Tensor from = constant({0, column}, {.name = "stack"}, site);
  const Tensor to = constant({0, column + 1}, {.name = "stack"}, site);
  const Tensor step = constant({1, 1}, {.name = "stack"}, site);
  return strided_slice(
      x, from, to, step,
      {.begin_mask = 1, .end_mask = 1, .shrink_axis_mask = 2, .name = scope.name()}, site);
}

/// Returns constants for what the graph knows, with the names that TensorFlow gives them.
SpaceToBatchPaddings known_paddings(const Array& input_shape, const Array& block_shape,
                                    const Array& base_paddings, Site site) {
  const std::vector<std::int64_t> sizes = integers_of(input_shape);
  const BatchBlocks blocks(block_shape, base_paddings);
  std::vector<std::int32_t> paddings, crops;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t block = blocks.sizes[i];
    if (block < 1) {
      throw ValueError(fmt::format("Each block must be at least 1, not {}", block), {.site = site});
    }
    const std::int64_t full = sizes[i] + blocks.before[i] + blocks.behind[i];
    const std::int64_t extra = (block - full % block) % block;
    paddings.push_back(static_cast<std::int32_t>(blocks.before[i]));
    paddings.push_back(static_cast<std::int32_t>(blocks.behind[i] + extra));
    crops.push_back(0);
    crops.push_back(static_cast<std::int32_t>(extra));
  }
  const Shape shape{static_cast<std::int64_t>(sizes.size()), 2};
  SpaceToBatchPaddings made;
  made.paddings = constant(Array::of<std::int32_t>(shape, paddings), {.name = "paddings"}, site);
  made.crops = constant(Array::of<std::int32_t>(shape, crops), {.name = "crops"}, site);
  return made;
}

/// Makes nodes that compute the paddings during the run.
SpaceToBatchPaddings computed_paddings(const Tensor& input_shape, const Tensor& block_shape,
                                       const Tensor& base_paddings, int count, Site site) {
  const auto with_site = [site](const Tensor& tensor) { return Operand(tensor, site); };
  const Tensor start = column_of(base_paddings, 0, site);
  const Tensor end = column_of(base_paddings, 1, site);
  const Tensor begun = with_site(input_shape) + with_site(start);
  const Tensor full = with_site(begun) + with_site(end);
  const Tensor over = with_site(full) % with_site(block_shape);
  const Tensor missing = with_site(block_shape) - with_site(over);
  const Tensor extra = with_site(missing) % with_site(block_shape);
  const Tensor all_behind = with_site(end) + with_site(extra);
  SpaceToBatchPaddings made;
  std::vector<Nested> paddings, crops;
  for (int i = 0; i < count; ++i) {
    const Tensor before = take_index(start, i, site);
    paddings.emplace_back(Nested(std::vector<Nested>{before, take_index(all_behind, i, site)}));
  }
  made.paddings = convert_to_tensor(Operand(Nested(paddings), site), {.name = "paddings"}, site);
  for (int i = 0; i < count; ++i) {
    crops.emplace_back(Nested(std::vector<Nested>{0, take_index(extra, i, site)}));
  }
  made.crops = convert_to_tensor(Operand(Nested(crops), site), {.name = "crops"}, site);
  return made;
}

}  // namespace

static void register_space_to_batch_ops(OpRegistry& registry) {
  registry.add(
      {.name = "SpaceToBatchND",
       .inputs = {"input: T", "block_shape: Index(Tblock_shape)", "paddings: Index(Tpaddings)"},
       .outputs = {"output: T"},
       .shape = space_to_batch_shape,
       .gradient = space_to_batch_gradient,
       .static_inputs = {1, 2}});
  registry.add({.name = "BatchToSpaceND",
                .inputs = {"input: T", "block_shape: Index(Tblock_shape)", "crops: Index(Tcrops)"},
                .outputs = {"output: T"},
                .shape = batch_to_space_shape,
                .gradient = batch_to_space_gradient,
                .static_inputs = {1, 2}});
}

static void register_space_to_batch_kernels(KernelTable& table) {
  table.add(
      {.op = "SpaceToBatchND", .label = "copy", .accepts = {}, .prepare = blocks_kernel<true>});
  table.add(
      {.op = "BatchToSpaceND", .label = "copy", .accepts = {}, .prepare = blocks_kernel<false>});
}

Tensor space_to_batch_nd(const Operand& input, const Operand& block_shape, const Operand& paddings,
                         SpaceToBatchOptions options, Site site) {
  return blocks_node("SpaceToBatchND", "paddings", input, block_shape, paddings, options.name,
                     site);
}

Tensor batch_to_space_nd(const Operand& input, const Operand& block_shape, const Operand& crops,
                         SpaceToBatchOptions options, Site site) {
  return blocks_node("BatchToSpaceND", "crops", input, block_shape, crops, options.name, site);
}

/// Sets the rank of a result to 4; throws a ValueError if it has another.
static Tensor with_rank_four(Tensor images, Site site) {
  images.set_shape(Shape::of_rank(4), site);
  return images;
}

Tensor space_to_batch(const Operand& input, const Operand& paddings, int block_size,
                      SpaceToBatchOptions options, Site site) {
  return with_rank_four(
      space_to_batch_nd(input, square_blocks(block_size, site), paddings, std::move(options), site),
      site);
}

Tensor batch_to_space(const Operand& input, const Operand& crops, int block_size,
                      SpaceToBatchOptions options, Site site) {
  return with_rank_four(
      batch_to_space_nd(input, square_blocks(block_size, site), crops, std::move(options), site),
      site);
}

SpaceToBatchPaddings required_space_to_batch_paddings(const Operand& input_shape,
                                                      const Operand& block_shape,
                                                      const Operand& base_paddings,
                                                      SpaceToBatchOptions options, Site site) {
  const NameScope scope(graph_of(input_shape, block_shape),
                        options.name.empty() ? "required_space_to_batch_paddings" : options.name,
                        site);
  const auto converted = [site](const Operand& value, const char* name) {
    return convert_to_tensor(value, {.dtype = DType::int32, .name = name}, site);
  };
  const Tensor sizes = converted(input_shape, "input_shape");
  const Tensor blocks = converted(block_shape, "block_shape");
  if (!blocks.shape().has_rank() || blocks.shape().rank() != 1 || !blocks.shape()[0].known()) {
    throw ValueError(
        fmt::format("block_shape must be a vector of known length, not {}", blocks.shape().text()),
        {.site = site});
  }
  const std::int64_t count = blocks.shape().size(0);
  const Tensor base = converted(base_paddings, "base_paddings");
  if (!Shape{count}.compatible(sizes.shape()) || !Shape{count, 2}.compatible(base.shape())) {
    throw ValueError(fmt::format("Blocks {}, sizes {} and paddings {} do not fit together",
                                 blocks.shape().text(), sizes.shape().text(), base.shape().text()),
                     {.site = site});
  }
  const Array known_sizes = constant_value(sizes), known_blocks = constant_value(blocks);
  const Array known_base = constant_value(base);
  if (!known_sizes.empty() && !known_blocks.empty() && !known_base.empty())
    return known_paddings(known_sizes, known_blocks, known_base, site);
  return computed_paddings(sizes, blocks, base, static_cast<int>(count), site);
}

}  // namespace towerflow

namespace towerflow {
OpFamily space_to_batch_family() {
  return {.ops = register_space_to_batch_ops, .kernels = register_space_to_batch_kernels};
}
}  // namespace towerflow

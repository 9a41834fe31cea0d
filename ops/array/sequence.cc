#include "ops/array/sequence.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/device/cpu/launch.h"
#include "core/graph/constant.h"
#include "core/graph/op_builder.h"
#include "ops/array/cast.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/operands.h"
#include "ops/array/rank_size.h"
#include "ops/array/sequence_attrs.h"
#include "ops/array/view.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/math/binary.h"
#include "ops/math/range.h"
#include "ops/math/reduce.h"

namespace towerflow {
namespace {

void reverse_sequence_shape(InferenceContext& context) {
  const auto& attrs = context.attrs<ReverseSequenceAttrs>();
  const Shape& input = context.shape(0);
  const Shape& lengths = context.shape(1);
  if (!is_index(context.dtype(1))) {
    context.fail_type(
        fmt::format("Value passed to parameter 'seq_lengths' has DataType {} not in "
                    "list of allowed values: int32, int64",
                    dtype_name(context.dtype(1))));
  }
  if (lengths.has_rank() && lengths.rank() != 1) {
    context.fail(fmt::format("Shape must be rank 1 but is rank {}: the lengths of sequences",
                             lengths.rank()));
  }
  if (!input.has_rank()) return context.add_output(context.dtype(0), Shape::unknown());
  const auto rank = static_cast<std::int64_t>(input.rank());
  for (const auto& [name, axis] :
       {std::pair{"batch_dim", attrs.batch_dim}, std::pair{"seq_dim", attrs.seq_dim}}) {
    if (axis < 0 || axis >= rank) {
      context.fail(
          fmt::format("{} must be in [0, {}), the number of dimensions of the input, but "
                      "is {}",
                      name, rank, axis));
    }
  }
  const Dim batch = input[attrs.batch_dim];
  if (lengths.has_rank() && batch.known() && lengths[0].known() && batch != lengths[0]) {
    context.fail(fmt::format("{} lengths do not fit the {} parts of a batch of shape {}",
                             lengths.size(0), batch.size(), input.text()));
  }
  std::vector<Dim> dims = input.dims();
  if (!batch.known() && lengths.has_rank()) {
    dims[static_cast<std::size_t>(attrs.batch_dim)] = lengths[0];
  }
  context.add_output(context.dtype(0), Shape(std::move(dims)));
}

std::vector<OptionalGradient> reverse_sequence_gradient(const Operation& op,
                                                        const std::vector<OptionalGradient>& dys) {
  const auto& attrs = op.attrs().as<ReverseSequenceAttrs>();
  const Tensor dy = dense_gradient(dys[0], op.site());
  return {reverse_sequence(dy, op.input(1),
                           {.seq_axis = static_cast<int>(attrs.seq_dim),
                            .batch_axis = static_cast<int>(attrs.batch_dim)},
                           op.site()),
          std::nullopt};
}

/// Copies the runs of elements behind both dimensions, or single elements. The tensor counts as
/// [outer, first, middle, second, inner], where one of first and second is reversed.
class ReverseSequenceKernel final : public CpuKernel {
 public:
  explicit ReverseSequenceKernel(const KernelRequest& request)
      : dtype_(request.inputs[0].dtype), length_dtype_(request.inputs[1].dtype) {
    const auto& attrs = request.attributes<ReverseSequenceAttrs>();
    const Shape& input = request.inputs[0].shape;
    const auto seq = static_cast<std::size_t>(attrs.seq_dim);
    const auto batch = static_cast<std::size_t>(attrs.batch_dim);
    if (seq >= input.rank() || batch >= input.rank() || seq == batch) {
      throw errors::InvalidArgumentError(fmt::format(
          "batch_dim {} and seq_dim {} of a reverse_sequence must be different dimensions of {}",
          attrs.batch_dim, attrs.seq_dim, input.text()));
    }
    lengths_ = input.size(batch);
    longest_ = input.size(seq);
    if (request.inputs[1].shape.elements() != lengths_) {
      throw errors::InvalidArgumentError(
          fmt::format("{} lengths do not fit the {} parts of a batch of shape {}",
                      request.inputs[1].shape.elements(), lengths_, input.text()));
    }
    batch_first_ = batch < seq;
    const std::size_t low = std::min(seq, batch), high = std::max(seq, batch);
    first_ = input.size(low);
    second_ = input.size(high);
    for (std::size_t i = 0; i < input.rank(); ++i) {
      if (i == low || i == high) continue;
      (i < low ? outer_ : i < high ? middle_ : inner_) *= input.size(i);
    }
  }

  int phases() const override { return 2; }
  int slices(int phase) const override {
    return phase == 0 ? 1 : row_slices(rows(), second_ * inner_);
  }
  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    if (phase == 0) return check_lengths(inputs[1]);
    const SliceRange part = slice_range(rows(), slices(1), slice);
    dispatch_copyable(dtype_, [&]<class T>() {
      for (std::int64_t row = part.begin; row < part.end; ++row) {
        copy_row(row, inputs[1], static_cast<const T*>(inputs[0]), static_cast<T*>(outputs[0]));
      }
    });
  }

 private:
  std::int64_t rows() const { return outer_ * first_ * middle_; }

  void check_lengths(const void* lengths) const {
    for (std::int64_t i = 0; i < lengths_; ++i) {
      const std::int64_t length = integer_at(length_dtype_, lengths, i);
      if (length < 0 || length > longest_) {
        throw errors::InvalidArgumentError(
            fmt::format("seq_lengths[{}] = {} is not in [0, {}]", i, length, longest_));
      }
    }
  }

  /// Returns the place along the reversed dimension that is copied to `place`.
  std::int64_t source(const void* lengths, std::int64_t batch, std::int64_t place) const {
    const std::int64_t length = integer_at(length_dtype_, lengths, batch);
    return place < length ? length - 1 - place : place;
  }

  template <class T>
  void copy_row(std::int64_t row, const void* lengths, const T* from, T* to) const {
    const std::int64_t width = second_ * inner_;
    to += row * width;
    const std::int64_t place = row / middle_ % first_;
    if (batch_first_) {
      from += row * width;
      for (std::int64_t i = 0; i < second_; ++i) {
        std::copy_n(from + source(lengths, place, i) * inner_, inner_, to + i * inner_);
      }
      return;
    }
    for (std::int64_t i = 0; i < second_; ++i) {
      const std::int64_t moved = row + (source(lengths, i, place) - place) * middle_;
      std::copy_n(from + moved * width + i * inner_, inner_, to + i * inner_);
    }
  }

  DType dtype_;
  DType length_dtype_;
  std::int64_t lengths_ = 0, longest_ = 0;
  bool batch_first_ = false;
  std::int64_t outer_ = 1, first_ = 1, middle_ = 1, second_ = 1, inner_ = 1;
};

/// Adds the nodes of a sequence_mask inside its scope.
Tensor compare_with_lengths(const Tensor& lengths, const Tensor& maxlen, DType dtype, Site site) {
  Graph& graph = lengths.graph();
  const auto number = [&](double value) {
    return make_constant(graph, cast_elements(Array::scalar(value), maxlen.dtype()), "Const", site);
  };
  const Tensor zero = number(0);
  const Tensor one = number(1);
  const Tensor row = range(zero, maxlen, one, {.name = "Range"}, site);
  const Tensor columns = expand_dims(lengths, -1, {}, site);
  const Tensor ends = cast_always(columns, maxlen.dtype(), site);
  const Tensor mask = less(row, ends, {}, site);
  return dtype == DType::bool_ ? mask : cast_always(mask, dtype, site);
}

}  // namespace

static void register_sequence_ops(OpRegistry& registry) {
  registry.add({.name = "ReverseSequence",
                .inputs = {"input: T", "seq_lengths: Index(Tlen)"},
                .outputs = {"output: T"},
                .attrs = attributes<ReverseSequenceAttrs>(),
                .shape = reverse_sequence_shape,
                .gradient = reverse_sequence_gradient});
}

static void register_sequence_kernels(KernelTable& table) {
  table.add({.op = "ReverseSequence",
             .label = "copy",
             .accepts = {},
             .prepare = [](const KernelRequest& request) {
               check_kernel_rank(request);
               return sliced_kernel(std::make_unique<ReverseSequenceKernel>(request));
             }});
}

OpFamily sequence_family() {
  return {.ops = register_sequence_ops, .kernels = register_sequence_kernels};
}

Tensor sequence_mask(const Operand& lengths, const ScalarOperand& maxlen,
                     SequenceMaskOptions options, Site site) {
  Graph& graph = graph_of(lengths, maxlen);
  const NameScope scope(graph, options.name.empty() ? "SequenceMask" : options.name, site);
  const Tensor ends = convert_operand(graph, lengths, "", std::nullopt);
  const Tensor limit = convert_operand(graph, maxlen, "", std::nullopt);
  if (limit.shape().has_rank() && limit.shape().rank() != 0) {
    throw ValueError(fmt::format("Argument `maxlen` must be scalar for sequence_mask, received "
                                 "`maxlen` = {} with shape '{}' instead",
                                 limit.name(), limit.shape().text()),
                     {.site = site, .op = "SequenceMask"});
  }
  return compare_with_lengths(ends, limit, options.dtype, site);
}

Tensor sequence_mask(const Operand& lengths, SequenceMaskOptions options, Site site) {
  Graph& graph = graph_of(lengths);
  const NameScope scope(graph, options.name.empty() ? "SequenceMask" : options.name, site);
  const Tensor ends = convert_operand(graph, lengths, "", std::nullopt);
  Axis all = std::nullopt;
  if (ends.shape().has_rank()) {
    std::vector<std::int64_t> axes(ends.shape().rank());
    for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
    all = Axis(index_constant(graph, axes, "Const", site));
  } else {
    all = Axis(range(0, rank(ends, {}, site), 1, {.name = "Range"}, site));
  }
  const Tensor longest = reduce_max(ends, all, {.name = "Max"}, site);
  const Tensor zero =
      make_constant(graph, cast_elements(Array::scalar(0.0), longest.dtype()), "Const", site);
  const Tensor limit = maximum(zero, longest, {}, site);
  return compare_with_lengths(ends, limit, options.dtype, site);
}

Tensor reverse_sequence(const Operand& input, const Operand& seq_lengths,
                        ReverseSequenceOptions options, Site site) {
  if (!options.seq_axis) {
    throw TypeError("a reverse_sequence needs the axis of the sequences",
                    {.site = site, .op = "ReverseSequence", .hint = "pass {.seq_axis = ..}"});
  }
  OpBuilder builder("ReverseSequence", options.name, site, {&input, &seq_lengths});
  builder.input(input, "input").index_input(seq_lengths, "seq_lengths");
  return builder.attrs(ReverseSequenceAttrs{*options.seq_axis, options.batch_axis}).output();
}

}  // namespace towerflow

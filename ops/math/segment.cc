#include "ops/math/segment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/concat.h"
#include "ops/array/fill.h"
#include "ops/array/rank_size.h"
#include "ops/array/shape_of.h"
#include "ops/array/view.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/math/binary.h"
#include "ops/math/binary_functors.h"
#include "ops/math/segment_gradients.h"
#include "ops/math/unary.h"
#include "ops/range_kernel.h"

namespace towerflow {
namespace {

void require_segment_number(const InferenceContext& context) {
  const DType dtype = context.dtype(0);
  if (dtype == DType::bool_ || !dispatch_dtype(dtype, []<class T>() {})) {
    context.fail_type(fmt::format("segments of {} cannot be combined", dtype_name(dtype)));
  }
  if (!is_index(context.dtype(1))) {
    context.fail_type(
        fmt::format("Value passed to parameter 'segment_ids' has DataType {} not in "
                    "list of allowed values: int32, int64",
                    dtype_name(context.dtype(1))));
  }
}

void unsorted_segment_shape(InferenceContext& context) {
  const DType dtype = context.dtype(0);
  require_segment_number(context);
  const Shape& data = context.shape(0);
  const Shape& ids = context.shape(1);
  if (context.shape(2).has_rank() && context.shape(2).rank() != 0) {
    context.fail("Shape must be rank 0: the number of segments");
  }
  if (!data.has_rank() || !ids.has_rank()) return context.add_output(dtype, Shape::unknown());
  const std::size_t leading = ids.rank();
  const bool fits =
      leading <= data.rank() &&
      Shape(std::vector<Dim>(data.dims().begin(),
                             data.dims().begin() + static_cast<std::ptrdiff_t>(leading)))
          .compatible(ids);
  if (!fits) {
    context.fail(fmt::format("segment ids of shape {} do not fit data of shape {}", ids.text(),
                             data.text()));
  }
  std::vector<Dim> dims{Dim(std::nullopt)};
  if (const Array* number = context.constant(2)) {
    const std::int64_t rows = integers_of(*number).at(0);
    if (rows < 0) context.fail(fmt::format("a number of segments of {}", rows));
    dims[0] = Dim(rows);
  }
  dims.insert(dims.end(), data.dims().begin() + static_cast<std::ptrdiff_t>(leading),
              data.dims().end());
  context.add_output(dtype, Shape(std::move(dims)));
}

void sorted_segment_shape(InferenceContext& context) {
  require_segment_number(context);
  const Shape &data = context.shape(0), &ids = context.shape(1);
  if (ids.has_rank() && ids.rank() != 1) {
    context.fail(
        fmt::format("Shape must be rank 1 but is rank {}: the ids of segments, of shape "
                    "{}",
                    ids.rank(), ids.text()));
  }
  if (!data.has_rank()) return context.add_output(context.dtype(0), Shape::unknown());
  if (data.rank() == 0) {
    context.fail("Shape must be at least rank 1 but is rank 0: the rows of segments");
  }
  std::vector<Dim> dims = data.dims();
  dims[0] = Dim(None);
  context.add_output(context.dtype(0), Shape(std::move(dims)));
}

/// How rows are combined: `kEmpty` is the value of a segment without rows if ids are unsorted.
template <class T>
struct SumSegments : functors::Add<T> {
  static constexpr T kStart = T(0), kEmpty = T(0);
};
template <class T>
struct ProdSegments : functors::Mul<T> {
  static constexpr T kStart = T(1), kEmpty = T(1);
};
template <class T>
struct MaxSegments {
  static constexpr T kStart = std::numeric_limits<T>::lowest(), kEmpty = T(0);
  T operator()(T a, T b) const { return a < b || b != b ? b : a; }
};
template <class T>
struct MinSegments {
  static constexpr T kStart = std::numeric_limits<T>::max(), kEmpty = T(0);
  T operator()(T a, T b) const { return b < a || b != b ? b : a; }
};

/// What the kernels do to a row of n elements; null for a dtype that the ops do not take. Only
/// these loops are compiled for each dtype and way of combining.
struct SegmentRule {
  void (*start)(void* out, std::int64_t n) = nullptr;  ///< the value from which rows are combined
  void (*empty)(void* out,
                std::int64_t n) = nullptr;  ///< a segment without rows, if ids are sorted
  void (*add)(void* result, const void* row, std::int64_t n) = nullptr;
  /// Combines `rows` rows of n elements with the result, in order.
  void (*add_rows)(void* result, const void* rows_of, std::int64_t rows, std::int64_t n) = nullptr;
  void (*divide)(void* result, std::int64_t divisor, std::int64_t n) = nullptr;
  std::size_t bytes = 0;  ///< of an element
};

template <class T, class Combine>
void add_segment_row(void* result, const void* row, std::int64_t n) {
  const Combine rule;
  T* to = static_cast<T*>(result);
  const T* from = static_cast<const T*>(row);
  for (std::int64_t k = 0; k < n; ++k) to[k] = rule(to[k], from[k]);
}

/// Takes four rows at a time: the result is loaded less often.
template <class T, class Combine>
void add_segment_rows(void* result, const void* rows_of, std::int64_t rows, std::int64_t n) {
  const Combine rule;
  T* to = static_cast<T*>(result);
  const T* row = static_cast<const T*>(rows_of);
  for (; rows >= 4; rows -= 4, row += 4 * n) {
    for (std::int64_t k = 0; k < n; ++k) {
      const T two = rule(rule(to[k], row[k]), row[n + k]);
      to[k] = rule(rule(two, row[2 * n + k]), row[3 * n + k]);
    }
  }
  for (; rows > 0; --rows, row += n) add_segment_row<T, Combine>(result, row, n);
}

template <class T>
void divide_segment(void* result, std::int64_t divisor, std::int64_t n) {
  T* to = static_cast<T*>(result);
  for (std::int64_t k = 0; k < n; ++k) to[k] = functors::RealDiv<T>()(to[k], T(divisor));
}

template <template <class> class Combine>
SegmentRule segment_rule_of(DType dtype) {
  SegmentRule found;
  dispatch_dtype(dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      found.start = [](void* out, std::int64_t n) {
        std::fill_n(static_cast<T*>(out), n, Combine<T>::kStart);
      };
      found.empty = [](void* out, std::int64_t n) {
        std::fill_n(static_cast<T*>(out), n, Combine<T>::kEmpty);
      };
      found.add = add_segment_row<T, Combine<T>>;
      found.add_rows = add_segment_rows<T, Combine<T>>;
      found.divide = divide_segment<T>;
      found.bytes = sizeof(T);
    }
  });
  return found;
}

/// Each slice combines some columns of all rows, or, if rows are short, the rows of some of the
/// segments, so that the order is kept with several slices too. Phase 0 checks the ids.
class UnsortedSegments final : public CpuKernel {
 public:
  UnsortedSegments(std::int64_t segments, std::int64_t width, const TensorDesc& ids,
                   SegmentRule rule)
      : segments_(segments),
        width_(width),
        count_(ids.shape.elements()),
        id_dtype_(ids.dtype),
        rule_(rule) {
    constexpr std::int64_t kColumnsOfSlice = 64, kElementsOfId = 16;
    by_columns_ = width_ >= 2 * kColumnsOfSlice;
    const int most = by_columns_ ? slice_count(width_, kColumnsOfSlice, kMaxPartialSlices)
                                 : std::min(slice_count(width_, kElementsOfId, kMaxPartialSlices),
                                            slice_count(segments_, 1, kMaxPartialSlices));
    slices_ = slice_count(count_ * width_, kLoopGrain, most);
  }
  int phases() const override { return 2; }
  int slices(int phase) const override { return phase == 0 ? 1 : slices_; }
  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    if (phase == 0) return check_ids(inputs[1]);
    SliceRange rows{0, segments_}, columns{0, width_};
    (by_columns_ ? columns : rows) = slice_range(by_columns_ ? width_ : segments_, slices_, slice);
    std::byte* results = static_cast<std::byte*>(outputs[0]) + size(columns.begin);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      rule_.start(results + size(row * width_), columns.size());
    }
    const std::byte* from = static_cast<const std::byte*>(inputs[0]) + size(columns.begin);
    for (std::int64_t i = 0; i < count_; ++i) {
      const std::int64_t id = integer_at(id_dtype_, inputs[1], i);
      if (id < rows.begin || id >= rows.end) continue;
      rule_.add(results + size(id * width_), from + size(i * width_), columns.size());
    }
  }

 private:
  std::size_t size(std::int64_t elements) const {
    return static_cast<std::size_t>(elements) * rule_.bytes;
  }
  void check_ids(const void* ids) const {
    for (std::int64_t i = 0; i < count_; ++i) {
      const std::int64_t id = integer_at(id_dtype_, ids, i);
      if (id >= segments_) {
        throw errors::InvalidArgumentError(
            fmt::format("segment_ids[{}] = {} is out of range [0, {})", i, id, segments_));
      }
    }
  }

  std::int64_t segments_, width_, count_;
  DType id_dtype_;
  SegmentRule rule_;
  bool by_columns_ = false;
  int slices_ = 1;
};

template <template <class> class Combine>
std::unique_ptr<PreparedKernel> unsorted_segment_kernel(const KernelRequest& request) {
  check_kernel_rank(request);
  const Shape& out = request.outputs[0].shape;
  std::int64_t width = 1;
  for (std::size_t i = 1; i < out.rank(); ++i) width *= out.size(i);
  if (request.inputs[0].shape.elements() != request.inputs[1].shape.elements() * width) {
    throw errors::InvalidArgumentError(
        fmt::format("segment ids of shape {} do not fit data of shape {}",
                    request.inputs[1].shape.text(), request.inputs[0].shape.text()));
  }
  const SegmentRule rule = segment_rule_of<Combine>(request.inputs[0].dtype);
  if (rule.add == nullptr) return nullptr;
  return sliced_kernel(
      std::make_unique<UnsortedSegments>(out.size(0), width, request.inputs[1], rule));
}

/// Combines runs of rows with equal ids. With `mean`, their sum is divided by their number.
void combine_runs(const LaunchArgs& args, const TensorDesc& data, DType id_dtype, const Shape& said,
                  const SegmentRule& rule, bool mean) {
  const std::int64_t count = data.shape.size(0);
  std::int64_t width = 1;
  for (std::size_t i = 1; i < data.shape.rank(); ++i) width *= data.shape.size(i);
  std::int64_t before = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t id = integer_at(id_dtype, args.inputs[1], i);
    if (id < before) {
      throw errors::InvalidArgumentError(
          id < 0 ? fmt::format("segment_ids[{}] = {}: segment ids must be >= 0", i, id)
                 : fmt::format("segment_ids[{}] = {}: segment ids are not increasing", i, id));
    }
    before = id;
  }
  // The result must not be so large that its size overflows.
  const std::int64_t limit =
      std::numeric_limits<std::int64_t>::max() / 64 / std::max<std::int64_t>(width, 1);
  if (count > 0 && before >= limit) {
    throw errors::InvalidArgumentError(fmt::format("a segment id of {} is too large", before));
  }
  const std::int64_t segments = count == 0 ? 0 : before + 1;
  std::vector<Dim> dims = data.shape.dims();
  dims[0] = Dim(segments);
  std::byte* out = static_cast<std::byte*>(args.output_memory(0, Shape(std::move(dims)), said));
  const std::byte* rows = args.input<std::byte>(0);
  const std::size_t row_bytes = static_cast<std::size_t>(width) * rule.bytes;
  const auto row_at = [row_bytes](auto* memory, std::int64_t row) {
    return memory + static_cast<std::size_t>(row) * row_bytes;
  };
  std::int64_t made = 0;
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t id = integer_at(id_dtype, args.inputs[1], i);
    rule.empty(row_at(out, made), (id - made) * width);
    std::byte* result = row_at(out, id);
    if (row_bytes > 0) std::memcpy(result, row_at(rows, i), row_bytes);
    std::int64_t end = i + 1;
    while (end < count && integer_at(id_dtype, args.inputs[1], end) == id) ++end;
    rule.add_rows(result, row_at(rows, i + 1), end - i - 1, width);
    if (mean) rule.divide(result, end - i, width);
    i = end;
    made = id + 1;
  }
}

template <template <class> class Combine, bool kMean = false>
std::unique_ptr<PreparedKernel> sorted_segment_kernel(const KernelRequest& request) {
  const Shape &data = request.inputs[0].shape, &ids = request.inputs[1].shape;
  if (data.rank() == 0 || ids.rank() != 1 || ids.size(0) != data.size(0)) {
    throw errors::InvalidArgumentError(
        fmt::format("segment_ids should be the same size as dimension 0 of input: {} and {}",
                    ids.text(), data.text()));
  }
  const SegmentRule rule = segment_rule_of<Combine>(request.inputs[0].dtype);
  if (rule.add == nullptr) return nullptr;
  return function_kernel([data = request.inputs[0], ids_dtype = request.inputs[1].dtype,
                          said = request.outputs[0].shape, rule](const LaunchArgs& args) {
    combine_runs(args, data, ids_dtype, said, rule, kMean);
  });
}

Tensor add_unsorted(const char* op, const Operand& data, const Operand& segment_ids,
                    const Operand& num_segments, const std::string& name, Site site) {
  return OpBuilder(op, name, site, {&data, &segment_ids, &num_segments})
      .input(data, "data")
      .index_input(segment_ids, "segment_ids")
      .index_input(num_segments, "num_segments")
      .output();
}

Tensor add_sorted(const char* op, const Operand& data, const Operand& segment_ids,
                  const std::string& name, Site site) {
  return OpBuilder(op, name, site, {&data, &segment_ids})
      .input(data, "data")
      .index_input(segment_ids, "segment_ids")
      .output();
}

/// Returns the sum of each segment, and the number of its rows in a shape that broadcasts to it.
struct SegmentMean {
  Tensor sum;
  Tensor count;
};

SegmentMean sum_and_count(const Operand& data, const Operand& segment_ids,
                          const Operand& num_segments, Site site) {
  Graph& graph = graph_of(data, segment_ids);
  const Tensor rows = convert_operand(graph, data, "", std::nullopt);
  const Tensor ids = convert_operand(graph, segment_ids, "", std::nullopt);
  const Tensor number = convert_operand(graph, num_segments, "", std::nullopt);
  const Tensor id_shape = shape(ids, {}, site);
  const Tensor units = ones(id_shape, {.dtype = rows.dtype()}, site);
  const Tensor counted = unsorted_segment_sum(units, ids, number, {}, site);
  const Tensor one_number = expand_dims(number, 0, {}, site);
  const Tensor row_rank = rank(rows, {}, site);
  const Tensor id_rank = rank(ids, {}, site);
  const Tensor extra = Operand(row_rank, site) - id_rank;
  const Tensor extra_ones = ones(expand_dims(extra, 0, {}, site), {.dtype = number.dtype()}, site);
  const Tensor sizes = concat({one_number, extra_ones}, 0, {}, site);
  const Tensor counts = reshape(counted, sizes, {}, site);
  const Tensor at_least_one = maximum(counts, 1, {.name = "Maximum"}, site);
  return {unsorted_segment_sum(rows, ids, number, {}, site), at_least_one};
}

}  // namespace

static void register_segment_ops(OpRegistry& registry) {
  const std::pair<const char*, GradientRule> unsorted[] = {
      {"UnsortedSegmentSum", unsorted_segment_sum_gradient},
      {"UnsortedSegmentProd", unsorted_segment_prod_gradient},
      {"UnsortedSegmentMax", unsorted_segment_extreme_gradient},
      {"UnsortedSegmentMin", unsorted_segment_extreme_gradient}};
  for (const auto& [op, gradient] : unsorted) {
    registry.add(
        {.name = op,
         .inputs = {"data: T", "segment_ids: Index(Tindices)", "num_segments: Index(Tnumsegments)"},
         .outputs = {"output: T"},
         .shape = unsorted_segment_shape,
         .gradient = gradient});
  }
  const std::pair<const char*, GradientRule> sorted[] = {{"SegmentSum", segment_sum_gradient},
                                                         {"SegmentMean", segment_mean_gradient},
                                                         {"SegmentProd", segment_prod_gradient},
                                                         {"SegmentMax", segment_extreme_gradient},
                                                         {"SegmentMin", segment_extreme_gradient}};
  for (const auto& [op, gradient] : sorted) {
    registry.add({.name = op,
                  .inputs = {"data: T", "segment_ids: Index(Tindices)"},
                  .outputs = {"output: T"},
                  .shape = sorted_segment_shape,
                  .gradient = gradient});
  }
}

static void register_segment_kernels(KernelTable& table) {
  using Prepare = std::unique_ptr<PreparedKernel> (*)(const KernelRequest&);
  const auto add = [&](const char* op, const char* label, Prepare prepare) {
    table.add({.op = op, .label = label, .accepts = {}, .prepare = prepare});
  };
  add("UnsortedSegmentSum", "rows", unsorted_segment_kernel<SumSegments>);
  add("UnsortedSegmentProd", "rows", unsorted_segment_kernel<ProdSegments>);
  add("UnsortedSegmentMax", "rows", unsorted_segment_kernel<MaxSegments>);
  add("UnsortedSegmentMin", "rows", unsorted_segment_kernel<MinSegments>);
  add("SegmentSum", "runs", sorted_segment_kernel<SumSegments>);
  add("SegmentMean", "runs", sorted_segment_kernel<SumSegments, true>);
  add("SegmentProd", "runs", sorted_segment_kernel<ProdSegments>);
  add("SegmentMax", "runs", sorted_segment_kernel<MaxSegments>);
  add("SegmentMin", "runs", sorted_segment_kernel<MinSegments>);
}

OpFamily segment_family() {
  return {.ops = register_segment_ops, .kernels = register_segment_kernels};
}

#define TOWERFLOW_UNSORTED(function, op)                                                        \
  Tensor function(const Operand& data, const Operand& segment_ids, const Operand& num_segments, \
                  SegmentOptions options, Site site) {                                          \
    return add_unsorted(op, data, segment_ids, num_segments, options.name, site);               \
  }
TOWERFLOW_UNSORTED(unsorted_segment_sum, "UnsortedSegmentSum")
TOWERFLOW_UNSORTED(unsorted_segment_prod, "UnsortedSegmentProd")
TOWERFLOW_UNSORTED(unsorted_segment_max, "UnsortedSegmentMax")
TOWERFLOW_UNSORTED(unsorted_segment_min, "UnsortedSegmentMin")
#undef TOWERFLOW_UNSORTED

#define TOWERFLOW_SORTED(function, op)                                                     \
  Tensor function(const Operand& data, const Operand& segment_ids, SegmentOptions options, \
                  Site site) {                                                             \
    return add_sorted(op, data, segment_ids, options.name, site);                          \
  }
TOWERFLOW_SORTED(segment_sum, "SegmentSum")
TOWERFLOW_SORTED(segment_mean, "SegmentMean")
TOWERFLOW_SORTED(segment_prod, "SegmentProd")
TOWERFLOW_SORTED(segment_max, "SegmentMax")
TOWERFLOW_SORTED(segment_min, "SegmentMin")
#undef TOWERFLOW_SORTED

Tensor unsorted_segment_mean(const Operand& data, const Operand& segment_ids,
                             const Operand& num_segments, SegmentOptions options, Site site) {
  const NameScope scope(graph_of(data, segment_ids),
                        options.name.empty() ? "UnsortedSegmentMean" : options.name, site);
  const SegmentMean parts = sum_and_count(data, segment_ids, num_segments, site);
  return Operand(parts.sum, site) / parts.count;
}

Tensor unsorted_segment_sqrt_n(const Operand& data, const Operand& segment_ids,
                               const Operand& num_segments, SegmentOptions options, Site site) {
  const NameScope scope(graph_of(data, segment_ids),
                        options.name.empty() ? "UnsortedSegmentSqrtN" : options.name, site);
  const SegmentMean parts = sum_and_count(data, segment_ids, num_segments, site);
  const Tensor root = sqrt(parts.count, {.name = "Sqrt"}, site);
  return Operand(parts.sum, site) / root;
}

}  // namespace towerflow

#include "ops/array/set_operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "core/device/cpu/cpu_backend.h"
#include "core/device/cpu/slicing.h"
#include "core/device/cpu/thread_pool.h"
#include "core/graph/op_builder.h"
#include "ops/family.h"

namespace towerflow {
namespace {

struct SetOperationAttrs {
  std::string set_operation{};
  bool validate_indices = true;
  static constexpr auto fields =
      std::tuple{attr::required("set_operation", &SetOperationAttrs::set_operation),
                 attr::field("validate_indices", &SetOperationAttrs::validate_indices)};
};

bool is_set_dtype(DType dtype) {
  return dtype == DType::int32 || dtype == DType::int64 || dtype == DType::uint8 ||
         dtype == DType::string;
}

void require_matrix(const InferenceContext& context, std::size_t input) {
  const Shape& shape = context.shape(input);
  if (!shape.has_rank() || shape.rank() >= 2) return;
  context.fail(
      fmt::format("Shape must be at least rank 2 but is rank {}: sets are the rows of a "
                  "tensor",
                  shape.rank()));
}

void set_operation_shape(InferenceContext& context) {
  if (!is_set_dtype(context.dtype(0))) {
    context.fail_type(fmt::format("sets of {} do not exist; use an integer or string",
                                  dtype_name(context.dtype(0))));
  }
  if (context.dtype(0) != context.dtype(1)) {
    context.fail_type(fmt::format("the sets have the dtypes {} and {}, which differ",
                                  dtype_name(context.dtype(0)), dtype_name(context.dtype(1))));
  }
  require_matrix(context, 0);
  require_matrix(context, 1);
  const Shape &a = context.shape(0), &b = context.shape(1);
  if (a.has_rank() && b.has_rank()) {
    if (a.rank() != b.rank()) {
      context.fail(fmt::format("Shape must be rank {} but is rank {}", a.rank(), b.rank()));
    }
    for (std::size_t i = 0; i + 1 < a.rank(); ++i) {
      if (!a[i].known() || !b[i].known() || a[i] == b[i]) continue;
      context.fail(fmt::format("Dimension {} in both shapes must be equal, but are {} and {}", i,
                               a.text(), b.text()));
    }
  }
  const Shape& ranked = a.has_rank() ? a : b;
  const Dim rank =
      ranked.has_rank() ? Dim(static_cast<std::int64_t>(ranked.rank())) : Dim(std::nullopt);
  context.add_output(DType::int64, Shape(std::vector<Dim>{Dim(std::nullopt), rank}));
  context.add_output(context.dtype(0), Shape(std::vector<Dim>{Dim(std::nullopt)}));
  context.add_output(DType::int64, Shape(std::vector<Dim>{rank}));
}

/// Which values of two sets are in the result.
struct SetChoice {
  bool only_a = false, both = false, only_b = false;

  explicit SetChoice(const std::string& operation) {
    if (operation != "a-b" && operation != "b-a" && operation != "intersection" &&
        operation != "union") {
      throw errors::InvalidArgumentError(fmt::format("Invalid set_operation {}.", operation));
    }
    both = operation == "intersection" || operation == "union";
    only_a = operation == "a-b" || operation == "union";
    only_b = operation == "b-a" || operation == "union";
  }
};

/// What is sorted: numbers themselves, and pointers to strings.
template <class T>
struct SetKey {
  T value;
  static SetKey of(const T& element) { return {element}; }
  const T& get() const { return value; }
};
template <>
struct SetKey<std::string> {
  const std::string* value;
  static SetKey of(const std::string& element) { return {&element}; }
  const std::string& get() const { return *value; }
};

/// A set operation on the rows of two tensors. Three steps: sorts each row in slices, counts, and
/// merges the sorted rows in slices. Memory: the keys of all rows, and the counts of each row.
template <class T>
class RowSetsKernel final : public PreparedKernel {
 public:
  explicit RowSetsKernel(const KernelRequest& request)
      : choice_(request.attributes<SetOperationAttrs>().set_operation) {
    const Shape &a = request.inputs[0].shape, &b = request.inputs[1].shape;
    for (std::size_t i = 0; i + 1 < a.rank(); ++i) group_.push_back(a.size(i));
    if (a.rank() < 2 || a.rank() != b.rank() ||
        !std::equal(group_.begin(), group_.end(), b.sizes().begin())) {
      throw errors::InvalidArgumentError(
          fmt::format("the shapes of sets must be equal but for the last size, got {} and {}",
                      a.text(), b.text()));
    }
    for (const std::int64_t size : group_) rows_ *= size;
    a_size_ = a.size(group_.size());
    b_size_ = b.size(group_.size());
    counts_at_ = static_cast<std::size_t>(rows_ * (a_size_ + b_size_)) * sizeof(Key);
    counts_at_ = (counts_at_ + 63) / 64 * 64;
    slices_ = row_slices(rows_, 8 * (a_size_ + b_size_));  // sorting takes longer than a loop
    for (std::size_t i = 0; i < said_.size(); ++i) said_[i] = request.outputs[i].shape;
  }
  std::size_t workspace_bytes() const override {
    return counts_at_ + static_cast<std::size_t>(rows_) * sizeof(RowCounts);
  }

  void enqueue(Queue& queue, const LaunchArgs& args) const override {
    ThreadPool& pool = static_cast<CpuQueue&>(queue).pool();
    auto* counts = reinterpret_cast<RowCounts*>(args.workspace + counts_at_);
    pool.parallel(slices_, [&](int slice) { sort_rows(slice, args, counts); });
    std::int64_t total = 0, largest = 0;
    for (std::int64_t row = 0; row < rows_; ++row) {
      counts[row].before = total;
      total += counts[row].result;
      largest = std::max(largest, counts[row].result);
    }
    const auto rank = static_cast<std::int64_t>(group_.size()) + 1;
    auto* index = static_cast<std::int64_t*>(args.output_memory(0, Shape{total, rank}, said_[0]));
    T* values = static_cast<T*>(args.output_memory(1, Shape{total}, said_[1]));
    auto* shape = static_cast<std::int64_t*>(args.output_memory(2, Shape{rank}, said_[2]));
    pool.parallel(slices_,
                  [&](int slice) { write_rows(slice, keys(args), counts, index, values); });
    std::copy(group_.begin(), group_.end(), shape);
    shape[rank - 1] = largest;
  }

 private:
  using Key = SetKey<T>;
  struct RowCounts {
    std::int64_t a, b;    ///< distinct elements
    std::int64_t result;  ///< elements of the result
    std::int64_t before;  ///< elements of the results of earlier rows
  };

  static Key* keys(const LaunchArgs& args) { return reinterpret_cast<Key*>(args.workspace); }

  /// Writes the sorted distinct elements of a row to `keys`; returns how many they are.
  static std::int64_t sort_row(const T* row, std::int64_t size, Key* keys) {
    std::transform(row, row + size, keys, Key::of);
    std::sort(keys, keys + size, [](const Key& x, const Key& y) { return x.get() < y.get(); });
    return std::unique(keys, keys + size,
                       [](const Key& x, const Key& y) { return x.get() == y.get(); }) -
           keys;
  }

  void sort_rows(int slice, const LaunchArgs& args, RowCounts* counts) const {
    const SliceRange range = slice_range(rows_, slices_, slice);
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      Key* a = keys(args) + row * (a_size_ + b_size_);
      RowCounts& count = counts[row];
      count = {sort_row(args.input<T>(0) + row * a_size_, a_size_, a),
               sort_row(args.input<T>(1) + row * b_size_, b_size_, a + a_size_), 0, 0};
      each_value(a, count, [&](const T&) { ++count.result; });
    }
  }

  void write_rows(int slice, const Key* keys, const RowCounts* counts, std::int64_t* index,
                  T* values) const {
    const std::size_t rank = group_.size() + 1;
    const SliceRange range = slice_range(rows_, slices_, slice);
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      const RowCounts& count = counts[row];
      std::int64_t* at = index + count.before * static_cast<std::int64_t>(rank);
      T* value = values + count.before;
      std::int64_t place = 0;
      each_value(keys + row * (a_size_ + b_size_), count, [&](const T& found) {
        at[rank - 1] = place++;
        std::int64_t rest = row;
        for (std::size_t i = rank - 1; i-- > 0; rest /= group_[i]) at[i] = rest % group_[i];
        at += rank;
        *value++ = found;
      });
    }
  }

  /// Calls `take` for each value of the result of a row, in order.
  template <class Take>
  void each_value(const Key* a, const RowCounts& count, const Take& take) const {
    const Key *b = a + a_size_, *a_end = a + count.a, *b_end = b + count.b;
    while (a != a_end && b != b_end) {
      if (a->get() < b->get()) {
        if (choice_.only_a) take(a->get());
        ++a;
      } else if (b->get() < a->get()) {
        if (choice_.only_b) take(b->get());
        ++b;
      } else {
        if (choice_.both) take(a->get());
        ++a;
        ++b;
      }
    }
    if (choice_.only_a) std::for_each(a, a_end, [&](const Key& key) { take(key.get()); });
    if (choice_.only_b) std::for_each(b, b_end, [&](const Key& key) { take(key.get()); });
  }

  SetChoice choice_;
  std::vector<std::int64_t> group_;
  std::int64_t rows_ = 1, a_size_ = 0, b_size_ = 0;
  std::size_t counts_at_ = 0;
  int slices_ = 1;
  std::array<Shape, 3> said_;
};

std::unique_ptr<PreparedKernel> set_operation_kernel(const KernelRequest& request) {
  switch (request.inputs[0].dtype) {
    case DType::string:
      return std::make_unique<RowSetsKernel<std::string>>(request);
    case DType::int32:
      return std::make_unique<RowSetsKernel<std::int32_t>>(request);
    case DType::int64:
      return std::make_unique<RowSetsKernel<std::int64_t>>(request);
    default:
      return std::make_unique<RowSetsKernel<std::uint8_t>>(request);
  }
}

SparseTensor dense_set_operation(const Operand& a, const Operand& b, const char* operation,
                                 bool validate_indices, Site site) {
  Graph& graph = graph_of(a, b);
  const DefaultGraphGuard here(graph);
  const Tensor left = convert_operand(graph, a, "a", std::nullopt);
  if (!is_set_dtype(left.dtype())) {
    throw TypeError(fmt::format("'a' has invalid dtype `{}` not in supported dtypes: int32, int64, "
                                "uint8, string",
                                dtype_name(left.dtype())),
                    {.site = site, .op = "DenseToDenseSetOperation"});
  }
  const Tensor right = convert_operand(graph, b, "b", std::nullopt);
  if (left.dtype() != right.dtype()) {
    throw TypeError(fmt::format("Types don't match, {} vs {}.", dtype_name(left.dtype()),
                                dtype_name(right.dtype())),
                    {.site = site, .op = "DenseToDenseSetOperation"});
  }
  const Operand first(left, site), second(right, site);
  const Operation op = OpBuilder("DenseToDenseSetOperation", "", site, {&first, &second})
                           .input(first, "set1", "T")
                           .input(second, "set2", "T")
                           .attrs(SetOperationAttrs{operation, validate_indices})
                           .build();
  return {op.output(0), op.output(1), op.output(2)};
}

}  // namespace

static void register_set_operation_ops(OpRegistry& registry) {
  registry.add({.name = "DenseToDenseSetOperation",
                .inputs = {"set1: T", "set2: T"},
                .outputs = {"result_indices: int64", "result_values: T", "result_shape: int64"},
                .attrs = attributes<SetOperationAttrs>(),
                .shape = set_operation_shape,
                .gradient = NoGradient{"TensorFlow defines no gradient for sets", false}});
}

static void register_set_operation_kernels(KernelTable& table) {
  table.add({.op = "DenseToDenseSetOperation",
             .label = "sort",
             .accepts = {},
             .prepare = set_operation_kernel});
}

OpFamily set_operation_family() {
  return {.ops = register_set_operation_ops, .kernels = register_set_operation_kernels};
}

namespace sets {

SparseTensor set_intersection(const Operand& a, const Operand& b, SetOptions options, Site site) {
  return dense_set_operation(a, b, "intersection", options.validate_indices, site);
}
SparseTensor set_union(const Operand& a, const Operand& b, SetOptions options, Site site) {
  return dense_set_operation(a, b, "union", options.validate_indices, site);
}
SparseTensor set_difference(const Operand& a, const Operand& b, SetDifferenceOptions options,
                            Site site) {
  return dense_set_operation(a, b, options.aminusb ? "a-b" : "b-a", options.validate_indices, site);
}

}  // namespace sets
}  // namespace towerflow

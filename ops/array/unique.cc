#include "ops/array/unique.h"

#include <fmt/format.h>

#include <bit>
#include <functional>
#include <limits>
#include <type_traits>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/family.h"

namespace towerflow {
namespace {

struct UniqueAttrs {
  DType out_idx = DType::int32;
  static constexpr auto fields = std::tuple{attr::field("out_idx", &UniqueAttrs::out_idx)};
};

DType position_dtype(const InferenceContext& context) {
  const DType dtype = context.attrs<UniqueAttrs>().out_idx;
  if (!is_index(dtype)) {
    context.fail_type(
        fmt::format("Value passed to attr 'out_idx' of '{}' is not in list of "
                    "allowed values: int32, int64",
                    dtype_name(dtype)));
  }
  return dtype;
}

void require_vector(const InferenceContext& context, std::size_t input) {
  const Shape& shape = context.shape(input);
  if (shape.has_rank() && shape.rank() != 1) {
    context.fail(fmt::format("Shape must be rank 1 but is rank {}: a list of values, of shape {}",
                             shape.rank(), shape.text()));
  }
}

template <bool kCounts>
void unique_shape(InferenceContext& context) {
  const DType position = position_dtype(context);
  if (!kCounts) require_vector(context, 0);  // with counts, only the run requires it
  context.add_output(context.dtype(0), Shape{None});
  context.add_output(position, context.shape(0));
  if (kCounts) context.add_output(position, Shape{None});
}

void list_diff_shape(InferenceContext& context) {
  const DType position = position_dtype(context);
  if (context.dtype(0) != context.dtype(1)) {
    context.fail_type(fmt::format("the lists have the dtypes {} and {}, which differ",
                                  dtype_name(context.dtype(0)), dtype_name(context.dtype(1))));
  }
  require_vector(context, 0);
  require_vector(context, 1);
  context.add_output(context.dtype(0), Shape{None});
  context.add_output(position, Shape{None});
}

/// Calls `f.template operator()<T>()` with the type in which values of `dtype` are compared.
template <class F>
void dispatch_value(DType dtype, F&& f) {
  if (dtype == DType::string) return f.template operator()<std::string>();
  dispatch_dtype(dtype, f);
}

template <class T>
std::uint64_t hash_value(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return std::hash<std::string>()(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    return std::bit_cast<Bits>(value == T(0) ? T(0) : value);  // -0 is equal to 0
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

/// A hash table with open addressing. It refers to values by their numbers, below 2^31; memory for
/// `slots(n)` of them belongs to the caller.
template <class T>
class ValueTable {
 public:
  static std::size_t slots(std::int64_t values) {
    return std::bit_ceil(static_cast<std::uint64_t>(values) * 2 + 2);
  }
  ValueTable(std::int32_t* table, std::int64_t values)
      : table_(table), shift_(65 - std::bit_width(slots(values))) {
    std::fill_n(table_, slots(values), kFree);
    mask_ = slots(values) - 1;
  }
  /// Returns the place of the value that `is_equal(number)` recognises, or else a free place.
  template <class Equal>
  std::int32_t& find(const T& value, const Equal& is_equal) {
    constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15u;
    std::uint64_t at = (hash_value(value) * kGolden) >> shift_;
    while (table_[at] != kFree && !is_equal(table_[at])) at = (at + 1) & mask_;
    return table_[at];
  }
  static constexpr std::int32_t kFree = -1;

 private:
  std::int32_t* table_;
  int shift_;
  std::uint64_t mask_;
};

void store_position(void* out, DType dtype, std::int64_t at, std::int64_t value) {
  if (dtype == DType::int64)
    static_cast<std::int64_t*>(out)[at] = value;
  else
    static_cast<std::int32_t*>(out)[at] = static_cast<std::int32_t>(value);
}

std::int64_t list_length(const KernelRequest& request, std::size_t input) {
  const Shape& shape = request.inputs[input].shape;
  if (shape.rank() != 1) {
    throw errors::InvalidArgumentError(
        fmt::format("{} expects a 1D vector, not shape {}", request.op->name, shape.text()));
  }
  if (shape.elements() > std::numeric_limits<std::int32_t>::max() / 4) {
    throw errors::InvalidArgumentError(fmt::format("{} does not support lists of {} elements",
                                                   request.op->name, shape.elements()));
  }
  return shape.elements();
}

/// Finds distinct values of x. Memory: the table, then the first position of each distinct value.
template <class T>
std::unique_ptr<PreparedKernel> unique_kernel_of(const KernelRequest& request) {
  const std::int64_t count = list_length(request, 0);
  const DType position = request.outputs[1].dtype;
  const Shape said = request.outputs[0].shape;
  const Shape idx_said = request.outputs[1].shape;
  const Shape count_said = request.outputs.back().shape;
  const bool counts = request.outputs.size() > 2;
  const std::size_t slots = ValueTable<T>::slots(count);
  const std::size_t words = slots + static_cast<std::size_t>(count) * 2;
  return function_kernel(
      [=](const LaunchArgs& args) {
        const T* x = args.input<T>(0);
        auto* memory = reinterpret_cast<std::int32_t*>(args.workspace);
        ValueTable<T> table(memory, count);
        std::int32_t* first = memory + slots;
        std::int32_t* frequency = first + count;
        void* idx = args.output_memory(1, Shape{count}, idx_said);
        std::int32_t found = 0;
        for (std::int64_t i = 0; i < count; ++i) {
          std::int32_t& place =
              table.find(x[i], [&](std::int32_t number) { return x[first[number]] == x[i]; });
          if (place == ValueTable<T>::kFree) {
            place = found;
            first[found] = static_cast<std::int32_t>(i);
            frequency[found++] = 0;
          }
          ++frequency[place];
          store_position(idx, position, i, place);
        }
        T* y = static_cast<T*>(args.output_memory(0, Shape{found}, said));
        for (std::int32_t i = 0; i < found; ++i) y[i] = x[first[i]];
        if (!counts) return;
        void* out = args.output_memory(2, Shape{found}, count_said);
        for (std::int32_t i = 0; i < found; ++i) store_position(out, position, i, frequency[i]);
      },
      {.workspace_bytes = words * sizeof(std::int32_t)});
}

std::unique_ptr<PreparedKernel> unique_kernel(const KernelRequest& request) {
  std::unique_ptr<PreparedKernel> kernel;
  dispatch_value(request.inputs[0].dtype,
                 [&]<class T>() { kernel = unique_kernel_of<T>(request); });
  return kernel;
}

/// Memory: the table of y, then the positions that are kept.
template <class T>
std::unique_ptr<PreparedKernel> list_diff_kernel_of(const KernelRequest& request) {
  const std::int64_t count = list_length(request, 0);
  const std::int64_t others = list_length(request, 1);
  const DType position = request.outputs[1].dtype;
  const Shape said = request.outputs[0].shape;
  const Shape idx_said = request.outputs[1].shape;
  const std::size_t slots = ValueTable<T>::slots(others);
  const std::size_t words = slots + static_cast<std::size_t>(count);
  return function_kernel(
      [=](const LaunchArgs& args) {
        const T* x = args.input<T>(0);
        const T* y = args.input<T>(1);
        auto* memory = reinterpret_cast<std::int32_t*>(args.workspace);
        ValueTable<T> table(memory, others);
        std::int32_t* kept = memory + slots;
        for (std::int64_t i = 0; i < others; ++i) {
          table.find(y[i], [&](std::int32_t number) { return y[number] == y[i]; }) =
              static_cast<std::int32_t>(i);
        }
        std::int64_t left = 0;
        for (std::int64_t i = 0; i < count; ++i) {
          const bool excluded = table.find(x[i], [&](std::int32_t number) {
            return y[number] == x[i];
          }) != ValueTable<T>::kFree;
          kept[left] = static_cast<std::int32_t>(i);
          left += !excluded;
        }
        T* out = static_cast<T*>(args.output_memory(0, Shape{left}, said));
        void* idx = args.output_memory(1, Shape{left}, idx_said);
        for (std::int64_t i = 0; i < left; ++i) {
          out[i] = x[kept[i]];
          store_position(idx, position, i, kept[i]);
        }
      },
      {.workspace_bytes = words * sizeof(std::int32_t) + sizeof(std::int32_t)});
}

std::unique_ptr<PreparedKernel> list_diff_kernel(const KernelRequest& request) {
  std::unique_ptr<PreparedKernel> kernel;
  dispatch_value(request.inputs[0].dtype,
                 [&]<class T>() { kernel = list_diff_kernel_of<T>(request); });
  return kernel;
}

Operation add_unique(const char* op, const Operand& x, const UniqueOptions& options, Site site) {
  return OpBuilder(op, options.name, site, {&x})
      .input(x, "x")
      .attrs(UniqueAttrs{options.out_idx})
      .build();
}

}  // namespace

static void register_unique_ops(OpRegistry& registry) {
  const NoGradient reason{"TensorFlow defines no gradient for distinct values", false};
  registry.add({.name = "Unique",
                .inputs = {"x: T"},
                .outputs = {"y: T", "idx: out_idx"},
                .attrs = attributes<UniqueAttrs>(),
                .shape = unique_shape<false>,
                .gradient = reason});
  registry.add({.name = "UniqueWithCounts",
                .inputs = {"x: T"},
                .outputs = {"y: T", "idx: out_idx", "count: out_idx"},
                .attrs = attributes<UniqueAttrs>(),
                .shape = unique_shape<true>,
                .gradient = reason});
  registry.add({.name = "ListDiff",
                .inputs = {"x: T", "y: T"},
                .outputs = {"out: T", "idx: out_idx"},
                .attrs = attributes<UniqueAttrs>(),
                .shape = list_diff_shape,
                .gradient = reason});
}

static void register_unique_kernels(KernelTable& table) {
  table.add({.op = "Unique", .label = "table", .accepts = {}, .prepare = unique_kernel});
  table.add({.op = "UniqueWithCounts", .label = "table", .accepts = {}, .prepare = unique_kernel});
  table.add({.op = "ListDiff", .label = "table", .accepts = {}, .prepare = list_diff_kernel});
}

OpFamily unique_family() {
  return {.ops = register_unique_ops, .kernels = register_unique_kernels};
}

UniqueValues unique(const Operand& x, UniqueOptions options, Site site) {
  const Operation op = add_unique("Unique", x, options, site);
  return {op.output(0), op.output(1)};
}

CountedValues unique_with_counts(const Operand& x, UniqueOptions options, Site site) {
  const Operation op = add_unique("UniqueWithCounts", x, options, site);
  return {op.output(0), op.output(1), op.output(2)};
}

ListDifference setdiff1d(const Operand& x, const Operand& y, SetDiff1dOptions options, Site site) {
  const Operation op = OpBuilder("ListDiff", options.name, site, {&x, &y})
                           .input(x, "x", "T")
                           .input(y, "y", "T")
                           .attrs(UniqueAttrs{options.index_dtype})
                           .build();
  return {op.output(0), op.output(1)};
}

}  // namespace towerflow

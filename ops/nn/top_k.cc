#include "ops/nn/top_k.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "core/graph/short_float.h"
#include "ops/array/cast.h"
#include "ops/array/gather_nd.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_of.h"
#include "ops/array/stack.h"
#include "ops/array/strided_slice.h"
#include "ops/array/view.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/math/binary.h"
#include "ops/math/range.h"
#include "ops/math/reduce.h"
#include "ops/range_kernel.h"
#include "ops/simd/loops.h"

namespace towerflow::nn {
namespace {

struct TopKAttrs {
  bool sorted = true;
  DType index_type = DType::int32;
  static constexpr auto fields = std::tuple{attr::field("sorted", &TopKAttrs::sorted),
                                            attr::field("index_type", &TopKAttrs::index_type)};
};

std::string unordered_dtype(DType dtype) {
  if (dtype != DType::bool_ && dispatch_dtype(widened(dtype), []<class T>() {})) return "";
  return fmt::format("Value passed to parameter 'input' has DataType {}, which has no order",
                     dtype_name(dtype));
}

void top_k_shape(InferenceContext& context) {
  const DType dtype = context.dtype(0);
  const std::string problem = unordered_dtype(dtype);
  if (!problem.empty()) context.fail_type(problem);
  const DType index = context.attrs<TopKAttrs>().index_type;
  if (!is_index(index)) {
    context.fail_type(fmt::format("a place cannot be of dtype {}", dtype_name(index)));
  }
  const Shape& input = context.shape(0);
  if (input.has_rank() && input.rank() == 0) {
    context.fail("Shape must be at least rank 1 but is rank 0: the input of a top_k");
  }
  Dim wanted(None);
  if (const Array* k = context.constant(1)) {
    if (k->shape().rank() != 0) {
      context.fail(
          fmt::format("Input must be scalar but has rank {}: k of a top_k", k->shape().rank()));
    }
    wanted = Dim(integers_of(*k).at(0));
    if (integers_of(*k).at(0) < 0) {
      context.fail(fmt::format("Need k >= 0, got {}", integers_of(*k).at(0)));
    }
  }
  Shape found = Shape::unknown();
  if (input.has_rank()) {
    const Dim last = input[input.rank() - 1];
    if (wanted.known() && last.known() && wanted.size() > last.size()) {
      context.fail(fmt::format("input must have last dimension >= k = {} but is {}", wanted.size(),
                               last.size()));
    }
    std::vector<Dim> dims = input.dims();
    dims.back() = wanted;
    found = Shape(std::move(dims));
  }
  context.add_output(dtype, found);
  context.add_output(index, found);
}

/// An integer type with the order of T: unsigned, so that radix sort can take its digits.
template <class T>
using SortKey = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

/// Returns a key that is larger for larger values; equal values have equal keys, NaN the least.
template <class T>
SortKey<T> sort_key(T value) {
  using Key = SortKey<T>;
  constexpr Key kTop = static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1));
  if constexpr (std::is_floating_point_v<T>) {          // without branches, for vector instructions
    const Key bits = std::bit_cast<Key>(value + T(0));  // -0 becomes 0
    const Key negative = static_cast<Key>(Key{0} - (bits >> (8 * sizeof(Key) - 1)));
    const Key is_number = static_cast<Key>(Key{0} - static_cast<Key>(value == value));
    return static_cast<Key>((bits ^ (negative | kTop)) & is_number);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<Key>(static_cast<Key>(value) ^ kTop);
  } else {
    return value;
  }
}

/// An element of a row. The order is descending; equal elements keep their order.
template <class T>
struct Ranked {
  SortKey<T> key;
  std::uint32_t place;
  bool operator<(const Ranked& other) const {
    return key != other.key ? key > other.key : place < other.place;
  }
};

constexpr int kDigitBits = 8;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;

/// Sorts n elements by descending keys, keeping the order of equal ones; the result is in the
/// returned one of the two buffers.
template <class T>
Ranked<T>* radix_sort(Ranked<T>* items, Ranked<T>* other, std::int64_t n) {
  constexpr int kPasses = static_cast<int>(sizeof(SortKey<T>)) * 8 / kDigitBits;
  std::uint32_t counts[kPasses][kDigits] = {};
  for (std::int64_t i = 0; i < n; ++i) {
    for (int pass = 0; pass < kPasses; ++pass) {
      ++counts[pass][(items[i].key >> (pass * kDigitBits)) & (kDigits - 1)];
    }
  }
  for (int pass = 0; pass < kPasses; ++pass) {
    std::uint32_t* digit_counts = counts[pass];
    const int shift = pass * kDigitBits;
    const auto digit = [shift](const Ranked<T>& item) {
      return (item.key >> shift) & (kDigits - 1);
    };
    if (digit_counts[digit(items[0])] == static_cast<std::uint32_t>(n)) continue;
    std::uint32_t begin = 0;
    for (std::size_t i = kDigits; i-- > 0;) {
      const std::uint32_t count = digit_counts[i];
      digit_counts[i] = begin;
      begin += count;
    }
    for (std::int64_t i = 0; i < n; ++i) other[digit_counts[digit(items[i])]++] = items[i];
    std::swap(items, other);
  }
  return items;
}

/// Finds the first largest element of a row.
template <class T>
std::int64_t first_largest(const T* row, std::int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    const float largest = simd::loops().max(row, n);
    if (largest == largest) {
      constexpr std::int64_t kBlock = 64;
      std::int64_t at = 0;
      for (; at + kBlock <= n; at += kBlock) {
        int found = 0;
        for (std::int64_t i = 0; i < kBlock; ++i) found += row[at + i] == largest;
        if (found != 0) break;
      }
      while (row[at] != largest) ++at;
      return at;
    }
  }
  std::int64_t found = 0;
  SortKey<T> reached = sort_key(row[0]);
  for (std::int64_t i = 1; i < n; ++i) {
    const SortKey<T> key = sort_key(row[i]);
    if (key <= reached) continue;
    reached = key;
    found = i;
  }
  return found;
}

/// Selects the k largest of n elements in memory for 2n elements; returns where they begin.
template <class T>
Ranked<T>* select_largest(const T* row, std::int64_t n, std::int64_t k, Ranked<T>* items) {
  constexpr std::int64_t kFewItems = 256;
  const auto ranked = [row](std::int64_t i) {
    return Ranked<T>{sort_key(row[i]), static_cast<std::uint32_t>(i)};
  };
  std::int64_t kept = 0;
  if (k > n / 4) {
    for (; kept < n; ++kept) items[kept] = ranked(kept);
    if (k < n) std::nth_element(items, items + k, items + n);
    if (k < n && k > kFewItems) {  // the radix sort needs the original order of equal elements
      std::sort(items, items + k, [](const auto& a, const auto& b) { return a.place < b.place; });
    }
  } else {
    // Elements that cannot be among the largest are passed over, most of them in whole blocks.
    const std::int64_t room = std::max<std::int64_t>(2 * k, k + 64);
    for (; kept < k; ++kept) items[kept] = ranked(kept);
    SortKey<T> least = std::max_element(items, items + k)->key;
    std::int64_t i = k;
    constexpr std::int64_t kBlock = 32;
    const auto take = [&] {
      items[kept++] = ranked(i);
      if (kept < room) return;
      std::nth_element(items, items + k - 1, items + kept);
      kept = k;
      least = items[k - 1].key;
    };
    while (i < n) {
      if (i + kBlock <= n) {
        int larger = 0;
        for (std::int64_t j = 0; j < kBlock; ++j) larger += sort_key(row[i + j]) > least;
        if (larger == 0) {
          i += kBlock;
          continue;
        }
      }
      for (const std::int64_t end = std::min(i + kBlock, n); i < end; ++i) {
        if (sort_key(row[i]) > least) take();
      }
    }
    if (kept > k) std::nth_element(items, items + k - 1, items + kept);
    if (k > kFewItems) {
      std::sort(items, items + k, [](const auto& a, const auto& b) { return a.place < b.place; });
    }
  }
  if (k <= kFewItems) {
    std::sort(items, items + k);
    return items;
  }
  return radix_sort(items, items + n, k);
}

/// Each slice processes whole rows in its own part of the workspace.
template <class T>
class TopKKernel final : public CpuKernel {
 public:
  TopKKernel(const Shape& input, const Shape& output, DType index)
      : n_(input.size(input.rank() - 1)), k_(output.size(output.rank() - 1)), index_(index) {
    for (std::size_t i = 0; i + 1 < input.rank(); ++i) rows_ *= input.size(i);
    slices_ =
        k_ == 1 ? row_slices(rows_, n_) : std::min(row_slices(rows_, 4 * n_), kMaxPartialSlices);
  }
  int slices(int) const override { return slices_; }
  bool may_fail() const override { return false; }
  std::size_t workspace_bytes() const override {
    return k_ <= 1 ? 0 : static_cast<std::size_t>(slices_) * bytes_of_slice();
  }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    if (k_ == 0) return;
    const T* x = static_cast<const T*>(inputs[0]);
    T* values = static_cast<T*>(outputs[0]);
    auto* items = k_ == 1 ? nullptr
                          : reinterpret_cast<Ranked<T>*>(
                                workspace + static_cast<std::size_t>(slice) * bytes_of_slice());
    const SliceRange part = slice_range(rows_, slices_, slice);
    for (std::int64_t row = part.begin; row < part.end; ++row) {
      const T* from = x + row * n_;
      if (k_ == 1) {
        store(from, first_largest(from, n_), row, values, outputs[1]);
        continue;
      }
      const Ranked<T>* largest = select_largest(from, n_, k_, items);
      for (std::int64_t i = 0; i < k_; ++i) {
        store(from, largest[i].place, row * k_ + i, values, outputs[1]);
      }
    }
  }

 private:
  std::size_t bytes_of_slice() const {
    return (static_cast<std::size_t>(std::max(2 * n_, n_ + 64)) * sizeof(Ranked<T>) + 63) / 64 * 64;
  }
  void store(const T* row, std::int64_t place, std::int64_t at, T* values, void* indices) const {
    values[at] = row[place];
    if (index_ == DType::int64)
      static_cast<std::int64_t*>(indices)[at] = place;
    else
      static_cast<std::int32_t*>(indices)[at] = static_cast<std::int32_t>(place);
  }

  std::int64_t n_, k_, rows_ = 1;
  DType index_;
  int slices_ = 1;
};

std::unique_ptr<PreparedKernel> top_k_kernel(const KernelRequest& request) {
  check_kernel_rank(request);
  const Shape& input = request.inputs[0].shape;
  const Array& wanted = request.values.at(1);
  if (input.rank() == 0 || wanted.shape().rank() != 0) {
    throw errors::InvalidArgumentError(
        fmt::format("a top_k needs rows and one number k, but the input has shape {} and k {}",
                    input.text(), wanted.shape().text()));
  }
  const std::int64_t n = input.size(input.rank() - 1), k = integers_of(wanted)[0];
  if (k < 0) throw errors::InvalidArgumentError(fmt::format("Need k >= 0, got {}", k));
  if (k > n) {
    throw errors::InvalidArgumentError(
        fmt::format("input must have at least k columns. Had {}, needed {}", n, k));
  }
  if (n > std::numeric_limits<std::int32_t>::max()) {
    throw errors::InvalidArgumentError(fmt::format("a top_k of rows of {} elements", n));
  }
  return for_real_type(request.inputs[0].dtype, [&]<class T>() {
    return sliced_kernel(
        std::make_unique<TopKKernel<T>>(input, request.outputs[0].shape, request.outputs[1].dtype));
  });
}

/// Puts the gradient of each value at its place in the flat input.
std::vector<OptionalGradient> top_k_gradient(const Operation& op,
                                             const std::vector<OptionalGradient>& dys) {
  if (!dys[0]) return {std::nullopt, std::nullopt};
  const Site site = op.site();
  const Tensor dy = dense_gradient(dys[0], site);
  const Tensor places = cast(op.output(1), DType::int64, {}, site);
  const Tensor in_shape = towerflow::shape(op.input(0), {.out_type = DType::int64}, site);
  const Tensor place_shape = towerflow::shape(places, {.out_type = DType::int64}, site);
  const Tensor n = take_index(in_shape, -1, site);
  const Tensor k = take_index(place_shape, -1, site);
  const Tensor total = reduce_prod(in_shape, {}, site);
  // An empty row has no place, but a range needs a step, and no size of empty rows can be inferred.
  const Tensor step = maximum(n, 1, {}, site);
  const Tensor count = floordiv(total, step, {}, site);
  const Tensor rows = reshape(places, stack({count, k}, {}, site), {}, site);
  const Tensor starts = range(Array::scalar(std::int64_t{0}), total, step, {}, site);
  const Tensor columns = expand_dims(starts, -1, {}, site);
  const Tensor moved = add(rows, columns, {}, site);
  const Tensor flat = reshape(moved, {-1, 1}, {}, site);
  const Tensor values = reshape(dy, {-1}, {}, site);
  const Tensor length = reshape(total, {1}, {}, site);
  const Tensor placed = scatter_nd(flat, values, length, {}, site);
  return {reshape(placed, in_shape, {}, site), std::nullopt};
}

}  // namespace

static void register_top_k_ops(OpRegistry& registry) {
  registry.add({.name = "TopKV2",
                .inputs = {"input: T", "k: Index(Tk)"},
                .outputs = {"values: T", "indices: index_type"},
                .attrs = attributes<TopKAttrs>(),
                .shape = top_k_shape,
                .gradient = top_k_gradient,
                .static_inputs = {1}});
}

static void register_top_k_kernels(KernelTable& table) {
  table.add({.op = "TopKV2", .label = "rows", .accepts = {}, .prepare = top_k_kernel});
}

TopK top_k(const Operand& input, const ScalarOperand& k, TopKOptions options, Site site) {
  OpBuilder builder("TopKV2", options.name, site, {&input, &k});
  builder.input(input, "input");
  const std::string problem = unordered_dtype(builder.tensors()[0].dtype());
  if (!problem.empty()) throw TypeError(problem, {.site = site, .op = "TopKV2"});
  const Operation op =
      builder.index_input(k, "k").attrs(TopKAttrs{options.sorted, options.index_type}).build();
  return {op.output(0), op.output(1)};
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily top_k_family() {
  return {.ops = nn::register_top_k_ops, .kernels = nn::register_top_k_kernels};
}
}  // namespace towerflow

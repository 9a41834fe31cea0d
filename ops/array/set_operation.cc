#include "ops/array/set_operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "core/device/cpu/launch.h"
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

/// Sorts the numbers of the elements of a row by value; returns how many are distinct.
template <class T>
std::int64_t sort_row(const T* row, std::int64_t size, std::int32_t* order) {
  for (std::int64_t i = 0; i < size; ++i) order[i] = static_cast<std::int32_t>(i);
  std::sort(order, order + size, [&](std::int32_t i, std::int32_t j) { return row[i] < row[j]; });
  return std::unique(order, order + size,
                     [&](std::int32_t i, std::int32_t j) { return row[i] == row[j]; }) -
         order;
}

/// The rows of two tensors as sets. Memory: the numbers of the elements of a row of each.
template <class T>
class RowSets {
 public:
  explicit RowSets(const KernelRequest& request)
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
    if (std::max(a_size_, b_size_) > std::numeric_limits<std::int32_t>::max() / 2) {
      throw errors::InvalidArgumentError(
          fmt::format("sets of {} and {} elements are too large", a_size_, b_size_));
    }
    for (std::size_t i = 0; i < said_.size(); ++i) said_[i] = request.outputs[i].shape;
  }
  std::size_t workspace() const {
    return static_cast<std::size_t>(a_size_ + b_size_ + 1) * sizeof(std::int32_t);
  }

  void run(const LaunchArgs& args) const {
    std::int64_t total = 0, largest = 0;
    each_row(
        args, [&](std::int64_t, std::int64_t, const T&) { ++total; },
        [&](std::int64_t, std::int64_t size) { largest = std::max(largest, size); });
    const auto rank = static_cast<std::int64_t>(group_.size()) + 1;
    auto* index = static_cast<std::int64_t*>(args.output_memory(0, Shape{total, rank}, said_[0]));
    T* value = static_cast<T*>(args.output_memory(1, Shape{total}, said_[1]));
    auto* shape = static_cast<std::int64_t*>(args.output_memory(2, Shape{rank}, said_[2]));
    each_row(
        args,
        [&](std::int64_t row, std::int64_t place, const T& found) {
          index[rank - 1] = place;
          for (std::size_t i = group_.size(); i-- > 0; row /= group_[i]) index[i] = row % group_[i];
          index += rank;
          *value++ = found;
        },
        [](std::int64_t, std::int64_t) {});
    std::copy(group_.begin(), group_.end(), shape);
    shape[rank - 1] = largest;
  }

 private:
  /// Calls `take(row, place, value)` for each value of the result and `end(row, size)` after a row.
  template <class Take, class End>
  void each_row(const LaunchArgs& args, const Take& take, const End& end) const {
    auto* a_order = reinterpret_cast<std::int32_t*>(args.workspace);
    auto* b_order = a_order + a_size_;
    for (std::int64_t row = 0; row < rows_; ++row) {
      const T* a = args.input<T>(0) + row * a_size_;
      const T* b = args.input<T>(1) + row * b_size_;
      const std::int64_t a_count = sort_row(a, a_size_, a_order);
      const std::int64_t b_count = sort_row(b, b_size_, b_order);
      std::int64_t i = 0, j = 0, place = 0;
      while (i < a_count || j < b_count) {
        const bool from_a = j == b_count || (i < a_count && !(b[b_order[j]] < a[a_order[i]]));
        const bool from_b = i == a_count || (j < b_count && !(a[a_order[i]] < b[b_order[j]]));
        const T& value = from_a ? a[a_order[i]] : b[b_order[j]];
        const bool taken =
            from_a && from_b ? choice_.both : (from_a ? choice_.only_a : choice_.only_b);
        if (taken) take(row, place++, value);
        i += from_a;
        j += from_b;
      }
      end(row, place);
    }
  }

  SetChoice choice_;
  std::vector<std::int64_t> group_;
  std::int64_t rows_ = 1, a_size_ = 0, b_size_ = 0;
  std::array<Shape, 3> said_;
};

std::unique_ptr<PreparedKernel> set_operation_kernel(const KernelRequest& request) {
  const auto make = [&]<class T>() {
    const RowSets<T> sets(request);
    return function_kernel([sets](const LaunchArgs& args) { sets.run(args); },
                           {.workspace_bytes = sets.workspace()});
  };
  switch (request.inputs[0].dtype) {
    case DType::string:
      return make.template operator()<std::string>();
    case DType::int32:
      return make.template operator()<std::int32_t>();
    case DType::int64:
      return make.template operator()<std::int64_t>();
    default:
      return make.template operator()<std::uint8_t>();
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

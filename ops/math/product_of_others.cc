#include <array>
#include <string>
#include <vector>

#include "core/device/cpu/launch.h"
#include "core/graph/graph.h"
#include "ops/array/indexed_slices.h"
#include "ops/export_forms.h"
#include "ops/math/binary_functors.h"
#include "ops/math/reduce_ops.h"
#include "ops/math/reduction_dims.h"

namespace towerflow {
namespace {

using Gradients = std::vector<OptionalGradient>;

/// Each derivative of a product adds one factor; four factors suffice for the fifth derivative.
constexpr std::size_t kMaxFactors = 4;

/// Computes for each element the product of the elements before it times that of those after it.
template <class T>
void products(const ReductionDims& dims, const T* x, T* out) {
  const functors::Mul<T> times;
  const std::int64_t count = dims.count(true);
  for (std::int64_t i = 0; i < dims.count(false); ++i) {
    const std::int64_t base = dims.offset(i, false, dims.rank);
    T product(1);
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t at = base + dims.offset(k, true, dims.rank);
      out[at] = product;
      product = times(product, x[at]);
    }
    product = T(1);
    for (std::int64_t k = count; k-- > 0;) {
      const std::int64_t at = base + dims.offset(k, true, dims.rank);
      out[at] = times(out[at], product);
      product = times(product, x[at]);
    }
  }
}

/// For each subset of the factors (a bit mask): the sum, over all ways to let each factor of the
/// subset replace a different element of a range, of the product of the range.
template <class T>
using SubsetSums = std::array<T, std::size_t{1} << kMaxFactors>;

/// Appends an element `x`, whose offset is `at`, to a range.
template <class T>
void append_element(SubsetSums<T>& range, unsigned sets, T x, const T* const* factors,
                    std::int64_t at) {
  for (unsigned set = sets; set-- > 0;) {  // larger sets first: they read old sums of subsets
    T sum = static_cast<T>(range[set] * x);
    for (unsigned a = 0; (1u << a) < sets; ++a) {
      if ((set >> a & 1u) != 0) sum = static_cast<T>(sum + range[set ^ 1u << a] * factors[a][at]);
    }
    range[set] = sum;
  }
}

/// Computes the products with factors v1, v2, ..: element j is the sum over distinct i1, i2, ..
/// other than j of v1[i1] v2[i2] .. times the product of the remaining x. `before` has room for the
/// sums of the range before each element.
template <class T>
void products_with_factors(const ReductionDims& dims, const T* x, const T* const* factors,
                           unsigned sets, SubsetSums<T>* before, T* out) {
  const std::int64_t count = dims.count(true);
  for (std::int64_t i = 0; i < dims.count(false); ++i) {
    const std::int64_t base = dims.offset(i, false, dims.rank);
    SubsetSums<T> range{T(1)};
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t at = base + dims.offset(k, true, dims.rank);
      before[k] = range;
      append_element(range, sets, x[at], factors, at);
    }
    range = {T(1)};
    for (std::int64_t k = count; k-- > 0;) {
      const std::int64_t at = base + dims.offset(k, true, dims.rank);
      T sum(0);
      for (unsigned set = 0; set < sets; ++set) {
        sum = static_cast<T>(sum + before[k][set] * range[(sets - 1) ^ set]);
      }
      out[at] = sum;
      append_element(range, sets, x[at], factors, at);
    }
  }
}

std::unique_ptr<PreparedKernel> kernel(const KernelRequest& request) {
  check_kernel_rank(request);
  const Shape& shape = request.inputs[0].shape;
  bool flags[kMaxKernelRank] = {};
  for (const std::int64_t axis : integers_of(request.values.at(1))) {
    flags[checked_axis(axis, shape.rank())] = true;
  }
  const ReductionDims dims(shape, flags);
  const std::size_t factors = request.inputs.size() - 2;
  std::unique_ptr<PreparedKernel> made;
  dispatch_dtype(request.inputs[0].dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      const auto ranges = static_cast<std::size_t>(factors == 0 ? 0 : dims.count(true));
      made = function_kernel(
          [dims, factors, empty = shape.elements() == 0](const LaunchArgs& args) {
            if (empty) return;
            if (factors == 0) return products(dims, args.input<T>(0), args.output<T>(0));
            const T* given[kMaxFactors] = {};
            for (std::size_t a = 0; a < factors; ++a) given[a] = args.input<T>(2 + a);
            products_with_factors(dims, args.input<T>(0), given, 1u << factors,
                                  reinterpret_cast<SubsetSums<T>*>(args.workspace),
                                  args.output<T>(0));
          },
          {.may_fail = false, .workspace_bytes = ranges * sizeof(SubsetSums<T>)});
    }
  });
  return made;
}

void others_shape(InferenceContext& context) {
  if (context.num_inputs() > 2 + kMaxFactors) {
    context.fail("a product over axes has no more than " + std::to_string(kMaxFactors + 1) +
                 " derivatives");
  }
  context.add_output(context.dtype(0), context.shape(0));
}

/// Returns the gradients of all inputs. The op is symmetric in its factors, so each gradient is the
/// same op with dy in place of one of them, or as an additional one.
Gradients product_of_others_gradient(const Operation& op, const Gradients& dys) {
  const std::vector<Tensor> inputs = op.inputs();
  const Tensor dy = dense_gradient(dys[0], op.site());
  const auto make_product = [&](std::vector<Tensor> changed) {
    return op.graph()
        .add({.op = "ProductOfOthers",
              .name = "ProductOfOthers",
              .inputs = std::move(changed),
              .site = op.site()})
        .output(0);
  };
  Gradients dxs(inputs.size());
  std::vector<Tensor> more = inputs;
  more.push_back(dy);
  dxs[0] = make_product(std::move(more));
  for (std::size_t a = 2; a < inputs.size(); ++a) {
    std::vector<Tensor> other = inputs;
    other[a] = dy;
    dxs[a] = make_product(std::move(other));
  }
  return dxs;
}

}  // namespace

void register_product_of_others(OpRegistry& registry) {
  registry.add({.name = "ProductOfOthers",
                .inputs = {"input: T", "reduction_indices: Index(Tidx)", "factors: N * T"},
                .outputs = {"output: T"},
                .shape = others_shape,
                .gradient = product_of_others_gradient,
                .static_inputs = {1},
                .export_form = export_forms::product_of_others});
}

void register_product_of_others_kernels(KernelTable& table) {
  table.add({.op = "ProductOfOthers", .label = "loop", .accepts = {}, .prepare = kernel});
}

}  // namespace towerflow

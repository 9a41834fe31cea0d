// Kernels of op Einsum: a loop over all labels, a copy for an einsum of one operand without sums,
// and a product of matrices for two operands, whose axes are brought into order before and after.
#include "ops/math/einsum_kernels.h"

#include <algorithm>
#include <optional>

#include "core/device/cpu/launch.h"
#include "ops/kernel_dims.h"
#include "ops/math/batch_product.h"
#include "ops/math/einsum_labels.h"
#include "ops/strided_copy.h"

namespace towerflow {
namespace {

std::vector<Shape> einsum_inputs(const KernelRequest& request) {
  std::vector<Shape> shapes;
  for (const TensorDesc& input : request.inputs) shapes.push_back(input.shape);
  return shapes;
}

EinsumLabels einsum_labels(const KernelRequest& request) {
  std::vector<std::size_t> ranks;
  for (const TensorDesc& input : request.inputs) ranks.push_back(input.shape.rank());
  return EinsumLabels(request.attributes<EinsumAttrs>().equation, ranks);
}

bool has_repeats(std::vector<int> labels) {
  std::sort(labels.begin(), labels.end());
  return std::adjacent_find(labels.begin(), labels.end()) != labels.end();
}

std::vector<EinsumAxis> axes_of_request(const KernelRequest& request) {
  check_kernel_rank(request);
  std::vector<EinsumAxis> axes =
      einsum_axes(einsum_labels(request), einsum_inputs(request), request.outputs[0].shape);
  for (const EinsumAxis& axis : axes) {
    if (axis.in[2] && !axis.in[0] && !axis.in[1]) {
      throw errors::InvalidArgumentError("the result of an einsum has an axis that no input has");
    }
  }
  return axes;
}

/// Adds up the products for each element of the result, following the definition.
template <class T>
void einsum_loop(const std::vector<EinsumAxis>& axes, bool both, const T* x, const T* y, T* out) {
  // Iterates over all labels, those of the output outside.
  std::int64_t index[2 * kMaxKernelRank] = {};
  std::int64_t at[3] = {0, 0, 0};
  const std::size_t rank = axes.size();
  for (const EinsumAxis& axis : axes) {
    if (axis.size == 0) return;
  }
  for (;;) {
    out[at[2]] =
        static_cast<T>(out[at[2]] + (both ? static_cast<T>(x[at[0]] * y[at[1]]) : x[at[0]]));
    std::size_t d = rank;
    for (; d-- > 0;) {
      for (int k = 0; k < 3; ++k) at[k] += axes[d].stride[k];
      if (++index[d] < axes[d].size) break;
      for (int k = 0; k < 3; ++k) at[k] -= axes[d].size * axes[d].stride[k];
      index[d] = 0;
      if (d == 0) return;
    }
    if (rank == 0) return;
  }
}

std::unique_ptr<PreparedKernel> einsum_reference(const KernelRequest& request) {
  const std::vector<EinsumAxis> axes = axes_of_request(request);
  if (axes.size() > 2 * kMaxKernelRank) {
    throw errors::UnimplementedError("an einsum of so many axes is not supported");
  }
  const bool both = request.inputs.size() == 2;
  const std::int64_t elements = request.outputs[0].shape.elements();
  return function_kernel(
      [axes, both, elements, dtype = request.inputs[0].dtype](const LaunchArgs& args) {
        const auto run = [&]<class T>() {
          T* out = args.output<T>(0);
          std::fill_n(out, elements, T(0));
          einsum_loop(axes, both, args.input<T>(0), both ? args.input<T>(1) : nullptr, out);
        };
        if (dtype == DType::float64) return run.template operator()<double>();
        // Unsigned sums wrap around, as integer sums should.
        if (dtype == DType::int32) return run.template operator()<std::uint32_t>();
        if (dtype == DType::int64) return run.template operator()<std::uint64_t>();
        run.template operator()<float>();
      },
      {.may_fail = false});
}

bool shapes_known(const KernelRequest& request) {
  for (const TensorDesc& input : request.inputs) {
    if (!input.shape.fully_known()) return false;
  }
  return request.outputs[0].shape.fully_known();
}

/// Returns whether an einsum of one operand only moves its elements.
bool is_copy(const KernelRequest& request) {
  if (request.inputs.size() != 1 || !shapes_known(request)) return false;
  const EinsumLabels labels = einsum_labels(request);
  if (has_repeats(labels.output)) return false;
  return std::all_of(labels.inputs[0].begin(), labels.inputs[0].end(), [&](int label) {
    return std::find(labels.output.begin(), labels.output.end(), label) != labels.output.end();
  });
}

std::unique_ptr<PreparedKernel> einsum_copy(const KernelRequest& request) {
  return strided_copy_kernel(
      request, 1, CopyPlan([axes = axes_of_request(request)](std::size_t, StridedCopy& copy) {
        for (const EinsumAxis& axis : axes) {
          copy.add(axis.size, axis.stride[0], axis.stride[2]);
        }
      }));
}

/// The labels of a product of two operands by what becomes of them.
struct ProductLabels {
  std::vector<int> batch, rows, columns, inner;
};

/// Returns the parts of an einsum that is a product of matrices: every label is in two of the three
/// or in all, and none is repeated in the output.
std::optional<ProductLabels> product_labels(const EinsumLabels& labels) {
  if (labels.inputs.size() != 2 || has_repeats(labels.output)) return std::nullopt;
  const auto holds = [](const std::vector<int>& names, int label) {
    return std::find(names.begin(), names.end(), label) != names.end();
  };
  ProductLabels parts;
  for (const int label : labels.output) {
    const bool in_x = holds(labels.inputs[0], label), in_y = holds(labels.inputs[1], label);
    (in_x && in_y ? parts.batch : in_x ? parts.rows : parts.columns).push_back(label);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    for (const int label : labels.inputs[i]) {
      if (holds(labels.output, label) || holds(parts.inner, label)) continue;
      if (!holds(labels.inputs[1 - i], label)) return std::nullopt;  // summed in one operand alone
      parts.inner.push_back(label);
    }
  }
  return parts;
}

std::vector<int> chained(const std::vector<int>& a, const std::vector<int>& b,
                         const std::vector<int>& c) {
  std::vector<int> all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

/// Phase 0 brings the operands into the order batch, rows, inner and batch, inner, columns where
/// they are not, or are not its transpose; then comes the product; the last phase orders the
/// result.
class EinsumProduct final : public CpuKernel {
 public:
  EinsumProduct(const KernelRequest& request, ProductLabels parts) {
    const EinsumLabels labels = einsum_labels(request);
    axes_ = axes_of_request(request);
    swapped_ = labels.output == chained(parts.batch, parts.columns, parts.rows) &&
               !parts.columns.empty() && !parts.rows.empty();
    if (swapped_) std::swap(parts.rows, parts.columns);
    first_ = swapped_ ? 1 : 0;
    const std::vector<int>&x = labels.inputs[first_], &y = labels.inputs[1 - first_];
    const auto size = [this](const std::vector<int>& names) {
      std::int64_t product = 1;
      for (const int label : names) product *= axis_of(label).size;
      return product;
    };
    onednn::MatMulShape m{
        .rows = size(parts.rows), .inner = size(parts.inner), .columns = size(parts.columns)};
    const std::int64_t count = size(parts.batch);
    const bool whole_x = walks_densely(first_, x), whole_y = walks_densely(1 - first_, y);
    const std::vector<int> x_order = chained(parts.batch, parts.rows, parts.inner);
    const std::vector<int> y_order = chained(parts.batch, parts.inner, parts.columns);
    m.transpose_a = whole_x && x != x_order && x == chained(parts.batch, parts.inner, parts.rows);
    m.transpose_b =
        whole_y && y != y_order && y == chained(parts.batch, parts.columns, parts.inner);
    const std::vector<int> z_order = chained(parts.batch, parts.rows, parts.columns);
    if (!whole_x || (x != x_order && !m.transpose_a))
      add_move(x_move_, x_order, first_, count * m.rows * m.inner);
    if (!whole_y || (y != y_order && !m.transpose_b))
      add_move(y_move_, y_order, 1 - first_, count * m.inner * m.columns);
    if (labels.output != z_order) add_move(z_move_, z_order, 2, count * m.rows * m.columns);
    BatchProduct batch{.matrix = m, .x_of = {}, .y_of = {}};
    for (std::int64_t i = 0; i < count; ++i) batch.x_of.push_back(i);
    batch.y_of = batch.x_of;
    product_ = make_batch_product(batch);
    scratch_ = layout_.add(product_->workspace_bytes());
  }

  std::size_t workspace_bytes() const override { return layout_.bytes(); }
  int phases() const override { return 2 + product_->phases(); }
  int slices(int phase) const override {
    if (phase == 0) return x_move_.slices + y_move_.slices + 1;
    return phase <= product_->phases() ? product_->slices(phase - 1) : z_move_.slices + 1;
  }
  bool may_fail() const override { return false; }
  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    const auto moved = [&](const Move& move) { return workspace + move.offset; };
    if (phase == 0) {
      if (slice < x_move_.slices)
        return x_move_.copy.run(DType::float32, inputs[first_], moved(x_move_), slice,
                                x_move_.slices);
      slice -= x_move_.slices;
      if (slice < y_move_.slices)
        y_move_.copy.run(DType::float32, inputs[1 - first_], moved(y_move_), slice, y_move_.slices);
      return;
    }
    if (phase <= product_->phases()) {
      const void* const operands[] = {x_move_.slices > 0 ? moved(x_move_) : inputs[first_],
                                      y_move_.slices > 0 ? moved(y_move_) : inputs[1 - first_]};
      void* const results[] = {z_move_.slices > 0 ? moved(z_move_) : outputs[0]};
      return product_->run(phase - 1, slice, operands, results, workspace + scratch_);
    }
    if (slice < z_move_.slices)
      z_move_.copy.run(DType::float32, moved(z_move_), outputs[0], slice, z_move_.slices);
  }

 private:
  /// A copy between an operand and its ordered form in the workspace; none without slices.
  struct Move {
    StridedCopy copy;
    int slices = 0;
    std::size_t offset = 0;
  };

  const EinsumAxis& axis_of(int label) const {
    return *std::find_if(axes_.begin(), axes_.end(),
                         [label](const EinsumAxis& axis) { return axis.label == label; });
  }

  /// Returns whether an operand has each label once, in its whole size.
  bool walks_densely(std::size_t operand, const std::vector<int>& labels) const {
    std::int64_t stride = 1;
    for (std::size_t i = labels.size(); i-- > 0;) {
      const EinsumAxis& axis = axis_of(labels[i]);
      if (axis.size != 1 && axis.stride[operand] != stride) return false;
      stride *= axis.size;
    }
    return true;
  }

  void add_move(Move& move, const std::vector<int>& order, std::size_t operand,
                std::int64_t elements) {
    std::int64_t stride = elements;
    for (const int label : order) {
      const EinsumAxis& axis = axis_of(label);
      stride = axis.size == 0 ? 0 : stride / axis.size;
      const std::int64_t outside = axis.stride[operand];
      move.copy.add(axis.size, operand == 2 ? stride : outside, operand == 2 ? outside : stride);
    }
    move.slices = loop_slices(elements);
    move.offset = layout_.add(static_cast<std::size_t>(elements) * sizeof(float));
  }

  std::vector<EinsumAxis> axes_;
  bool swapped_ = false;
  std::size_t first_ = 0;
  Move x_move_, y_move_, z_move_;
  std::unique_ptr<CpuKernel> product_;
  WorkspaceLayout layout_;
  std::size_t scratch_ = 0;
};

}  // namespace

void register_einsum_kernels(KernelTable& table) {
  table.add({.op = "Einsum", .label = "copy", .accepts = is_copy, .prepare = einsum_copy});
  table.add({.op = "Einsum",
             .label = "oneDNN",
             .accepts =
                 [](const KernelRequest& request) {
                   return request.inputs[0].dtype == DType::float32 && request.inputs.size() == 2 &&
                          shapes_known(request) &&
                          product_labels(einsum_labels(request)).has_value();
                 },
             .prepare =
                 [](const KernelRequest& request) {
                   return sliced_kernel(std::make_unique<EinsumProduct>(
                       request, *product_labels(einsum_labels(request))));
                 }});
  table.add({.op = "Einsum", .label = "reference", .accepts = {}, .prepare = einsum_reference});
}

}  // namespace towerflow

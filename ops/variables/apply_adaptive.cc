#include "ops/variables/apply_adaptive.h"

#include <array>
#include <map>
#include <utility>
#include <vector>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "ops/variables/adaptive_rules.h"
#include "ops/variables/families.h"
#include "ops/variables/slices.h"
#include "ops/variables/update_op.h"

namespace towerflow {
namespace {

/// Inputs: the variable, its slots, the scalars, the gradient, and for rows the indices.
template <class Rule>
constexpr std::size_t kGradient = 1 + Rule::kSlots + Rule::kScalars;

template <class T>
T* written(const void* const* inputs, std::size_t index) {
  return static_cast<T*>(const_cast<void*>(inputs[index]));
}

template <class T, class Rule>
Rule rule_of(const void* const* inputs) {
  std::array<T, Rule::kScalars> scalars;
  for (std::size_t i = 0; i < Rule::kScalars; ++i) {
    scalars[i] = *static_cast<const T*>(inputs[1 + Rule::kSlots + i]);
  }
  return Rule(scalars.data());
}

/// Elements begin .. end - 1 of variable and slots; gradient[0] belongs to `begin`.
template <class T, class Rule, std::size_t... kSlot>
void update(const Rule& rule, const void* const* inputs, std::int64_t begin, std::int64_t end,
            const T* gradient, std::index_sequence<kSlot...>) {
  T* variable = written<T>(inputs, 0);
  const std::array<T*, Rule::kSlots> slots{written<T>(inputs, 1 + kSlot)...};
  for (std::int64_t i = begin; i < end; ++i) {
    rule(variable[i], slots[kSlot][i]..., gradient[i - begin]);
  }
}

template <class T, class Rule>
class AdaptiveKernel final : public CpuKernel {
 public:
  explicit AdaptiveKernel(std::int64_t count) : count_(count) {}
  int slices(int) const override { return update_slices(count_); }
  void run(int, int slice, const void* const* inputs, void* const*, std::byte*) const override {
    const auto range = slice_range(count_, update_slices(count_), slice, 16);
    const T* gradient = static_cast<const T*>(inputs[kGradient<Rule>]) + range.begin;
    update<T>(rule_of<T, Rule>(inputs), inputs, range.begin, range.end, gradient,
              std::make_index_sequence<Rule::kSlots>());
  }

 private:
  std::int64_t count_;
};

template <template <class> class Rule>
std::unique_ptr<PreparedKernel> dense_kernel(const KernelRequest& request) {
  const std::int64_t count = request.inputs[0].shape.elements();
  if (request.inputs[0].dtype == DType::float32) {
    return sliced_kernel(std::make_unique<AdaptiveKernel<float, Rule<float>>>(count));
  }
  return sliced_kernel(std::make_unique<AdaptiveKernel<double, Rule<double>>>(count));
}

/// Rows that repeat are summed first, as TensorFlow's optimizers do before they update. With
/// `every_row` the others are updated too, by a gradient of zero.
template <class T, class Rule, bool kEveryRow>
std::unique_ptr<PreparedKernel> rows_kernel(const KernelRequest& request) {
  const SliceRows rows = slice_rows(request.inputs[0].shape, request.inputs[kGradient<Rule> + 1]);
  return function_kernel([rows](const LaunchArgs& args) {
    const Rule rule = rule_of<T, Rule>(args.inputs);
    const T* gradient = args.input<T>(kGradient<Rule>);
    const auto width = static_cast<std::size_t>(rows.width);
    std::map<std::int64_t, std::vector<T>> sums;
    rows.for_each(args.inputs[kGradient<Rule> + 1], [&](std::int64_t slice, std::int64_t row) {
      std::vector<T>& sum = sums[row];
      sum.resize(width, T(0));
      for (std::size_t i = 0; i < width; ++i) {
        sum[i] += gradient[static_cast<std::size_t>(slice) * width + i];
      }
    });
    const auto update_row = [&](std::int64_t row, const std::vector<T>& sum) {
      update<T>(rule, args.inputs, row * rows.width, (row + 1) * rows.width, sum.data(),
                std::make_index_sequence<Rule::kSlots>());
    };
    if constexpr (kEveryRow) {
      const std::vector<T> nothing(width, T(0));
      for (std::int64_t row = 0; row < rows.rows; ++row) {
        const auto found = sums.find(row);
        update_row(row, found == sums.end() ? nothing : found->second);
      }
    } else {
      for (const auto& [row, sum] : sums) update_row(row, sum);
    }
  });
}

template <template <class> class Rule, bool kEveryRow = false>
std::unique_ptr<PreparedKernel> sparse_kernel(const KernelRequest& request) {
  return request.inputs[0].dtype == DType::float32
             ? rows_kernel<float, Rule<float>, kEveryRow>(request)
             : rows_kernel<double, Rule<double>, kEveryRow>(request);
}

ShapeRule shape_rule(std::size_t slots, std::size_t scalars, bool sparse) {
  return [=](InferenceContext& context) {
    for (std::size_t i = 0; i < slots; ++i) {
      need_shape(context, 1 + i, context.shape(0), "a slot");
    }
    for (std::size_t i = 0; i < scalars; ++i) {
      need_shape(context, 1 + slots + i, Shape{}, "a hyper-parameter");
    }
    if (!sparse) need_shape(context, 1 + slots + scalars, context.shape(0), "the gradient");
    context.add_output(context.dtype(0), context.shape(0), true);
  };
}

void add_inputs(OpBuilder& builder, const Operand& ref, std::span<const Variable> slots,
                std::span<const Tensor> scalars, const Tensor& gradient) {
  builder.input(ref, "var", "T");
  for (const Variable& slot : slots) builder.input(slot.ref(), "slot", "T");
  for (const Tensor& scalar : scalars) builder.input(scalar, "scalar", "T");
  builder.input(gradient, "grad", "T");
}

}  // namespace

void register_adaptive_ops(OpRegistry& registry) {
  const NoGradient reason{"an optimizer's update is not a function of the loss", false};
  const auto add = [&](const char* name, std::size_t slots, std::size_t scalars, bool sparse) {
    std::vector<int> writes;
    for (std::size_t i = 0; i <= slots; ++i) writes.push_back(static_cast<int>(i));
    registry.add({.name = name,
                  .shape = shape_rule(slots, scalars, sparse),
                  .gradient = reason,
                  .effect = Effect::writes_variable,
                  .written = std::move(writes)});
  };
  add("ApplyAdam", 2, 6, false);
  add("ApplyAdagrad", 1, 1, false);
  add("ApplyRMSProp", 2, 4, false);
  add("ApplyCenteredRMSProp", 3, 4, false);
  add("SparseApplyAdam", 2, 6, true);
  add("SparseApplyAdagrad", 1, 1, true);
  add("SparseApplyRMSProp", 2, 4, true);
  add("SparseApplyCenteredRMSProp", 3, 4, true);
}

void register_adaptive_kernels(KernelTable& table) {
  const auto add = [&](const char* op, const char* label, auto prepare) {
    table.add({.op = op, .label = label, .accepts = is_float_variable, .prepare = prepare});
  };
  add("ApplyAdam", "slices", dense_kernel<AdamRule>);
  add("ApplyAdagrad", "slices", dense_kernel<AdagradRule>);
  add("ApplyRMSProp", "slices", dense_kernel<RmsPropRule>);
  add("ApplyCenteredRMSProp", "slices", dense_kernel<CenteredRmsPropRule>);
  add("SparseApplyAdam", "every row", sparse_kernel<AdamRule, true>);
  add("SparseApplyAdagrad", "rows", sparse_kernel<AdagradRule>);
  add("SparseApplyRMSProp", "rows", sparse_kernel<RmsPropRule>);
  add("SparseApplyCenteredRMSProp", "rows", sparse_kernel<CenteredRmsPropRule>);
}

Operation apply_adaptive(const char* op, const Variable& variable, std::span<const Variable> slots,
                         std::span<const Tensor> scalars, const Tensor& gradient, ApplyAttrs attrs,
                         Site site) {
  const Operand ref(variable.ref(), site);
  OpBuilder builder(op, "", site, {&ref});
  add_inputs(builder, ref, slots, scalars, gradient);
  return builder.attrs(attrs).build();
}

Operation sparse_apply_adaptive(const char* op, const Variable& variable,
                                std::span<const Variable> slots, std::span<const Tensor> scalars,
                                const Tensor& gradient, const Tensor& indices, ApplyAttrs attrs,
                                Site site) {
  const Operand ref(variable.ref(), site);
  OpBuilder builder(op, "", site, {&ref});
  add_inputs(builder, ref, slots, scalars, gradient);
  return builder.index_input(indices, "indices").attrs(attrs).build();
}

}  // namespace towerflow

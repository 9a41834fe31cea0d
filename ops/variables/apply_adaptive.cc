#include "ops/variables/apply_adaptive.h"

#include <utility>
#include <vector>

#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "ops/export_forms.h"
#include "ops/family.h"
#include "ops/variables/update_op.h"
#include "ops/variables/update_rows_kernel.h"

namespace towerflow {
namespace {

template <template <class> class Rule>
std::unique_ptr<PreparedKernel> dense_kernel(const KernelRequest& request) {
  return update_kernel<Rule>(request, UpdateInputs::apply, {});
}

template <template <class> class Rule, bool kEveryRow = false>
std::unique_ptr<PreparedKernel> sparse_kernel(const KernelRequest& request) {
  return update_rows_kernel<Rule, kEveryRow>(request, UpdateInputs::apply_rows, {});
}

ShapeRule update_shape(std::size_t slots, std::size_t scalars, bool sparse) {
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

static void register_adaptive_ops(OpRegistry& registry) {
  const NoGradient reason{"an optimizer's update has no gradient", false};
  using Names = std::vector<std::string>;
  using Form = void (*)(FormWriter&);  // only ops on slices have one
  const auto add = [&](const char* name, const Names& slots, const Names& scalars, Form form,
                       AttrsDef attrs) {
    const bool sparse = form != nullptr;
    Names inputs{"var: Ref(T)"};
    std::vector<int> writes{0};
    for (const std::string& slot : slots) {
      writes.push_back(static_cast<int>(inputs.size()));
      inputs.push_back(slot + ": Ref(T)");
    }
    for (const std::string& scalar : scalars) inputs.push_back(scalar + ": T");
    inputs.emplace_back("grad: T");
    if (sparse) inputs.emplace_back("indices: Index(Tindices)");
    registry.add({.name = name,
                  .inputs = ArgTexts(std::move(inputs)),
                  .outputs = {"out: Ref(T)"},
                  .attrs = std::move(attrs),
                  .shape = update_shape(slots.size(), scalars.size(), sparse),
                  .gradient = reason,
                  .effect = Effect::writes_variable,
                  .written = std::move(writes),
                  .export_form = form});
  };
  const auto plain_attributes = [] { return attributes<ApplyAttrs>().without("use_nesterov"); };
  const auto adagrad = [&] { return plain_attributes().fixed("update_slots", true); };
  const Names moments{"m", "v"}, sum{"accum"}, squares{"ms", "mom"}, centered{"mg", "ms", "mom"};
  const Names adam{"beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon"};
  const Names rms{"lr", "rho", "momentum", "epsilon"};
  const Form rows = export_forms::sparse_apply;
  add("ApplyAdam", moments, adam, nullptr, attributes<ApplyAttrs>());
  add("ApplyAdagrad", sum, {"lr"}, nullptr, adagrad());
  add("ApplyRMSProp", squares, rms, nullptr, plain_attributes());
  add("ApplyCenteredRMSProp", centered, rms, nullptr, plain_attributes());
  add("SparseApplyAdam", moments, adam, export_forms::sparse_apply_adam, attributes<ApplyAttrs>());
  add("SparseApplyAdagrad", sum, {"lr"}, rows, adagrad());
  add("SparseApplyRMSProp", squares, rms, rows, plain_attributes());
  add("SparseApplyCenteredRMSProp", centered, rms, rows, plain_attributes());
}

static void register_adaptive_kernels(KernelTable& table) {
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

OpFamily apply_adaptive_family() {
  return {.ops = register_adaptive_ops, .kernels = register_adaptive_kernels};
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

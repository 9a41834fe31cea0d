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

/// Names a rule in an argument.
template <template <class> class Rule>
struct RuleTag {};

template <template <class> class Rule>
std::unique_ptr<PreparedKernel> dense_kernel(const KernelRequest& request) {
  return update_kernel<Rule>(request, UpdateInputs::apply, {});
}

template <template <class> class Rule, bool kEveryRow = false>
std::unique_ptr<PreparedKernel> sparse_kernel(const KernelRequest& request) {
  return update_rows_kernel<Rule, kEveryRow>(request, UpdateInputs::apply_rows, {});
}

/// The inputs of an update op by name: slots, and scalars before and after the gradient.
struct UpdateNames {
  std::vector<std::string> slots, before, after{};
};

ShapeRule update_shape(std::size_t slots, std::size_t before, std::size_t after, bool sparse) {
  return [=](InferenceContext& context) {
    for (std::size_t i = 0; i < slots; ++i) {
      need_shape(context, 1 + i, context.shape(0), "a slot");
    }
    const std::size_t gradient = 1 + slots + before;
    const std::size_t rest = gradient + (sparse ? 2 : 1);
    for (std::size_t i = 1 + slots; i < rest + after; ++i) {
      if (i < gradient || i >= rest) need_shape(context, i, Shape{}, "a hyper-parameter");
    }
    if (!sparse) need_shape(context, gradient, context.shape(0), "the gradient");
    context.add_output(context.dtype(0), context.shape(0), true);
  };
}

/// Adds an update op, for rows if there are `indices`.
Operation add_update(const char* op, const Variable& variable, std::span<const Variable> slots,
                     const UpdateScalars& scalars, const Tensor& gradient, const Tensor* indices,
                     ApplyAttrs attrs, Site site) {
  const Operand ref(variable.ref(), site);
  OpBuilder builder(op, "", site, {&ref});
  builder.input(ref, "var", "T");
  for (const Variable& slot : slots) builder.input(slot.ref(), "slot", "T");
  for (const Tensor& scalar : scalars.before) builder.input(scalar, "scalar", "T");
  builder.input(gradient, "grad", "T");
  if (indices != nullptr) builder.index_input(*indices, "indices");
  for (const Tensor& scalar : scalars.after) {
    const bool counts = scalar.dtype() == DType::int64;
    builder.input(scalar, counts ? "global_step" : "scalar", counts ? nullptr : "T");
  }
  return builder.attrs(attrs).build();
}

}  // namespace

static void register_adaptive_ops(OpRegistry& registry) {
  const NoGradient reason{"an optimizer's update has no gradient", false};
  using Names = std::vector<std::string>;
  using Form = void (*)(FormWriter&);  // only ops on slices have one
  const auto add = [&](const std::string& name, const UpdateNames& names, const char* gradient,
                       Form form, AttrsDef attrs) {
    const bool sparse = form != nullptr;
    Names inputs{"var: Ref(T)"};
    std::vector<int> writes{0};
    for (const std::string& slot : names.slots) {
      writes.push_back(static_cast<int>(inputs.size()));
      inputs.push_back(slot + ": Ref(T)");
    }
    for (const std::string& scalar : names.before) inputs.push_back(scalar + ": T");
    inputs.push_back(std::string(gradient) + ": T");
    if (sparse) inputs.emplace_back("indices: Index(Tindices)");
    for (const std::string& scalar : names.after) {
      inputs.push_back(scalar + (scalar == "global_step" ? ": int64" : ": T"));
    }
    registry.add(
        {.name = name,
         .inputs = ArgTexts(std::move(inputs)),
         .outputs = {"out: Ref(T)"},
         .attrs = std::move(attrs),
         .shape = update_shape(names.slots.size(), names.before.size(), names.after.size(), sparse),
         .gradient = reason,
         .effect = Effect::writes_variable,
         .written = std::move(writes),
         .export_form = form});
  };
  const auto plain_attributes = [] { return attributes<ApplyAttrs>().without("use_nesterov"); };
  const auto add_both = [&](const std::string& name, const UpdateNames& names,
                            const auto& attributes_of, const char* dense_gradient = "grad") {
    add("Apply" + name, names, dense_gradient, nullptr, attributes_of());
    add("SparseApply" + name, names, "grad", export_forms::sparse_apply, attributes_of());
  };
  const auto adagrad = [&] { return plain_attributes().fixed("update_slots", true); };
  const auto ftrl = [&] { return plain_attributes().fixed("multiply_linear_by_lr", false); };
  const UpdateNames adam{{"m", "v"},
                         {"beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon"}};
  const Names rms{"lr", "rho", "momentum", "epsilon"};
  add("ApplyAdam", adam, "grad", nullptr, attributes<ApplyAttrs>());
  add("SparseApplyAdam", adam, "grad", export_forms::sparse_apply_adam, attributes<ApplyAttrs>());
  add_both("Adagrad", {{"accum"}, {"lr"}}, adagrad);
  add_both("RMSProp", {{"ms", "mom"}, rms}, plain_attributes);
  add_both("CenteredRMSProp", {{"mg", "ms", "mom"}, rms}, plain_attributes);
  add_both("Adadelta", {{"accum", "accum_update"}, {"lr", "rho", "epsilon"}}, plain_attributes);
  add_both("AdagradDA",
           {{"gradient_accumulator", "gradient_squared_accumulator"},
            {},
            {"lr", "l1", "l2", "global_step"}},
           plain_attributes);
  add_both("Ftrl", {{"accum", "linear"}, {}, {"lr", "l1", "l2", "lr_power"}}, ftrl);
  add_both("FtrlV2", {{"accum", "linear"}, {}, {"lr", "l1", "l2", "l2_shrinkage", "lr_power"}},
           ftrl);
  add_both("ProximalGradientDescent", {{}, {"alpha", "l1", "l2"}}, plain_attributes, "delta");
  add_both("ProximalAdagrad", {{"accum"}, {"lr", "l1", "l2"}}, plain_attributes);
}

static void register_adaptive_kernels(KernelTable& table) {
  const auto add = [&](const std::string& op, const char* label, auto prepare) {
    table.add({.op = op, .label = label, .accepts = is_float_variable, .prepare = prepare});
  };
  const auto add_both = [&]<template <class> class Rule>(RuleTag<Rule>, const std::string& name) {
    add("Apply" + name, "slices", dense_kernel<Rule>);
    add("SparseApply" + name, "rows", sparse_kernel<Rule>);
  };
  add("ApplyAdam", "slices", dense_kernel<AdamRule>);
  add("SparseApplyAdam", "every row", sparse_kernel<AdamRule, true>);
  add_both(RuleTag<AdagradRule>(), "Adagrad");
  add_both(RuleTag<RmsPropRule>(), "RMSProp");
  add_both(RuleTag<CenteredRmsPropRule>(), "CenteredRMSProp");
  add_both(RuleTag<AdadeltaRule>(), "Adadelta");
  add_both(RuleTag<AdagradDualAveragingRule>(), "AdagradDA");
  add_both(RuleTag<FtrlRule>(), "Ftrl");
  add_both(RuleTag<FtrlShrinkageRule>(), "FtrlV2");
  add_both(RuleTag<ProximalGradientDescentRule>(), "ProximalGradientDescent");
  add_both(RuleTag<ProximalAdagradRule>(), "ProximalAdagrad");
}

OpFamily apply_adaptive_family() {
  return {.ops = register_adaptive_ops, .kernels = register_adaptive_kernels};
}

Operation apply_adaptive(const char* op, const Variable& variable, std::span<const Variable> slots,
                         const UpdateScalars& scalars, const Tensor& gradient, ApplyAttrs attrs,
                         Site site) {
  return add_update(op, variable, slots, scalars, gradient, nullptr, attrs, site);
}

Operation sparse_apply_adaptive(const char* op, const Variable& variable,
                                std::span<const Variable> slots, const UpdateScalars& scalars,
                                const Tensor& gradient, const Tensor& indices, ApplyAttrs attrs,
                                Site site) {
  return add_update(op, variable, slots, scalars, gradient, &indices, attrs, site);
}

}  // namespace towerflow

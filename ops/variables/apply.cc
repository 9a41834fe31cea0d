#include "ops/variables/apply.h"

#include <vector>

#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "ops/export_forms.h"
#include "ops/family.h"
#include "ops/variables/update_op.h"
#include "ops/variables/update_rows_kernel.h"

namespace towerflow {
namespace {

void descent_shape(InferenceContext& context) {
  need_shape(context, 1, Shape{}, "the learning rate");
  need_shape(context, 2, context.shape(0), "the gradient");
  context.add_output(context.dtype(0), context.shape(0), true);
}

void momentum_shape(InferenceContext& context) {
  need_shape(context, 1, context.shape(0), "the slot");
  need_shape(context, 2, Shape{}, "the learning rate");
  need_shape(context, 3, context.shape(0), "the gradient");
  need_shape(context, 4, Shape{}, "the momentum");
  context.add_output(context.dtype(0), context.shape(0), true);
}

void sparse_momentum_shape(InferenceContext& context) {
  need_shape(context, 1, context.shape(0), "the slot");
  need_shape(context, 2, Shape{}, "the learning rate");
  need_shape(context, 5, Shape{}, "the momentum");
  context.add_output(context.dtype(0), context.shape(0), true);
}

}  // namespace

static void register_apply_ops(OpRegistry& registry) {
  const NoGradient reason{"an optimizer's update has no gradient", false};
  const auto add = [&](const char* name, ArgTexts inputs, AttrsDef attrs, ShapeRule rule,
                       std::vector<int> written, void (*form)(FormWriter&) = nullptr) {
    registry.add({.name = name,
                  .inputs = std::move(inputs),
                  .outputs = {"out: Ref(T)"},
                  .attrs = std::move(attrs),
                  .shape = std::move(rule),
                  .gradient = reason,
                  .effect = Effect::writes_variable,
                  .written = std::move(written),
                  .export_form = form});
  };
  add("ApplyGradientDescent", {"var: Ref(T)", "alpha: T", "delta: T"},
      attributes<ApplyAttrs>().without("use_nesterov"), descent_shape, {0});
  add("ApplyMomentum", {"var: Ref(T)", "accum: Ref(T)", "lr: T", "grad: T", "momentum: T"},
      attributes<ApplyAttrs>(), momentum_shape, {0, 1});
  add("SparseApplyMomentum",
      {"var: Ref(T)", "accum: Ref(T)", "lr: T", "grad: T", "indices: Index(Tindices)",
       "momentum: T"},
      attributes<ApplyAttrs>(), sparse_momentum_shape, {0, 1}, export_forms::sparse_apply);
}

static void register_apply_kernels(KernelTable& table) {
  const auto add = [&](const char* op, const char* label, auto prepare) {
    table.add({.op = op, .label = label, .accepts = is_float_variable, .prepare = prepare});
  };
  const auto nesterov = [](const KernelRequest& request) {
    return request.attributes<ApplyAttrs>().use_nesterov;
  };
  add("ApplyGradientDescent", "slices", [](const KernelRequest& request) {
    return update_kernel<GradientDescentRule>(request, UpdateInputs::apply, {});
  });
  add("ApplyMomentum", "slices", [=](const KernelRequest& request) {
    return nesterov(request) ? update_kernel<NesterovRule>(request, UpdateInputs::apply, {})
                             : update_kernel<MomentumRule>(request, UpdateInputs::apply, {});
  });
  add("SparseApplyMomentum", "rows", [=](const KernelRequest& request) {
    return nesterov(request)
               ? update_rows_kernel<NesterovRule>(request, UpdateInputs::apply_rows, {})
               : update_rows_kernel<MomentumRule>(request, UpdateInputs::apply_rows, {});
  });
}

OpFamily apply_family() { return {.ops = register_apply_ops, .kernels = register_apply_kernels}; }

Operation apply_gradient_descent(const Variable& variable, const Operand& alpha,
                                 const Operand& delta, const std::string& name, ApplyAttrs attrs,
                                 Site site) {
  const Operand ref(variable.ref(), site);
  return OpBuilder("ApplyGradientDescent", name, site, {&ref})
      .input(ref, "var", "T")
      .input(alpha, "alpha", "T")
      .input(delta, "delta", "T")
      .attrs(attrs)
      .build();
}

Operation apply_momentum(const Variable& variable, const Variable& accum, const Operand& rate,
                         const Operand& gradient, const Operand& momentum, const std::string& name,
                         ApplyAttrs attrs, Site site) {
  const Operand ref(variable.ref(), site);
  return OpBuilder("ApplyMomentum", name, site, {&ref})
      .input(ref, "var", "T")
      .input(accum.ref(), "accum", "T")
      .input(rate, "lr", "T")
      .input(gradient, "grad", "T")
      .input(momentum, "momentum", "T")
      .attrs(attrs)
      .build();
}

Operation sparse_apply_momentum(const Variable& variable, const Variable& accum,
                                const Operand& rate, const Operand& gradient,
                                const Operand& indices, const Operand& momentum,
                                const std::string& name, ApplyAttrs attrs, Site site) {
  const Operand ref(variable.ref(), site);
  return OpBuilder("SparseApplyMomentum", name, site, {&ref})
      .input(ref, "var", "T")
      .input(accum.ref(), "accum", "T")
      .input(rate, "lr", "T")
      .input(gradient, "grad", "T")
      .index_input(indices, "indices")
      .input(momentum, "momentum", "T")
      .attrs(attrs)
      .build();
}

}  // namespace towerflow

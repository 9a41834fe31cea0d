#include "cuda/ops/update.h"

#include <utility>

#include "ops/update_rules.h"

namespace towerflow::cuda {
namespace {

template <template <class> class Rule>
constexpr UpdateRule update_rule(const char* op, const char* kernel) {
  using Any = Rule<float>;
  return {op, kernel, Any::kSlots, Any::kScalars, Any::kScalarsBeforeGradient};
}

constexpr UpdateRule momentum_rule() {
  UpdateRule rule = update_rule<MomentumRule>("Momentum", "Momentum");
  rule.nesterov = "Nesterov";
  return rule;
}

constexpr UpdateRule adam_rule() {
  UpdateRule rule = update_rule<AdamRule>("Adam", "Adam");
  rule.every_row = true;
  return rule;
}

constexpr UpdateRule kRules[] = {
    update_rule<GradientDescentRule>("GradientDescent", "GradientDescent"),
    momentum_rule(),
    adam_rule(),
    update_rule<AdagradRule>("Adagrad", "Adagrad"),
    update_rule<RmsPropRule>("RMSProp", "RmsProp"),
    update_rule<CenteredRmsPropRule>("CenteredRMSProp", "CenteredRmsProp"),
    update_rule<AdadeltaRule>("Adadelta", "Adadelta"),
    update_rule<AdagradDualAveragingRule>("AdagradDA", "AdagradDualAveraging"),
    update_rule<FtrlRule>("Ftrl", "Ftrl"),
    update_rule<FtrlShrinkageRule>("FtrlV2", "FtrlShrinkage"),
    update_rule<ProximalGradientDescentRule>("ProximalGradientDescent", "ProximalGradientDescent"),
    update_rule<ProximalAdagradRule>("ProximalAdagrad", "ProximalAdagrad"),
};

const char* kernel_of(const UpdateRule& rule, const GradientForm& form) {
  return form.use_nesterov && rule.nesterov != nullptr ? rule.nesterov : rule.kernel;
}

void* as_written(const void* input) { return const_cast<void*>(input); }

}  // namespace

std::span<const UpdateRule> update_rules() { return kRules; }

UpdateLayout::UpdateLayout(const UpdateRule& rule, Kind kind) : slots(rule.slots) {
  const std::size_t before = kind == Kind::fused ? rule.scalars : rule.before_gradient;
  const std::size_t skip = kind == Kind::apply_rows ? 2 : 1;
  gradient = 1 + rule.slots + before;
  for (std::size_t i = 0; i < rule.scalars; ++i) {
    scalars.push_back(1 + rule.slots + i + (i < before ? 0 : skip));
  }
}

TowerAverage::TowerAverage(Device& device, const GradientForm& form, DType dtype,
                           std::int64_t elements)
    : form_(form),
      elements_(elements),
      units_((elements * static_cast<std::int64_t>(dtype_size(dtype)) + 15) / 16),
      is_copy_(form.towers == 1 && !form.from_zero && !form.weighted && !form.divided &&
               form.divisor == 1),
      kernel_(device.kernel(kernel_name("AddN", dtype))) {}

void TowerAverage::run(CudaQueue& queue, const void* const* inputs, void* result) const {
  if (elements_ == 0) return;
  device::SumList list;
  list.count = form_.towers;
  list.from_zero = form_.from_zero ? 1 : 0;
  list.weighted = form_.weighted ? 1 : 0;
  list.divisor = static_cast<double>(form_.divisor);
  if (form_.divided) list.divided_by = inputs[form_.inputs() - 1];
  const auto towers = static_cast<std::size_t>(form_.towers);
  for (std::size_t i = 0; i < towers; ++i) {
    list.summands[i] = inputs[i];
    if (form_.weighted) list.weights[i] = inputs[towers + i];
  }
  launch(queue, kernel_, blocks_for(queue.device(), units_), list, result, elements_);
}

DenseUpdate::DenseUpdate(Device& device, const char* kernel, DType dtype, std::int64_t elements,
                         UpdateLayout layout)
    : kernel_(device.kernel(kernel_name(kernel, dtype))),
      element_size_(dtype_size(dtype)),
      elements_(elements),
      layout_(std::move(layout)) {}

void DenseUpdate::run(CudaQueue& queue, const void* const* inputs, const void* gradient,
                      const device::DataError* unless) const {
  if (elements_ == 0) return;
  VariableUpdate update{.kernel = kernel_, .element_size = element_size_, .unless = unless};
  device::UpdateList::Variable& variable = update.variable;
  variable.variable = as_written(inputs[0]);
  for (std::size_t s = 0; s < layout_.slots; ++s) variable.slots[s] = as_written(inputs[1 + s]);
  variable.gradient = gradient;
  variable.elements = elements_;
  for (std::size_t i = 0; i < layout_.scalars.size(); ++i) {
    update.scalars[i] = inputs[layout_.scalars[i]];
  }
  queue.add_update(update);
}

std::unique_ptr<PreparedKernel> prepare_update(Device& device, const KernelRequest& request,
                                               const UpdateRule& rule, UpdateLayout::Kind kind,
                                               const GradientForm& form) {
  const TensorDesc& variable = request.inputs[0];
  const std::int64_t n = variable.shape.elements();
  const DenseUpdate update(device, kernel_of(rule, form), variable.dtype, n,
                           UpdateLayout(rule, kind));
  const TowerAverage average(device, form, variable.dtype, n);
  const std::size_t at = update.layout().gradient;
  if (average.is_copy()) {
    return make_kernel([update, at](CudaQueue& queue, const LaunchArgs& args) {
      update.run(queue, args.inputs, args.inputs[at]);
    });
  }
  return make_kernel(
      [update, average, at](CudaQueue& queue, const LaunchArgs& args) {
        average.run(queue, args.inputs + at, args.workspace);
        update.run(queue, args.inputs, args.workspace);
      },
      {.workspace = variable.bytes()});
}

}  // namespace towerflow::cuda

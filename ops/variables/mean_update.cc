#include "ops/variables/mean_update.h"

#include <algorithm>
#include <string>

#include "ops/family.h"
#include "ops/variables/update_rows_kernel.h"

namespace towerflow {
namespace {

/// Computes only the average.
template <class T>
class AverageKernel final : public CpuKernel {
 public:
  AverageKernel(std::int64_t count, GradientForm form) : count_(count), form_(form) {}
  int slices(int) const override { return loop_slices(count_); }

  bool may_fail() const override { return false; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    const SliceRange part = slice_range(count_, loop_slices(count_), slice, 16);
    const TowerInputs<T> towers(form_, inputs, part.begin, count_);
    T* out = static_cast<T*>(outputs[0]) + part.begin;
    if constexpr (std::is_same_v<T, float>) {
      simd::loops().gradient_sum(towers.sum(), out, part.size());
    } else {
      for (std::int64_t i = 0; i < part.size(); ++i) out[i] = sum_at(towers.sum(), i);
    }
  }

 private:
  std::int64_t count_;
  GradientForm form_;
};

std::unique_ptr<PreparedKernel> average_kernel(const KernelRequest& request) {
  const std::int64_t count = request.outputs[0].shape.elements();
  const auto& form = request.attributes<GradientForm>();
  if (request.inputs[0].dtype == DType::float32) {
    return sliced_kernel(std::make_unique<AverageKernel<float>>(count, form));
  }
  return sliced_kernel(std::make_unique<AverageKernel<double>>(count, form));
}

template <template <class> class Rule, template <class> class Nesterov = Rule>
std::unique_ptr<PreparedKernel> fused_kernel(const KernelRequest& request) {
  const auto& form = request.attributes<GradientForm>();
  return form.use_nesterov ? update_kernel<Nesterov>(request, UpdateInputs::fused, form)
                           : update_kernel<Rule>(request, UpdateInputs::fused, form);
}

template <template <class> class Rule, template <class> class Nesterov = Rule,
          bool kEveryRow = false>
std::unique_ptr<PreparedKernel> fused_rows_kernel(const KernelRequest& request) {
  const auto& form = request.attributes<GradientForm>();
  return form.use_nesterov
             ? update_rows_kernel<Nesterov, kEveryRow>(request, UpdateInputs::fused, form)
             : update_rows_kernel<Rule, kEveryRow>(request, UpdateInputs::fused, form);
}

using Prepare = std::unique_ptr<PreparedKernel> (*)(const KernelRequest&);

struct FusedUpdate {
  UpdateFamily family;
  Prepare dense, rows;
};

template <template <class> class Rule, template <class> class Nesterov = Rule,
          bool kEveryRow = false>
constexpr FusedUpdate fused(const char* name) {
  using Any = Rule<float>;
  return {{name, Any::kSlots, Any::kScalars, Any::kScalarsBeforeGradient, true},
          fused_kernel<Rule, Nesterov>,
          fused_rows_kernel<Rule, Nesterov, kEveryRow>};
}

/// Gradient descent on rows is a ScatterSub, which has no fused op.
constexpr FusedUpdate fused_descent() {
  FusedUpdate one = fused<GradientDescentRule>("GradientDescent");
  one.family.rows = false;
  return one;
}

constexpr FusedUpdate kUpdates[] = {
    fused_descent(),
    fused<MomentumRule, NesterovRule>("Momentum"),
    fused<AdamRule, AdamRule, true>("Adam"),
    fused<AdagradRule>("Adagrad"),
    fused<RmsPropRule>("RMSProp"),
    fused<CenteredRmsPropRule>("CenteredRMSProp"),
    fused<AdadeltaRule>("Adadelta"),
    fused<AdagradDualAveragingRule>("AdagradDA"),
    fused<FtrlRule>("Ftrl"),
    fused<FtrlShrinkageRule>("FtrlV2"),
    fused<ProximalGradientDescentRule>("ProximalGradientDescent"),
    fused<ProximalAdagradRule>("ProximalAdagrad"),
};

void mean_shape(InferenceContext& context) {
  context.add_output(context.dtype(0), context.shape(0));
}

void mean_update_shape(InferenceContext& context) {
  context.add_output(context.dtype(0), context.shape(0), context.is_ref(0));
}

}  // namespace

std::span<const UpdateFamily> update_families() {
  static const auto families = [] {
    std::array<UpdateFamily, std::size(kUpdates)> all{};
    std::transform(std::begin(kUpdates), std::end(kUpdates), all.begin(),
                   [](const FusedUpdate& one) { return one.family; });
    return all;
  }();
  return families;
}

// Ops only of plans: the average of the towers' gradients, and that average applied in the same
// pass over memory. Rewrites (ops/variables/update_rewrites.cc) make them from the ops that average
// and an Apply op. The attributes are a GradientForm, which describes the average.
//
// _MeanOfN: inputs of the form. _MeanApplyX, for each ApplyX: variable, slots, scalars in order,
// inputs of the form. _MeanSparseApplyX, for each SparseApplyX: the same with values of slices as
// gradients, then the indices of all of them.
//
// _MovingAverage: variable, 1 - decay, value; made from an AssignSub and the ops of its operand.
static void register_mean_update_ops(OpRegistry& registry) {
  const NoGradient reason{"it is created after the gradients, in plans only"};
  registry.add({.name = "_MeanOfN",
                .inputs = {"inputs: N * T"},
                .outputs = {"mean: T"},
                .attrs = attributes<GradientForm>(),
                .shape = mean_shape,
                .gradient = reason,
                .plan_only = true});
  for (const UpdateFamily& family : update_families()) {
    std::vector<int> written;
    for (std::size_t i = 0; i <= family.slots; ++i) written.push_back(static_cast<int>(i));
    const auto add = [&](const char* prefix) {
      registry.add({.name = std::string(prefix) + family.name,
                    .inputs = {"var: Ref(T)", "slots: S * Ref(T)", "values: list(dtypes)"},
                    .outputs = {"out: Ref(T)"},
                    .attrs = attributes<GradientForm>(),
                    .shape = mean_update_shape,
                    .gradient = reason,
                    .effect = Effect::writes_variable,
                    .written = written,
                    .plan_only = true});
    };
    add("_MeanApply");
    if (family.rows) add("_MeanSparseApply");
  }
  registry.add({.name = "_MovingAverage",
                .inputs = {"ref: Ref(T)", "rest: T", "value: T"},
                .outputs = {"output_ref: Ref(T)"},
                .shape = mean_update_shape,
                .gradient = reason,
                .effect = Effect::writes_variable,
                .written = {0},
                .plan_only = true});
}

static void register_mean_update_kernels(KernelTable& table) {
  const auto add = [&](const std::string& op, Prepare prepare) {
    table.add({.op = op, .label = "one pass", .accepts = {}, .prepare = prepare});
  };
  add("_MeanOfN", average_kernel);
  add("_MovingAverage", [](const KernelRequest& request) {
    return update_kernel<MovingAverageRule>(request, UpdateInputs::apply, {});
  });
  for (const FusedUpdate& update : kUpdates) {
    add(std::string("_MeanApply") + update.family.name, update.dense);
    if (update.family.rows) {
      add(std::string("_MeanSparseApply") + update.family.name, update.rows);
    }
  }
}

OpFamily mean_update_family() {
  return {.ops = register_mean_update_ops, .kernels = register_mean_update_kernels};
}

}  // namespace towerflow

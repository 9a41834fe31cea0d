#include "ops/variables/apply.h"

#include <map>
#include <vector>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "ops/variables/families.h"
#include "ops/variables/slices.h"
#include "ops/variables/update_op.h"
#include "ops/variables/update_rule.h"

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

template <class T>
class DescentKernel final : public CpuKernel {
 public:
  explicit DescentKernel(std::int64_t count) : count_(count) {}
  int slices(int) const override { return update_slices(count_); }
  void run(int, int slice, const void* const* inputs, void* const*, std::byte*) const override {
    const auto range = slice_range(count_, update_slices(count_), slice, 16);
    T* variable = static_cast<T*>(const_cast<void*>(inputs[0]));
    const GradientDescentRule<T> rule{*static_cast<const T*>(inputs[1])};
    const T* gradient = static_cast<const T*>(inputs[2]);
    for (std::int64_t i = range.begin; i < range.end; ++i) rule(variable[i], gradient[i]);
  }

 private:
  std::int64_t count_;
};

template <class T>
class MomentumKernel final : public CpuKernel {
 public:
  MomentumKernel(std::int64_t count, bool nesterov) : count_(count), nesterov_(nesterov) {}
  int slices(int) const override { return update_slices(count_); }
  void run(int, int slice, const void* const* inputs, void* const*, std::byte*) const override {
    const auto range = slice_range(count_, update_slices(count_), slice, 16);
    T* variable = static_cast<T*>(const_cast<void*>(inputs[0]));
    T* accum = static_cast<T*>(const_cast<void*>(inputs[1]));
    const T rate = *static_cast<const T*>(inputs[2]);
    const T* gradient = static_cast<const T*>(inputs[3]);
    const T momentum = *static_cast<const T*>(inputs[4]);
    if (nesterov_) {
      const MomentumRule<T> rule{rate, momentum, true};
      for (std::int64_t i = range.begin; i < range.end; ++i)
        rule(variable[i], accum[i], gradient[i]);
    } else {
      const MomentumRule<T> rule{rate, momentum, false};
      for (std::int64_t i = range.begin; i < range.end; ++i)
        rule(variable[i], accum[i], gradient[i]);
    }
  }

 private:
  std::int64_t count_;
  bool nesterov_;
};

std::unique_ptr<PreparedKernel> descent_kernel(const KernelRequest& request) {
  const std::int64_t count = request.inputs[0].shape.elements();
  if (request.inputs[0].dtype == DType::float32) {
    return sliced_kernel(std::make_unique<DescentKernel<float>>(count));
  }
  return sliced_kernel(std::make_unique<DescentKernel<double>>(count));
}

std::unique_ptr<PreparedKernel> momentum_kernel(const KernelRequest& request) {
  const std::int64_t count = request.inputs[0].shape.elements();
  const bool nesterov = request.attributes<ApplyAttrs>().use_nesterov;
  if (request.inputs[0].dtype == DType::float32) {
    return sliced_kernel(std::make_unique<MomentumKernel<float>>(count, nesterov));
  }
  return sliced_kernel(std::make_unique<MomentumKernel<double>>(count, nesterov));
}

/// Rows that repeat are summed first, as TensorFlow's optimizers do before they update: momentum
/// must see one gradient a row.
template <class T>
std::unique_ptr<PreparedKernel> sparse_momentum(const KernelRequest& request) {
  const SliceRows rows = slice_rows(request.inputs[0].shape, request.inputs[4]);
  const bool nesterov = request.attributes<ApplyAttrs>().use_nesterov;
  return function_kernel([rows, nesterov](const LaunchArgs& args) {
    const MomentumRule<T> rule{args.input<T>(2)[0], args.input<T>(5)[0], nesterov};
    T* variable = args.variable<T>(0);
    T* accum = args.variable<T>(1);
    const T* gradient = args.input<T>(3);
    const auto width = static_cast<std::size_t>(rows.width);
    std::map<std::int64_t, std::vector<T>> sums;
    rows.for_each(args.inputs[4], [&](std::int64_t slice, std::int64_t row) {
      std::vector<T>& sum = sums[row];
      sum.resize(width, T(0));
      for (std::size_t i = 0; i < width; ++i) {
        sum[i] += gradient[static_cast<std::size_t>(slice) * width + i];
      }
    });
    for (const auto& [row, sum] : sums) {
      T* values = variable + row * rows.width;
      T* slots = accum + row * rows.width;
      for (std::size_t i = 0; i < width; ++i) rule(values[i], slots[i], sum[i]);
    }
  });
}

std::unique_ptr<PreparedKernel> sparse_momentum_kernel(const KernelRequest& request) {
  return request.inputs[0].dtype == DType::float32 ? sparse_momentum<float>(request)
                                                   : sparse_momentum<double>(request);
}

}  // namespace

void register_apply_ops(OpRegistry& registry) {
  const NoGradient reason{"an optimizer's update is not a function of the loss", false};
  const auto add = [&](const char* name, ShapeRule rule, std::vector<int> written) {
    registry.add({.name = name,
                  .shape = std::move(rule),
                  .gradient = reason,
                  .effect = Effect::writes_variable,
                  .written = std::move(written)});
  };
  add("ApplyGradientDescent", descent_shape, {0});
  add("ApplyMomentum", momentum_shape, {0, 1});
  add("SparseApplyMomentum", sparse_momentum_shape, {0, 1});
}

void register_apply_kernels(KernelTable& table) {
  const auto add = [&](const char* op, const char* label, auto prepare) {
    table.add({.op = op, .label = label, .accepts = is_float_variable, .prepare = prepare});
  };
  add("ApplyGradientDescent", "slices", descent_kernel);
  add("ApplyMomentum", "slices", momentum_kernel);
  add("SparseApplyMomentum", "rows", sparse_momentum_kernel);
}

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

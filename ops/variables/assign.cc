#include "ops/variables/assign.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "ops/math/binary_functors.h"
#include "ops/variables/families.h"
#include "ops/variables/slices.h"

namespace towerflow {
namespace {

struct AssignAttrs {
  bool validate_shape = true;
  bool use_locking = true;
  static constexpr auto fields =
      std::tuple{attr::field("validate_shape", &AssignAttrs::validate_shape),
                 attr::field("use_locking", &AssignAttrs::use_locking)};
};

void need_ref(const InferenceContext& context) {
  if (!context.is_ref(0)) {
    context.fail_type("Input 'ref' of the op requires a variable (l-value) input");
  }
}

void assign_shape(InferenceContext& context) {
  need_ref(context);
  if (!context.attrs<AssignAttrs>().validate_shape) {  // the variable takes the value's shape
    context.add_output(context.dtype(0), context.shape(1), true);
    return;
  }
  const auto merged = context.shape(0).merged(context.shape(1));
  if (!merged) {
    context.fail(
        fmt::format("Dimensions must be equal, but are {} and {}: the variable's shape and "
                    "the value's",
                    context.shape(0).text(), context.shape(1).text()));
  }
  context.add_output(context.dtype(0), context.shape(0), true);
}

void scatter_shape(InferenceContext& context) {
  need_ref(context);
  const Shape &ref = context.shape(0), &indices = context.shape(1), &updates = context.shape(2);
  if (ref.has_rank() && indices.has_rank() && updates.has_rank()) {
    std::vector<Dim> dims = indices.dims();
    dims.insert(
        dims.end(),
        ref.dims().begin() + std::min<std::ptrdiff_t>(1, static_cast<std::ptrdiff_t>(ref.rank())),
        ref.dims().end());
    const Shape wanted(std::move(dims));
    if (!wanted.compatible(updates)) {
      context.fail(
          fmt::format("Must have updates.shape = indices.shape + params.shape[1:], got "
                      "updates.shape {}, indices.shape {}, params.shape {}",
                      updates.text(), indices.text(), ref.text()));
    }
  }
  context.add_output(context.dtype(0), ref, true);
}

std::unique_ptr<PreparedKernel> assign_kernel(const KernelRequest& request) {
  const std::int64_t count = request.inputs[1].shape.elements();
  if (request.inputs[1].shape != request.inputs[0].shape) {
    throw errors::InvalidArgumentError(
        fmt::format("Assign requires shapes of both tensors to match. lhs shape= {} rhs shape= {}",
                    request.inputs[0].shape.text(), request.inputs[1].shape.text()));
  }
  if (request.inputs[0].dtype == DType::string) {
    return function_kernel([count](const LaunchArgs& args) {
      std::copy_n(args.input<std::string>(1), count, args.variable<std::string>(0));
    });
  }
  const std::size_t bytes = request.inputs[1].bytes();
  return function_kernel(
      [bytes](const LaunchArgs& args) {
        if (bytes > 0) std::memmove(args.variable<std::byte>(0), args.inputs[1], bytes);
      },
      {.may_fail = false});
}

/// Integers wrap, as everywhere.
template <bool kAdd, class T>
using Change = std::conditional_t<kAdd, functors::Add<T>, functors::Sub<T>>;

template <bool kAdd>
std::unique_ptr<PreparedKernel> update_kernel(const KernelRequest& request) {
  const std::int64_t count = request.inputs[0].shape.elements();
  if (request.inputs[1].shape != request.inputs[0].shape) {
    throw errors::InvalidArgumentError(fmt::format("the variable has shape {}, the value {}",
                                                   request.inputs[0].shape.text(),
                                                   request.inputs[1].shape.text()));
  }
  std::unique_ptr<PreparedKernel> kernel;
  dispatch_dtype(request.inputs[0].dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      kernel = function_kernel(
          [count](const LaunchArgs& args) {
            T* variable = args.variable<T>(0);
            const T* value = args.input<T>(1);
            for (std::int64_t i = 0; i < count; ++i) {
              variable[i] = Change<kAdd, T>()(variable[i], value[i]);
            }
          },
          {.may_fail = false});
    }
  });
  return kernel;
}

template <bool kAdd>
std::unique_ptr<PreparedKernel> scatter_kernel(const KernelRequest& request) {
  const SliceRows rows = slice_rows(request.inputs[0].shape, request.inputs[1]);
  std::unique_ptr<PreparedKernel> kernel;
  dispatch_dtype(request.inputs[0].dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      kernel = function_kernel([rows](const LaunchArgs& args) {
        T* variable = args.variable<T>(0);
        const T* updates = args.input<T>(2);
        rows.for_each(args.inputs[1], [&](std::int64_t slice, std::int64_t row) {
          T* to = variable + row * rows.width;
          const T* from = updates + slice * rows.width;
          for (std::int64_t i = 0; i < rows.width; ++i) {
            to[i] = Change<kAdd, T>()(to[i], from[i]);
          }
        });
      });
    }
  });
  return kernel;
}

bool has_arithmetic(const KernelRequest& request) {
  const DType dtype = request.inputs[0].dtype;
  return dtype == DType::float32 || dtype == DType::float64 || is_integer(dtype);
}

Tensor update(const char* op, const Variable& variable, const Operand& value,
              const UpdateOptions& options, Site site) {
  const Operand ref(variable.ref(), site);
  OpBuilder builder(op, options.name, site, {&ref});
  const DType dtype = variable.dtype();
  if (dtype == DType::bool_ || dtype == DType::string) {  // before the value becomes a constant
    throw TypeError(fmt::format("Value passed to parameter 'ref' has DataType {}, which has no sum",
                                dtype_name(dtype)),
                    {.site = site, .node = variable.op().name(), .op = op});
  }
  return builder.input(ref, "ref", "T")
      .input(value, "value", "T")
      .attrs(AssignAttrs{true, options.use_locking})
      .output();
}

Tensor scatter(const char* op, const Variable& variable, const Operand& indices,
               const Operand& updates, const UpdateOptions& options, Site site) {
  const Operand ref(variable.ref(), site);
  return OpBuilder(op, options.name, site, {&ref})
      .input(ref, "ref", "T")
      .index_input(indices, "indices")
      .input(updates, "updates", "T")
      .attrs(AssignAttrs{true, options.use_locking})
      .output();
}

}  // namespace

void register_assign_ops(OpRegistry& registry) {
  const auto update_attributes = [] {
    return attributes<AssignAttrs>().without("validate_shape").defaults_to("use_locking", false);
  };
  const NoGradient reason{"a write to a variable is not a function of the loss"};
  registry.add({.name = "Assign",
                .inputs = {"ref: Ref(T)", "value: T"},
                .outputs = {"output_ref: Ref(T)"},
                .attrs = attributes<AssignAttrs>(),
                .shape = assign_shape,
                .gradient = reason,
                .effect = Effect::writes_variable,
                .written = {0},
                .overwrites = true});
  for (const char* op : {"AssignAdd", "AssignSub"}) {
    registry.add({.name = op,
                  .inputs = {"ref: Ref(T)", "value: T"},
                  .outputs = {"output_ref: Ref(T)"},
                  .attrs = update_attributes(),
                  .shape = assign_shape,
                  .gradient = reason,
                  .effect = Effect::writes_variable,
                  .written = {0}});
  }
  for (const char* op : {"ScatterAdd", "ScatterSub"}) {
    registry.add({.name = op,
                  .inputs = {"ref: Ref(T)", "indices: Tindices", "updates: T"},
                  .outputs = {"output_ref: Ref(T)"},
                  .attrs = update_attributes(),
                  .shape = scatter_shape,
                  .gradient = reason,
                  .effect = Effect::writes_variable,
                  .written = {0}});
  }
}

void register_assign_kernels(KernelTable& table) {
  table.add({.op = "Assign", .label = "copy", .accepts = {}, .prepare = assign_kernel});
  table.add({.op = "AssignAdd",
             .label = "loop",
             .accepts = has_arithmetic,
             .prepare = update_kernel<true>});
  table.add({.op = "AssignSub",
             .label = "loop",
             .accepts = has_arithmetic,
             .prepare = update_kernel<false>});
  table.add({.op = "ScatterAdd",
             .label = "loop",
             .accepts = has_arithmetic,
             .prepare = scatter_kernel<true>});
  table.add({.op = "ScatterSub",
             .label = "loop",
             .accepts = has_arithmetic,
             .prepare = scatter_kernel<false>});
}

Tensor assign_ref(const Tensor& ref, const Operand& value, const AssignOptions& options,
                  Site site) {
  const Operand target(ref, site);
  return OpBuilder("Assign", options.name, site, {&target})
      .input(target, "ref", "T")
      .input(value, "value", "T")
      .attrs(AssignAttrs{options.validate_shape, options.use_locking})
      .output();
}

Tensor assign(const Variable& variable, const Operand& value, AssignOptions options, Site site) {
  return assign_ref(variable.ref(), value, options, site);
}

Tensor Variable::assign(const Operand& value, UpdateOptions options, Site site) const {
  return towerflow::assign(
      *this, value, {.use_locking = options.use_locking, .name = std::move(options.name)}, site);
}

Tensor Variable::assign_add(const Operand& delta, UpdateOptions options, Site site) const {
  return towerflow::assign_add(*this, delta, std::move(options), site);
}

Tensor Variable::assign_sub(const Operand& delta, UpdateOptions options, Site site) const {
  return towerflow::assign_sub(*this, delta, std::move(options), site);
}

Tensor assign_add(const Variable& variable, const Operand& value, UpdateOptions options,
                  Site site) {
  return update("AssignAdd", variable, value, options, site);
}

Tensor assign_sub(const Variable& variable, const Operand& value, UpdateOptions options,
                  Site site) {
  return update("AssignSub", variable, value, options, site);
}

Tensor scatter_add(const Variable& variable, const Operand& indices, const Operand& updates,
                   UpdateOptions options, Site site) {
  return scatter("ScatterAdd", variable, indices, updates, options, site);
}

Tensor scatter_sub(const Variable& variable, const Operand& indices, const Operand& updates,
                   UpdateOptions options, Site site) {
  return scatter("ScatterSub", variable, indices, updates, options, site);
}

}  // namespace towerflow

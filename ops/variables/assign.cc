#include "ops/variables/assign.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "ops/family.h"
#include "ops/range_kernel.h"
#include "ops/variables/update_kernel.h"

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
    if (!context.shape(0).compatible(context.shape(1))) {
      throw errors::UnimplementedError(
          fmt::format("The variable has the shape {} and cannot change to that of the value, {}, "
                      "with validate_shape = false either",
                      context.shape(0).text(), context.shape(1).text()),
          {.hint = "make a variable of each shape, or take slices of one that is large enough"});
    }
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

std::unique_ptr<PreparedKernel> assign_kernel(const KernelRequest& request) {
  const TensorDesc &variable = request.inputs[0], &value = request.inputs[1];
  if (value.shape != variable.shape) {
    throw errors::InvalidArgumentError(
        fmt::format("Assign requires shapes of both tensors to match. lhs shape= {} rhs shape= {}",
                    variable.shape.text(), value.shape.text()));
  }
  const std::int64_t count = value.shape.elements();
  if (variable.dtype == DType::string) {
    return function_kernel([count](const LaunchArgs& args) {
      std::copy_n(args.input<std::string>(1), count, args.variable<std::string>(0));
    });
  }
  // The value may be the variable itself.
  const std::size_t size = dtype_size(variable.dtype);
  return elementwise_kernel(
      count, [size](SliceRange part, const void* const* inputs, void* const*) {
        const std::size_t begin = static_cast<std::size_t>(part.begin) * size;
        std::memmove(static_cast<std::byte*>(const_cast<void*>(inputs[0])) + begin,
                     static_cast<const std::byte*>(inputs[1]) + begin,
                     static_cast<std::size_t>(part.size()) * size);
      });
}

template <template <class> class Rule>
std::unique_ptr<PreparedKernel> change_kernel(const KernelRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  if (request.inputs[1].shape != shape) {
    throw errors::InvalidArgumentError(fmt::format("the variable has shape {}, the value {}",
                                                   shape.text(), request.inputs[1].shape.text()));
  }
  return for_real_type(request.inputs[0].dtype, [&]<class T>() {
    return elementwise_kernel(
        shape.elements(), [](SliceRange part, const void* const* inputs, void* const*) {
          update_elements<T>(Rule<T>(nullptr), inputs, part.begin,
                             static_cast<const T*>(inputs[1]) + part.begin, part.size());
        });
  });
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

}  // namespace

static void register_assign_ops(OpRegistry& registry) {
  const auto update_attributes = [] {
    return attributes<AssignAttrs>().without("validate_shape").defaults_to("use_locking", false);
  };
  const NoGradient reason{"an assignment to a variable has no gradient"};
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
}

static void register_assign_kernels(KernelTable& table) {
  using Prepare = std::unique_ptr<PreparedKernel> (*)(const KernelRequest&);
  const auto add = [&](const char* op, const char* label, Prepare prepare) {
    table.add({.op = op, .label = label, .accepts = has_arithmetic, .prepare = prepare});
  };
  table.add({.op = "Assign", .label = "copy", .accepts = {}, .prepare = assign_kernel});
  add("AssignAdd", "slices", change_kernel<AddRule>);
  add("AssignSub", "slices", change_kernel<SubtractRule>);
}

OpFamily assign_family() {
  return {.ops = register_assign_ops, .kernels = register_assign_kernels};
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

}  // namespace towerflow

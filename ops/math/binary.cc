#include "ops/math/binary.h"

#include <fmt/format.h>

#include <array>

#include "core/graph/op_builder.h"
#include "core/graph/short_float.h"
#include "ops/array/cast.h"
#include "ops/family.h"
#include "ops/math/binary_ops.h"
#include "ops/math/unary.h"

namespace towerflow {
namespace {

ShapeRule binary_shape(const BinaryRow& row) {
  return [accepts = row.accepts, returns_bool = row.returns_bool,
          of_one_shape = std::string_view(row.z) == "backprops"](InferenceContext& context) {
    const DType dtype = context.dtype(0);
    if (dtype != context.dtype(1)) {
      context.fail_type(
          fmt::format("operands are {} and {}", dtype_name(dtype), dtype_name(context.dtype(1))));
    }
    if (!accepts(dtype)) {
      context.fail_type(
          fmt::format("Value passed to parameter 'x' has DataType {}, which the op "
                      "does not take",
                      dtype_name(dtype)));
    }
    if (of_one_shape) {
      const auto merged = context.shape(0).merged(context.shape(1));
      if (!merged) {
        context.fail(fmt::format("Shapes must be equal, but are {} and {}", context.shape(0).text(),
                                 context.shape(1).text()));
      }
      return context.add_output(dtype, *merged);
    }
    const auto shape = broadcast_shapes(context.shape(0), context.shape(1));
    if (!shape) {
      context.fail(
          fmt::format("Dimensions must be equal, but the shapes {} and {} do not broadcast",
                      context.shape(0).text(), context.shape(1).text()));
    }
    context.add_output(returns_bool ? DType::bool_ : dtype, *shape);
  };
}

std::string argument_text(const BinaryRow& row, const char* name) {
  const bool of_bools = row.accepts(DType::bool_) && !row.accepts(DType::float32);
  return fmt::format("{}: {}", name, of_bools ? "bool" : "T");
}

AttrsDef attributes_of(const BinaryRow& row) {
  const std::string_view op = row.op;
  if (op != "Equal" && op != "NotEqual") return {};
  return attributes().fixed("incompatible_shape_error", true);
}

/// Returns the names of the arguments of an op.
std::array<const char*, 2> argument_names(std::string_view op) {
  for (const BinaryRow& row : binary_rows()) {
    if (op == row.op) return {row.x, row.y};
  }
  return {"x", "y"};
}

void check_operand_dtype(std::string_view op, DType dtype) {
  for (const BinaryRow& row : binary_rows()) {
    if (op != row.op || row.accepts(widened(dtype))) continue;
    throw TypeError(
        fmt::format("Value passed to parameter 'x' has DataType {}, which the op does "
                    "not take",
                    dtype_name(dtype)));
  }
}

/// Converts the operands and adds the op. As in Python, `+` converts both operands before the op
/// checks their dtype.
Tensor build_binary(OpBuilder& builder, std::string_view op, const Operand& x, const Operand& y) {
  const auto [first, second] = argument_names(op);
  if (op == "LogicalAnd" || op == "LogicalOr") {  // other operands are converted to bool
    return builder.input(x, first, DType::bool_).input(y, second, DType::bool_).output();
  }
  builder.input(x, first, "T");
  if (op != "AddV2")
    check_operand_dtype(op, builder.tensors()[0].dtype());  // before y becomes a constant
  if (op == "AddV2") return builder.eager_input(y, second, "T").output();
  return builder.input(y, second, "T").output();
}

/// Adds an op whose operands share one dtype, which the first one sets.
Tensor add_binary(const char* op, const char* default_name, const Operand& x, const Operand& y,
                  const BinaryOptions& options, Site site) {
  OpBuilder builder(op, options.name, default_name, site, {&x, &y});
  return build_binary(builder, op, x, y);
}

/// Throws if one operand is IndexedSlices and neither is a tensor: Python's operators densify
/// slices only next to a tensor.
void check_slices(const char* sign, const Operand& x, const Operand& y) {
  const Gradient* slices = x.slices() != nullptr ? x.slices() : y.slices();
  if (slices == nullptr || x.tensor() != nullptr || y.tensor() != nullptr) return;
  slices->throw_slices(fmt::format("which '{}' takes beside a tensor alone", sign),
                       "; tf::scalar_mul(factor, *gradient) scales its slices", x.site());
}

/// Adds the op of a Python operator. A value on the left takes the dtype of the tensor on the
/// right.
Tensor add_operator(const char* sign, const char* op, const char* name, const Operand& x,
                    const Operand& y) {
  check_slices(sign, x, y);
  OpBuilder builder(op, "", name, x.site(), {&x, &y});
  if (x.any_tensor() == nullptr && y.tensor() != nullptr) {
    const Tensor left = convert_operand(builder.graph(), x, "x", y.tensor()->dtype());
    return build_binary(builder, op, left, y);
  }
  return build_binary(builder, op, x, y);
}

/// Returns whether `x` is a tensor of bools, which changes the meaning of Python's `*`.
bool is_bool_tensor(const Operand& x) {
  return x.tensor() != nullptr && x.tensor()->dtype() == DType::bool_;
}

/// Computes `x * y` if an operand is bool: true where both are nonzero.
Tensor multiply_bools(const Operand& x, const Operand& y) {
  OpBuilder builder("Mul", "", "mul", x.site(), {&x, &y});
  Operand left = x;
  if (x.any_tensor() == nullptr) left = convert_operand(builder.graph(), x, "x", DType::bool_);
  const Tensor a = cast_always(left, DType::int32, x.site());
  const Tensor b = cast_always(y, DType::int32, x.site());
  builder.input(a, "x", "T").input(b, "y", "T");
  const Tensor product = builder.output();
  return cast_always(product, DType::bool_, x.site());
}

/// Returns the floating-point dtype in which values of `dtype` are divided.
DType quotient_dtype(DType dtype) {
  if (!is_integer(dtype)) return dtype;
  return dtype_size(dtype) <= 2 ? DType::float32 : DType::float64;
}

/// Adds a RealDiv or DivNoNan op; integers are cast to floating point first. `left`, if present, is
/// the dtype that x is converted to.
Tensor add_division(const char* op, const char* default_name, const Operand& x, const Operand& y,
                    const BinaryOptions& options, std::optional<DType> left, Site site) {
  OpBuilder builder(op, options.name, default_name, site, {&x, &y});
  if (left)
    builder.input(convert_operand(builder.graph(), x, "x", *left), "x", "T");
  else
    builder.input(x, "x", "T");
  builder.eager_input(y, "y", "T");
  const std::vector<Tensor> operands = builder.tensors();
  const DType dtype = operands[0].dtype();
  const DType wanted = quotient_dtype(dtype);
  if (wanted == dtype) return builder.output();
  const Tensor a = cast(operands[0], wanted, {}, site);
  const Tensor b = cast(operands[1], wanted, {}, site);
  return OpBuilder(op, builder.scope(), site, {}).input(a, "x", "T").input(b, "y", "T").output();
}

Tensor add_truediv(const Operand& x, const Operand& y, const BinaryOptions& options,
                   std::optional<DType> left, Site site) {
  return add_division("RealDiv", "truediv", x, y, options, left, site);
}

}  // namespace

static void register_binary_ops(OpRegistry& registry) {
  for (const BinaryRow& row : binary_rows()) {
    registry.add({.name = row.op,
                  .inputs = {argument_text(row, row.x), argument_text(row, row.y)},
                  .outputs = {fmt::format("{}: {}", row.z, row.returns_bool ? "bool" : "T")},
                  .attrs = attributes_of(row),
                  .shape = binary_shape(row),
                  .gradient = row.gradient,
                  .elementwise = elementwise_always});
  }
}

static void register_binary_kernels(KernelTable& table) {
  for (const BinaryRow& row : binary_rows()) {
    if (row.fast != nullptr) {
      table.add({.op = row.op,
                 .label = "simd",
                 .accepts =
                     [](const KernelRequest& request) {
                       return request.inputs[0].dtype == DType::float32;
                     },
                 .prepare =
                     [fast = row.fast](const KernelRequest& request) {
                       return broadcast_kernel(request, fast());
                     }});
    }
    table.add({.op = row.op,
               .label = "reference",
               .accepts = {},
               .prepare = [loops = row.loops](const KernelRequest& request) {
                 return broadcast_kernel(request, loops(request.inputs[0].dtype));
               }});
  }
}

OpFamily binary_family() {
  return {.ops = register_binary_ops, .kernels = register_binary_kernels};
}

#define TOWERFLOW_BINARY(function, op, default_name)                                      \
  Tensor function(const Operand& x, const Operand& y, BinaryOptions options, Site site) { \
    return add_binary(op, default_name, x, y, options, site);                             \
  }
TOWERFLOW_BINARY(add, "AddV2", "Add")
TOWERFLOW_BINARY(subtract, "Sub", "Sub")
TOWERFLOW_BINARY(multiply, "Mul", "Mul")
TOWERFLOW_BINARY(floordiv, "FloorDiv", "floordiv")
TOWERFLOW_BINARY(floormod, "FloorMod", "FloorMod")
TOWERFLOW_BINARY(floor_div, "FloorDiv", "FloorDiv")
TOWERFLOW_BINARY(realdiv, "RealDiv", "RealDiv")
TOWERFLOW_BINARY(truncatediv, "TruncateDiv", "TruncateDiv")
TOWERFLOW_BINARY(truncatemod, "TruncateMod", "TruncateMod")
TOWERFLOW_BINARY(atan2, "Atan2", "Atan2")
TOWERFLOW_BINARY(polygamma, "Polygamma", "Polygamma")
TOWERFLOW_BINARY(maximum, "Maximum", "Maximum")
TOWERFLOW_BINARY(minimum, "Minimum", "Minimum")
TOWERFLOW_BINARY(pow, "Pow", "Pow")
TOWERFLOW_BINARY(squared_difference, "SquaredDifference", "SquaredDifference")
TOWERFLOW_BINARY(equal, "Equal", "Equal")
TOWERFLOW_BINARY(not_equal, "NotEqual", "NotEqual")
TOWERFLOW_BINARY(greater, "Greater", "Greater")
TOWERFLOW_BINARY(greater_equal, "GreaterEqual", "GreaterEqual")
TOWERFLOW_BINARY(less, "Less", "Less")
TOWERFLOW_BINARY(less_equal, "LessEqual", "LessEqual")
TOWERFLOW_BINARY(logical_and, "LogicalAnd", "LogicalAnd")
TOWERFLOW_BINARY(logical_or, "LogicalOr", "LogicalOr")
#undef TOWERFLOW_BINARY

Tensor math::xlogy(const Operand& x, const Operand& y, BinaryOptions options, Site site) {
  return add_binary("Xlogy", "Xlogy", x, y, options, site);
}

/// Adds an op in a scope whose graph is that of x.
static Tensor add_in_scope(const char* op, const char* scope_name, const Operand& x,
                           const Operand& y, const BinaryOptions& options, Site site) {
  const NameScope scope(graph_of(x), options.name.empty() ? scope_name : options.name, site);
  return add_binary(op, op, x, y, {}, site);
}
Tensor math::xdivy(const Operand& x, const Operand& y, BinaryOptions options, Site site) {
  return add_in_scope("Xdivy", "xdivy", x, y, options, site);
}
Tensor math::xlog1py(const Operand& x, const Operand& y, BinaryOptions options, Site site) {
  return add_in_scope("Xlog1py", "xlog1py", x, y, options, site);
}

Tensor logical_xor(const Operand& x, const Operand& y, BinaryOptions options, Site site) {
  const Tensor either = logical_or(x, y, {}, site);
  const Tensor both = logical_and(x, y, {}, site);
  const Tensor not_both = logical_not(both, {}, site);
  const std::string name = options.name.empty() ? "LogicalXor" : options.name;
  return logical_and(either, not_both, {.name = name}, site);
}

Tensor div(const Operand& x, const Operand& y, BinaryOptions options, Site site) {
  OpBuilder builder("RealDiv", options.name, "div", site, {&x, &y});
  builder.input(x, "x", "T");
  const DType dtype = builder.tensors()[0].dtype();
  builder.input(convert_operand(builder.graph(), y, "y", dtype), "y", "T");
  if (!is_integer(dtype)) return builder.output();
  const std::vector<Tensor> operands = builder.tensors();
  return OpBuilder("FloorDiv", builder.scope(), site, {})
      .input(operands[0], "x", "T")
      .input(operands[1], "y", "T")
      .output();
}

Tensor truediv(const Operand& x, const Operand& y, BinaryOptions options, Site site) {
  return add_truediv(x, y, options, std::nullopt, site);
}
Tensor div_no_nan(const Operand& x, const Operand& y, BinaryOptions options, Site site) {
  const bool value_left = x.any_tensor() == nullptr && y.tensor() != nullptr;
  return add_division("DivNoNan", "div_no_nan", x, y, options,
                      value_left ? std::optional(y.tensor()->dtype()) : std::nullopt, site);
}
Tensor divide(const Operand& x, const Operand& y, BinaryOptions options, Site site) {
  if (x.any_tensor() != nullptr || !options.name.empty()) {
    return add_truediv(x, y, options, std::nullopt, site);
  }
  // tf.divide makes x a tensor before it evaluates Python's x / y.
  const auto dtype = y.tensor() != nullptr ? std::optional(y.tensor()->dtype()) : std::nullopt;
  const Tensor left = convert_operand(get_default_graph(), x, "", dtype);
  return add_truediv(left, y, options, std::nullopt, site);
}

Tensor types::operator/(const Operand& x, const Operand& y) {
  check_slices("/", x, y);
  const bool value_left = x.any_tensor() == nullptr && y.tensor() != nullptr;
  return add_truediv(x, y, {}, value_left ? std::optional(y.tensor()->dtype()) : std::nullopt,
                     x.site());
}
Tensor types::operator+(const Operand& x, const Operand& y) {
  return add_operator("+", "AddV2", "add", x, y);
}
Tensor types::operator-(const Operand& x, const Operand& y) {
  return add_operator("-", "Sub", "sub", x, y);
}
Tensor types::operator*(const Operand& x, const Operand& y) {
  if (is_bool_tensor(x) || (is_bool_tensor(y) && !y.is_variable())) return multiply_bools(x, y);
  return add_operator("*", "Mul", "mul", x, y);
}
Tensor types::operator%(const Operand& x, const Operand& y) {
  return add_operator("%", "FloorMod", "mod", x, y);
}

/// Python evaluates `0 < x` as the reflected comparison `x > 0`, since only x is a tensor.
static Tensor compared(const char* sign, const char* op, const char* turned, const Operand& x,
                       const Operand& y) {
  if (x.tensor() == nullptr && y.any_tensor() != nullptr) {
    return add_operator(sign, turned, turned, y, x);
  }
  return add_operator(sign, op, op, x, y);
}
Tensor types::operator>(const Operand& x, const Operand& y) {
  return compared(">", "Greater", "Less", x, y);
}
Tensor types::operator>=(const Operand& x, const Operand& y) {
  return compared(">=", "GreaterEqual", "LessEqual", x, y);
}
Tensor types::operator<(const Operand& x, const Operand& y) {
  return compared("<", "Less", "Greater", x, y);
}
Tensor types::operator<=(const Operand& x, const Operand& y) {
  return compared("<=", "LessEqual", "GreaterEqual", x, y);
}

Tensor scalar_mul(const Operand& scalar, const Operand& x, BinaryOptions options, Site site) {
  const Tensor* any = x.any_tensor();
  Graph& graph = any != nullptr ? any->graph() : get_default_graph();
  const auto dtype = any != nullptr ? std::optional(any->dtype()) : std::nullopt;
  const Tensor factor = convert_operand(graph, scalar, "scalar", dtype);
  if (!factor.shape().has_rank() || factor.shape().rank() != 0) {
    throw ValueError(fmt::format("The input scalar must be a 0-D value. Received shape: {}",
                                 factor.shape().text()),
                     {.site = site, .op = "Mul", .hint = "tf::multiply broadcasts"});
  }
  return multiply(factor, x, std::move(options), site);
}

}  // namespace towerflow

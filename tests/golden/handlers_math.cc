// Arithmetic, comparisons, reductions, products.
#include "ops/math/add_n.h"
#include "ops/math/argmax.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"
#include "tests/golden/call.h"

namespace towerflow::golden {
namespace {

using Reduction = Tensor (*)(const Operand&, Axis, ReduceOptions, Site);

template <Reduction kFunction>
Value reduction(Interpreter&, const Args& args) {
  return kFunction(args.operand("input_tensor"), args.axis(),
                   {.keepdims = args.flag("keepdims"), .name = args.text("name")}, Site::current());
}

/// Returns `a operator b`, where a or b is a tensor or variable.
Tensor apply_operator(const std::string& name, const Operand& a, const Operand& b) {
  if (name == "+") return a + b;
  if (name == "-") return a - b;
  if (name == "*") return a * b;
  if (name == "/") return a / b;
  if (name == "%") return a % b;
  if (name == "<") return a < b;
  if (name == "<=") return a <= b;
  if (name == ">") return a > b;
  if (name == ">=") return a >= b;
  if (name == "//") return floordiv(a, b);
  if (name == "**") return pow(a, b, {.name = "pow"});
  throw BadProgram("no operator " + name);
}

Value operator_of(Interpreter&, const Args& args) {
  const std::string name = args.text("operator");
  if (!args.has("b")) {
    if (name != "neg") throw BadProgram("no operator " + name + " of one operand");
    return -args.operand("a");
  }
  return apply_operator(name, args.operand("a"), args.operand("b"));
}

Value argmax_of(Interpreter&, const Args& args) {
  const ArgMaxOptions options{.output_type = args.dtype("output_type", int64),
                              .name = args.text("name")};
  return args.value("axis").none() ? argmax(args.operand("input"), 0, options)
                                   : argmax(args.operand("input"), args.operand("axis"), options);
}

}  // namespace

void add_math_handlers(HandlerTable& table) {
  table["add"] = binary<add>;
  table["subtract"] = binary<subtract>;
  table["multiply"] = binary<multiply>;
  table["divide"] = binary<divide>;
  table["truediv"] = binary<truediv>;
  table["equal"] = binary<equal>;
  table["not_equal"] = binary<not_equal>;
  table["greater"] = binary<greater>;
  table["greater_equal"] = binary<greater_equal>;
  table["less"] = binary<less>;
  table["less_equal"] = binary<less_equal>;
  table["maximum"] = binary<maximum>;
  table["minimum"] = binary<minimum>;
  table["pow"] = binary<pow>;
  table["negative"] = unary<negative>;
  table["square"] = unary<square>;
  table["sqrt"] = unary<sqrt>;
  table["exp"] = unary<exp>;
  table["log"] = unary<log>;
  table["tanh"] = unary<tanh>;
  table["sigmoid"] = unary<sigmoid>;
  table["abs"] = unary<abs>;
  table["reduce_sum"] = reduction<reduce_sum>;
  table["reduce_mean"] = reduction<reduce_mean>;
  table["reduce_max"] = reduction<reduce_max>;
  table["reduce_min"] = reduction<reduce_min>;
  table["reduce_prod"] = reduction<reduce_prod>;
  table["argmax"] = argmax_of;
  table["operator"] = operator_of;
  table["add_n"] = [](Interpreter&, const Args& args) -> Value {
    return add_n(operands(args, "inputs"), {.name = args.text("name")});
  };
}

}  // namespace towerflow::golden

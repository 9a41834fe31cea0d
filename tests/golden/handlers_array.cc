// Constants, placeholders, shapes and views.
#include "ops/array/cast.h"
#include "ops/array/concat.h"
#include "ops/array/constant.h"
#include "ops/array/fill.h"
#include "ops/array/one_hot.h"
#include "ops/array/pad.h"
#include "ops/array/placeholder.h"
#include "ops/array/rank_size.h"
#include "ops/array/shape_of.h"
#include "ops/array/split.h"
#include "ops/array/stack.h"
#include "ops/array/tile.h"
#include "ops/array/transpose.h"
#include "ops/array/view.h"
#include "ops/control/group.h"
#include "tests/golden/call.h"

namespace towerflow::golden {
namespace {

Value constant_of(Interpreter&, const Args& args) {
  return constant(args.operand("value"), {.dtype = args.optional_dtype("dtype"),
                                          .shape = args.shape("shape"),
                                          .name = args.text("name")});
}

Value placeholder_of(Interpreter&, const Args& args) {
  return placeholder(args.dtype("dtype"), {.shape = args.shape("shape").value_or(Shape::unknown()),
                                           .name = args.text("name")});
}

/// Calls `zeros` or `ones` with a list of sizes or with a tensor.
template <class OfShape, class OfTensor>
Value filled(const Args& args, OfShape of_shape, OfTensor of_tensor) {
  const ZerosOptions options{.dtype = args.dtype("dtype"), .name = args.text("name")};
  if (args.value("shape").list() != nullptr) return of_shape(*args.shape("shape"), options);
  return of_tensor(args.tensor("shape"), options);
}

Value set_shape(Interpreter&, const Args& args) {
  Tensor tensor = args.tensor("tensor");
  tensor.set_shape(args.shape("shape").value_or(Shape::unknown()));
  return tensor.get_shape();
}

Value squeeze_of(Interpreter&, const Args& args) {
  SqueezeOptions options;
  options.name = args.text("name");
  if (!args.value("axis").none()) {
    for (const Value& axis : args.list("axis")) {
      options.axis.push_back(static_cast<int>(*axis.get_if<std::int64_t>()));
    }
  }
  return squeeze(args.operand("input"), options);
}

Value group_of(Interpreter&, const Args& args) {
  std::vector<Fetch> inputs;
  for (const Value& item : args.list("inputs")) inputs.push_back(to_fetch(item));
  return group(std::span<const Fetch>(inputs), {.name = args.text("name")});
}

Value transpose_of(Interpreter&, const Args& args) {
  const TransposeOptions options{.name = args.text("name")};
  if (args.value("perm").none()) return transpose(args.operand("a"), options);
  return transpose(args.operand("a"), args.operand("perm"), options);
}

void add_making(HandlerTable& table) {
  table["constant"] = constant_of;
  table["placeholder"] = placeholder_of;
  table["zeros"] = [](Interpreter&, const Args& args) -> Value {
    return filled(
        args, [](const Shape& s, const ZerosOptions& o) { return zeros(s, o); },
        [](const Tensor& s, const ZerosOptions& o) { return zeros(s, o); });
  };
  table["ones"] = [](Interpreter&, const Args& args) -> Value {
    return filled(
        args, [](const Shape& s, const ZerosOptions& o) { return ones(s, o); },
        [](const Tensor& s, const ZerosOptions& o) { return ones(s, o); });
  };
  table["fill"] = [](Interpreter&, const Args& args) -> Value {
    return fill(args.operand("dims"), args.operand("value"), {.name = args.text("name")});
  };
  table["zeros_like"] = [](Interpreter&, const Args& args) -> Value {
    return zeros_like(args.operand("tensor"),
                      {.dtype = args.optional_dtype("dtype"), .name = args.text("name")});
  };
  table["ones_like"] = [](Interpreter&, const Args& args) -> Value {
    return ones_like(args.operand("tensor"),
                     {.dtype = args.optional_dtype("dtype"), .name = args.text("name")});
  };
  table["no_op"] = [](Interpreter&, const Args& args) -> Value {
    return no_op({.name = args.text("name")});
  };
  table["group"] = group_of;
}

void add_views(HandlerTable& table) {
  table["identity"] = [](Interpreter&, const Args& args) -> Value {
    return identity(args.operand("input"), {.name = args.text("name")});
  };
  table["stop_gradient"] = [](Interpreter&, const Args& args) -> Value {
    return stop_gradient(args.operand("input"), {.name = args.text("name")});
  };
  table["reshape"] = [](Interpreter&, const Args& args) -> Value {
    return reshape(args.operand("tensor"), args.operand("shape"), {.name = args.text("name")});
  };
  table["expand_dims"] = [](Interpreter&, const Args& args) -> Value {
    return expand_dims(args.operand("input"), args.operand("axis"), {.name = args.text("name")});
  };
  table["squeeze"] = squeeze_of;
  table["shape"] = [](Interpreter&, const Args& args) -> Value {
    return shape(args.operand("input"),
                 {.name = args.text("name"), .out_type = args.dtype("out_type", int32)});
  };
  table["size"] = [](Interpreter&, const Args& args) -> Value {
    return size(args.operand("input"),
                {.name = args.text("name"), .out_type = args.dtype("out_type", int32)});
  };
  table["rank"] = [](Interpreter&, const Args& args) -> Value {
    return rank(args.operand("input"), {.name = args.text("name")});
  };
  table["set_shape"] = set_shape;
  table["get_shape"] = [](Interpreter&, const Args& args) -> Value {
    return args.tensor("tensor").get_shape();
  };
}

void add_moving(HandlerTable& table) {
  table["concat"] = [](Interpreter&, const Args& args) -> Value {
    return concat(operands(args, "values"), args.operand("axis"), {.name = args.text("name")});
  };
  table["stack"] = [](Interpreter&, const Args& args) -> Value {
    return stack(operands(args, "values"),
                 {.axis = static_cast<int>(args.integer("axis")), .name = args.text("name")});
  };
  table["tile"] = [](Interpreter&, const Args& args) -> Value {
    return tile(args.operand("input"), args.operand("multiples"), {.name = args.text("name")});
  };
  table["transpose"] = transpose_of;
  table["cast"] = [](Interpreter&, const Args& args) -> Value {
    return cast(args.operand("x"), args.dtype("dtype"), {.name = args.text("name")});
  };
}

void add_pieces(HandlerTable& table) {
  table["split"] = [](Interpreter&, const Args& args) -> Value {
    SplitOptions options;
    options.name = args.text("name");
    if (const auto num = args.optional_integer("num")) options.num = static_cast<int>(*num);
    const Operand axis = args.has("axis") ? args.operand("axis") : Operand(0);
    List pieces;
    for (const Tensor& piece :
         split(args.operand("value"), args.operand("num_or_size_splits"), axis, options)) {
      pieces.push_back(piece);
    }
    return pieces;
  };
  table["pad"] = [](Interpreter&, const Args& args) -> Value {
    PadOptions options;
    options.name = args.text("name");
    if (args.has("constant_values")) options.constant_values = args.operand("constant_values");
    return pad(args.operand("tensor"), args.operand("paddings"), args.text("mode", "CONSTANT"),
               options);
  };
  table["one_hot"] = [](Interpreter&, const Args& args) -> Value {
    OneHotOptions options;
    if (!args.value("on_value").none()) options.on_value = args.operand("on_value");
    if (!args.value("off_value").none()) options.off_value = args.operand("off_value");
    options.axis = static_cast<int>(args.integer("axis", -1));
    options.dtype = args.optional_dtype("dtype");
    options.name = args.text("name");
    return one_hot(args.operand("indices"), args.operand("depth"), options);
  };
}

}  // namespace

void add_array_handlers(HandlerTable& table) {
  add_making(table);
  add_views(table);
  add_moving(table);
  add_pieces(table);
}

}  // namespace towerflow::golden

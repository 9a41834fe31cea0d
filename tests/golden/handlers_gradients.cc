// Gradients, custom gradients, and ops with special gradients.
#include "tests/golden/handlers.h"
#include "towerflow/towerflow.h"

namespace towerflow::golden {
namespace {

std::vector<OptionalGradient> times_seven(const Operation&,
                                          const std::vector<OptionalGradient>& dys) {
  return {7.0f * convert_to_tensor(*dys[0])};
}

std::vector<GradientTarget> targets_of(const List& items) {
  std::vector<GradientTarget> targets;
  for (const Value& item : items) {
    if (const auto* variable = item.get_if<Variable>()) {
      targets.emplace_back(*variable);
    } else {
      targets.emplace_back(to_tensor(item));
    }
  }
  return targets;
}

Value gradients_of(Interpreter&, const Args& args) {
  const std::vector<GradientTarget> xs = targets_of(args.list("xs"));
  GradientsOptions options;
  options.name = args.text("name", "gradients");
  if (!args.value("grad_ys").none()) {
    for (const Value& grad : args.list("grad_ys")) options.grad_ys.push_back(gradient_of(grad));
  }
  if (!args.value("stop_gradients").none()) {
    options.stop_gradients = targets_of(args.list("stop_gradients"));
  }
  options.colocate_gradients_with_ops = args.flag("colocate_gradients_with_ops");
  options.gate_gradients = args.flag("gate_gradients");
  options.aggregation_method = aggregation_method_of(args);
  const std::string unconnected = args.text("unconnected_gradients", "none");
  if (unconnected != "none" && unconnected != "zero") {
    throw DoesNotCompile("UnconnectedGradients is none or zero");
  }
  if (unconnected == "zero") options.unconnected_gradients = UnconnectedGradients::zero;
  List list;
  for (const auto& gradient : gradients(args.tensors("ys"), xs, options)) {
    list.push_back(Value::of(gradient));
  }
  return list;
}

Value indexed_slices(Interpreter&, const Args& args) {
  return IndexedSlices{args.tensor("values"), args.tensor("indices"),
                       args.value("dense_shape").none()
                           ? std::optional<Tensor>()
                           : std::optional(args.tensor("dense_shape"))};
}

Value enter_gradient_override_map(Interpreter& in, const Args& args) {
  std::map<std::string, std::string> names;
  for (const Value& pair : args.list("op_type_map")) {
    const auto* type = pair.list()->at(0).get_if<std::string>();
    const auto* name = pair.list()->at(1).get_if<std::string>();
    if (type == nullptr || name == nullptr) throw DoesNotCompile("the map is of strings");
    names[*type] = *name;
  }
  in.enter([&] { return in.graph().gradient_override_map(names); });
  return {};
}

Value custom(Interpreter&, const Args& args) {
  const std::string function = args.text("function");
  const std::vector<Tensor> xs = args.tensors("inputs");
  const auto variable = args.optional_variable("variable");
  if (function == "log1pexp") {
    return custom_gradient([](const Tensor& x) {
      const Tensor e = exp(x);
      return std::pair(log(1.0 + e),
                       [e](const Tensor& dy) { return dy * (1.0 - 1.0 / (1.0 + e)); });
    })(xs.at(0));
  }
  if (function == "product_and_sum") {
    const auto both = custom_gradient([](const Tensor& x, const Tensor& y) {
      return std::pair(std::vector<Tensor>{x * y, x + y}, [](const std::vector<Tensor>& dys) {
        return std::vector<OptionalGradient>{Gradient(2.0 * dys[0] + dys[1]), std::nullopt};
      });
    });
    const std::vector<Tensor> ys = both(xs.at(0), xs.at(1));
    return List(ys.begin(), ys.end());
  }
  const auto plain = [](const Tensor& dy) { return dy; };
  if (function == "scaled") {
    return custom_gradient([&](const Tensor& x) {
      return std::pair(x * *variable, [](const Tensor& dy, const std::vector<Variable>& variables) {
        return std::pair(3.0 * dy, std::vector<Tensor>(variables.size(), 5.0 * dy));
      });
    })(xs.at(0));
  }
  if (function == "blind") {
    return custom_gradient([&](const Tensor& x) { return std::pair(x * *variable, plain); })(
        xs.at(0));
  }
  if (function == "maker") {
    return custom_gradient([&](const Tensor& x) {
      return std::pair(x * get_variable("made", Shape{2}), plain);
    })(xs.at(0));
  }
  throw BadProgram("no such function: " + function);
}

}  // namespace

void add_gradient_handlers(HandlerTable& table) {
  static const RegisterGradient golden_seven("GoldenSeven", times_seven);
  table["gradients"] = gradients_of;
  table["IndexedSlices"] = indexed_slices;
  table["enter_gradient_override_map"] = enter_gradient_override_map;
  table["register_gradient"] = [](Interpreter&, const Args& args) -> Value {
    RegisterGradient(args.text("name"), times_seven);
    return {};
  };
  table["custom_gradient"] = custom;
  table["floor"] = unary<floor>;
  table["is_nan"] = unary<is_nan>;
  table["rsqrt"] = unary<rsqrt>;
  table["log1p"] = unary<log1p>;
  table["expm1"] = unary<expm1>;
  table["reciprocal"] = unary<reciprocal>;
  table["sin"] = unary<sin>;
  table["sign"] = unary<sign>;
  table["squared_difference"] = binary<squared_difference>;
  table["floordiv"] = binary<floordiv>;
  table["floormod"] = binary<floormod>;
  table["unstack"] = [](Interpreter&, const Args& args) -> Value {
    std::optional<int> num;
    if (const auto given = args.optional_integer("num")) num = static_cast<int>(*given);
    const std::vector<Tensor> parts =
        unstack(args.operand("value"), num,
                {.axis = static_cast<int>(args.integer("axis")), .name = args.text("name")});
    return List(parts.begin(), parts.end());
  };
  table["identity_n"] = [](Interpreter&, const Args& args) -> Value {
    const std::vector<Tensor> same = identity_n(args.tensors("input"), {.name = args.text("name")});
    return List(same.begin(), same.end());
  };
}

}  // namespace towerflow::golden

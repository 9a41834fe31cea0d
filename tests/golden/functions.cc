#include "tests/golden/functions.h"

#include "ops/math/binary.h"
#include "ops/math/l2_loss.h"
#include "ops/nn/activations.h"
#include "ops/nn/relu.h"
#include "ops/variables/initializers.h"

namespace towerflow::golden {

Regularizer regularizer_of(const Args& args, const char* key) {
  const auto name = args.optional_text(key);
  if (!name) return nullptr;
  if (*name == "none") return [](const Variable&) -> std::optional<Tensor> { return std::nullopt; };
  if (*name != "l2") throw BadProgram("no regularizer " + *name);
  return [](const Variable& v) -> std::optional<Tensor> { return 0.25 * nn::l2_loss(v); };
}

CustomGetter custom_getter_of(const Args& args) {
  const auto kind = args.optional_text("custom_getter");
  if (!kind) return nullptr;
  if (*kind == "suffixed") {
    return
        [](const VariableGetter& getter, const std::string& name, const std::optional<Shape>& shape,
           const GetVariableOptions& options) { return getter(name + "_x", shape, options); };
  }
  if (*kind != "frozen" && *kind != "found_or_made") throw BadProgram("no custom getter " + *kind);
  return
      [frozen = *kind == "frozen"](const VariableGetter& getter, const std::string& name,
                                   const std::optional<Shape>& shape, GetVariableOptions options) {
        if (frozen) {
          options.trainable = false;
        } else {
          options.reuse = AUTO_REUSE;
        }
        return getter(name, shape, options);
      };
}

Partitioner partitioner_of(const Args& args) {
  if (args.value("partitioner").none()) return nullptr;
  const List& list = args.list("partitioner");
  const auto number = [&](std::size_t i) {
    return static_cast<int>(*list.at(i).get_if<std::int64_t>());
  };
  const std::string kind = *list.at(0).get_if<std::string>();
  if (kind == "fixed") return fixed_size_partitioner(number(1), number(2));
  if (kind == "axis_size") return variable_axis_size_partitioner(number(1), {.axis = number(2)});
  if (kind == "min_max") {
    return min_max_variable_partitioner(
        {.max_partitions = number(1), .axis = number(2), .min_slice_size = 8});
  }
  const auto all = [](int parts, std::size_t more) {
    return [=](const Shape& shape, DType) { return std::vector<int>(shape.rank() + more, parts); };
  };
  if (kind == "both_axes") return all(2, 0);
  if (kind == "no_part") return all(0, 0);
  if (kind == "other_rank") return all(1, 1);
  throw BadProgram("no partitioner " + kind);
}

Constraint constraint_of(const Args& args, const char* key) {
  const auto name = args.optional_text(key);
  if (!name) return nullptr;
  if (*name != "halved") throw BadProgram("no constraint " + *name);
  return [](const Tensor& w) { return w * 0.5; };
}

DeviceFunction device_function_of(const Args& args) {
  const std::string name = args.text("function");
  if (name == "matmul_on_second") {
    return [](const Operation& op) { return op.type() == "MatMul" ? "/gpu:1" : op.device(); };
  }
  if (name == "variables_on_ps") {
    return [](const Operation& op) {
      return op.type() == "VariableV2" ? "/job:ps/task:0" : "/job:worker";
    };
  }
  if (name == "nothing") return [](const Operation&) { return ""; };
  if (name == "cpu") return [](const Operation&) { return "/cpu:0"; };
  throw BadProgram("no device function " + name);
}

Reuse reuse_of(const Value& value) {
  if (value.none()) return None;
  if (const auto* flag = value.get_if<bool>()) return *flag;
  const auto* text = value.get_if<std::string>();
  if (text != nullptr && *text == "AUTO_REUSE") return AUTO_REUSE;
  throw BadProgram("reuse should be a bool, None or \"AUTO_REUSE\"");
}

std::optional<layers::Activation> activation_of(const Args& args, const char* key) {
  if (!args.has(key)) return std::nullopt;
  const auto name = args.optional_text(key);
  if (!name) return layers::Activation();
  if (*name == "relu") return layers::Activation(nn::relu);
  if (*name == "tanh") return layers::Activation(nn::tanh);
  if (*name == "sigmoid") return layers::Activation(nn::sigmoid);
  if (*name == "softplus") return layers::Activation(nn::softplus);
  if (*name == "elu") return layers::Activation(nn::elu);
  throw BadProgram("no activation " + *name);
}

std::optional<Initializer> initializer_argument(const Args& args, const char* key) {
  if (args.value(key).none()) return std::nullopt;
  const auto* initializer = args.value(key).get_if<Initializer>();
  if (initializer == nullptr) throw BadProgram(std::string(key) + " is no initializer");
  return *initializer;
}

nn::Extents extents_of(const Value& value) {
  if (const auto* number = value.get_if<std::int64_t>()) return static_cast<int>(*number);
  if (value.list() == nullptr) throw DoesNotCompile("sizes that are no integers");
  std::vector<int> sizes;
  for (const Value& item : *value.list()) {
    const auto* size = item.get_if<std::int64_t>();
    if (size == nullptr) throw DoesNotCompile("sizes that are no integers");
    sizes.push_back(static_cast<int>(*size));
  }
  return nn::Extents(sizes);
}

TemplateFunction template_function_of(const Args& args) {
  const std::string name = args.text("function");
  if (name == "scaled") {
    return [](const Tensor& x) {
      return x * get_variable("scale", Shape{}, {.initializer = constant_initializer(2.0)});
    };
  }
  if (name == "plain") return [](const Tensor& x) { return x + Variable(1.0, {.name = "bias"}); };
  throw BadProgram("no template function " + name);
}

}  // namespace towerflow::golden

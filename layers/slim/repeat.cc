#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "layers/slim/slim.h"
#include "layers/slim/variables.h"
#include "ops/array/indexed_slices.h"

namespace towerflow::slim {
namespace {

/// Calls `layer(x, i, scope)` for each i below `count` in a scope around them.
template <class Layer>
Tensor in_turn(const Operand& inputs, int count, const char* around, const char* layer_name,
               const Args& args, Layer layer, Site site) {
  const DefaultGraphGuard graph(graph_of(inputs));
  Args outer;
  outer.scope = args.scope;
  const VariableScopeGuard scope = open_layer_scope(outer, around, {}, site);
  Tensor x = inputs.tensor() != nullptr ? *inputs.tensor() : convert_to_tensor(inputs, {}, site);
  for (int i = 0; i < count; ++i) {
    x = layer(x, i, fmt::format("{}_{}", args.scope.or_default(layer_name), i + 1));
  }
  return x;
}

/// Returns the arguments with another scope.
Args with_scope(Args args, const std::string& scope) {
  args.scope = scope;
  return args;
}

}  // namespace

Tensor repeat(const Operand& inputs, int repetitions, Conv2DFunction layer, int num_outputs,
              const nn::Extents& kernel_size, Args args, Site site) {
  const auto call = [&](const Tensor& x, int, const std::string& scope) {
    return layer(Operand(x, site), num_outputs, kernel_size, with_scope(args, scope), site);
  };
  return in_turn(inputs, repetitions, "Repeat", "convolution2d", args, call, site);
}

Tensor repeat(const Operand& inputs, int repetitions, FullyConnectedFunction layer, int num_outputs,
              Args args, Site site) {
  const auto call = [&](const Tensor& x, int, const std::string& scope) {
    return layer(Operand(x, site), num_outputs, with_scope(args, scope), site);
  };
  return in_turn(inputs, repetitions, "Repeat", "fully_connected", args, call, site);
}

Tensor repeat(const Operand& inputs, int repetitions, const ScopedLayer& layer, Args args,
              Site site) {
  const auto call = [&](const Tensor& x, int, const std::string& scope) { return layer(x, scope); };
  return in_turn(inputs, repetitions, "Repeat", "repeat", args, call, site);
}

Tensor stack(const Operand& inputs, Conv2DFunction layer,
             std::initializer_list<ConvSize> stack_args, Args args, Site site) {
  const auto call = [&](const Tensor& x, int i, const std::string& scope) {
    const ConvSize& size = stack_args.begin()[i];
    return layer(Operand(x, site), size.num_outputs, size.kernel_size, with_scope(args, scope),
                 site);
  };
  return in_turn(inputs, static_cast<int>(stack_args.size()), "Stack", "convolution2d", args, call,
                 site);
}

Tensor stack(const Operand& inputs, FullyConnectedFunction layer,
             std::initializer_list<int> stack_args, Args args, Site site) {
  const auto call = [&](const Tensor& x, int i, const std::string& scope) {
    return layer(Operand(x, site), stack_args.begin()[i], with_scope(args, scope), site);
  };
  return in_turn(inputs, static_cast<int>(stack_args.size()), "Stack", "fully_connected", args,
                 call, site);
}

}  // namespace towerflow::slim

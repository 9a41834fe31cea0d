// Layers and losses of neural networks.
#include "ops/nn/activations.h"
#include "ops/nn/cross_entropy.h"
#include "ops/nn/dropout.h"
#include "ops/nn/in_top_k.h"
#include "ops/nn/l2_normalize.h"
#include "ops/nn/relu.h"
#include "tests/golden/handlers.h"

namespace towerflow::golden {
namespace {

template <auto kFunction>
Value activation_of(Interpreter&, const Args& args) {
  return kFunction(args.operand("features"), {.name = args.text("name")}, Site::current());
}

void add_activations(HandlerTable& table) {
  table["relu"] = activation_of<nn::relu>;
  table["elu"] = activation_of<nn::elu>;
  table["selu"] = activation_of<nn::selu>;
  table["softplus"] = activation_of<nn::softplus>;
  table["softsign"] = activation_of<nn::softsign>;
  table["relu6"] = activation_of<nn::relu6>;
  table["leaky_relu"] = [](Interpreter&, const Args& args) -> Value {
    return nn::leaky_relu(args.operand("features"), static_cast<float>(args.number("alpha", 0.2)),
                          {.name = args.text("name")});
  };
}

void add_layers(HandlerTable& table) {
  table["dropout"] = [](Interpreter&, const Args& args) -> Value {
    nn::DropoutOptions options{.seed = args.optional_integer("seed"), .name = args.text("name")};
    if (!args.value("noise_shape").none()) options.noise_shape = args.operand("noise_shape");
    return nn::dropout(args.operand("x"), args.operand("keep_prob"), options);
  };
  table["l2_normalize"] = [](Interpreter&, const Args& args) -> Value {
    return nn::l2_normalize(args.operand("x"), args.axis(),
                            {.epsilon = args.number("epsilon", 1e-12), .name = args.text("name")});
  };
}

}  // namespace

void add_nn_handlers(HandlerTable& table) {
  add_activations(table);
  add_layers(table);
  table["in_top_k"] = [](Interpreter&, const Args& args) -> Value {
    return nn::in_top_k(args.operand("predictions"), args.operand("targets"), args.operand("k"),
                        {.name = args.text("name")});
  };
  table["sparse_softmax_cross_entropy_with_logits"] = [](Interpreter&, const Args& args) -> Value {
    return nn::sparse_softmax_cross_entropy_with_logits({.labels = args.operand("labels"),
                                                         .logits = args.operand("logits"),
                                                         .name = args.text("name")});
  };
}

}  // namespace towerflow::golden

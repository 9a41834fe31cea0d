// Layers and losses of neural networks.
#include "ops/nn/bias_add.h"
#include "ops/nn/conv2d.h"
#include "ops/nn/cross_entropy.h"
#include "ops/nn/in_top_k.h"
#include "ops/nn/pool.h"
#include "ops/nn/relu.h"
#include "ops/nn/softmax.h"
#include "tests/golden/handlers.h"

namespace towerflow::golden {
namespace {

std::vector<int> extents(const Args& args, const char* name) {
  std::vector<int> sizes;
  for (const Value& size : args.list(name)) {
    sizes.push_back(static_cast<int>(*size.get_if<std::int64_t>()));
  }
  return sizes;
}

}  // namespace

void add_nn_handlers(HandlerTable& table) {
  table["relu"] = [](Interpreter&, const Args& args) -> Value {
    return nn::relu(args.operand("features"), {.name = args.text("name")});
  };
  table["bias_add"] = [](Interpreter&, const Args& args) -> Value {
    return nn::bias_add(args.operand("value"), args.operand("bias"), {.name = args.text("name")});
  };
  table["conv2d"] = [](Interpreter&, const Args& args) -> Value {
    nn::Conv2DOptions options;
    options.name = args.text("name");
    return nn::conv2d(args.operand("input"), args.operand("filter"), extents(args, "strides"),
                      args.text("padding"), options);
  };
  table["conv2d_transpose"] = [](Interpreter&, const Args& args) -> Value {
    nn::Conv2DOptions options;
    options.name = args.text("name");
    return nn::conv2d_transpose(args.operand("value"), args.operand("filter"),
                                args.operand("output_shape"), extents(args, "strides"),
                                args.text("padding", "SAME"), options);
  };
  table["max_pool"] = [](Interpreter&, const Args& args) -> Value {
    return nn::max_pool(args.operand("value"), extents(args, "ksize"), extents(args, "strides"),
                        args.text("padding"), {.name = args.text("name")});
  };
  table["softmax"] = [](Interpreter&, const Args& args) -> Value {
    if (args.integer("axis", -1) != -1) throw BadProgram("softmax is along the last dimension");
    return nn::softmax(args.operand("logits"), {.name = args.text("name")});
  };
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

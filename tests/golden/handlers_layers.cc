// What the models are made of besides plain ops: losses, normalisation, summaries, objects.
#include "ops/nn/batch_normalization.h"
#include "ops/nn/sigmoid_cross_entropy.h"
#include "tests/golden/handlers.h"
#include "train/summary/merge.h"
#include "train/summary/scalar.h"

namespace towerflow::golden {
namespace {

Value moments_of(Interpreter&, const Args& args) {
  std::vector<int> axes;
  for (const Value& axis : args.list("axes")) {
    axes.push_back(static_cast<int>(*axis.get_if<std::int64_t>()));
  }
  const auto [mean, variance] = nn::moments(
      args.operand("x"), axes, {.name = args.text("name"), .keepdims = args.flag("keepdims")});
  return List{mean, variance};
}

Value batch_normalized(Interpreter&, const Args& args) {
  const auto optional = [&](const char* name) {
    return args.value(name).none() ? std::nullopt : std::optional(args.operand(name));
  };
  return nn::batch_normalization(args.operand("x"), args.operand("mean"), args.operand("variance"),
                                 optional("offset"), optional("scale"),
                                 args.operand("variance_epsilon"), {.name = args.text("name")});
}

}  // namespace

void add_layer_handlers(HandlerTable& table) {
  table["moments"] = moments_of;
  table["batch_normalization"] = batch_normalized;
  table["sigmoid_cross_entropy_with_logits"] = [](Interpreter&, const Args& args) -> Value {
    nn::SigmoidCrossEntropyOptions options;
    if (!args.value("labels").none()) options.labels = args.operand("labels");
    if (!args.value("logits").none()) options.logits = args.operand("logits");
    options.name = args.text("name");
    return nn::sigmoid_cross_entropy_with_logits(options);
  };
  table["summary_scalar"] = [](Interpreter&, const Args& args) -> Value {
    return summary::scalar(args.text("name"), args.operand("tensor"),
                           {.collections = args.texts("collections")});
  };
  table["summary_merge"] = [](Interpreter&, const Args& args) -> Value {
    return summary::merge(
        args.tensors("inputs"),
        {.collections = args.texts("collections").value_or(std::vector<std::string>{}),
         .name = args.text("name")});
  };
  table["plain_object"] = [](Interpreter&, const Args&) -> Value {
    return Object{"Plain", std::any()};
  };
}

}  // namespace towerflow::golden

// Layers of TF-Slim.
#include "layers/slim/slim.h"
#include "tests/golden/functions.h"
#include "tests/golden/handlers.h"

namespace towerflow::golden {
namespace {

using SlimArgs = slim::Args;

void set_texts(const Args& args, SlimArgs& given) {
  if (args.has("padding")) given.padding = args.text("padding");
  if (const auto scope = args.optional_text("scope")) given.scope = *scope;
}

void set_weights(const Args& args, SlimArgs& given) {
  if (const auto activation = activation_of(args, "activation_fn")) {
    given.activation_fn = *activation;
  }
  if (args.has("normalizer_fn")) {
    given.normalizer_fn = args.value("normalizer_fn").none() ? slim::Normalizer()
                                                             : slim::Normalizer(slim::batch_norm);
  }
  if (const auto made = initializer_argument(args, "weights_initializer")) {
    given.weights_initializer = *made;
  }
  if (args.has("weights_regularizer")) {
    given.weights_regularizer = regularizer_of(args, "weights_regularizer");
  }
  if (args.has("biases_initializer")) {
    given.biases_initializer = initializer_argument(args, "biases_initializer");
  }
}

/// Returns the arguments of a call that slim takes by name.
SlimArgs slim_args(const Args& args) {
  SlimArgs given;
  set_texts(args, given);
  set_weights(args, given);
  if (args.has("stride")) given.stride = extents_of(args.value("stride"));
  if (args.has("rate")) given.rate = extents_of(args.value("rate"));
  if (args.has("reuse")) given.reuse = reuse_of(args.value("reuse"));
  if (args.has("trainable")) given.trainable = args.flag("trainable");
  if (args.has("decay")) given.decay = args.number("decay");
  if (args.has("center")) given.center = args.flag("center");
  if (args.has("scale")) given.scale = args.flag("scale");
  if (args.has("epsilon")) given.epsilon = args.number("epsilon");
  if (args.has("is_training")) given.is_training = layers::Training(args.flag("is_training"));
  if (args.has("keep_prob")) given.keep_prob = args.number("keep_prob");
  if (args.has("seed")) given.seed = args.integer("seed");
  if (args.has("on_value")) given.on_value = args.number("on_value");
  if (args.has("off_value")) given.off_value = args.number("off_value");
  return given;
}

using SlimCall = Tensor (*)(const Operand&, SlimArgs, Site);
using SlimPool = Tensor (*)(const Operand&, const nn::Extents&, SlimArgs, Site);

Handler plain(SlimCall function, const char* inputs = "inputs") {
  return [=](Interpreter&, const Args& args) -> Value {
    return function(args.operand(inputs), slim_args(args), Site::current());
  };
}

Handler pool(SlimPool function) {
  return [=](Interpreter&, const Args& args) -> Value {
    return function(args.operand("inputs"), extents_of(args.value("kernel_size")), slim_args(args),
                    Site::current());
  };
}

int outputs(const Args& args) { return static_cast<int>(args.integer("num_outputs")); }

}  // namespace

void add_slim_handlers(HandlerTable& table) {
  table["slim_conv2d"] = [](Interpreter&, const Args& args) -> Value {
    return slim::conv2d(args.operand("inputs"), outputs(args),
                        extents_of(args.value("kernel_size")), slim_args(args));
  };
  table["slim_fully_connected"] = [](Interpreter&, const Args& args) -> Value {
    return slim::fully_connected(args.operand("inputs"), outputs(args), slim_args(args));
  };
  table["slim_max_pool2d"] = pool(slim::max_pool2d);
  table["slim_avg_pool2d"] = pool(slim::avg_pool2d);
  table["slim_batch_norm"] = plain(slim::batch_norm);
  table["slim_dropout"] = plain(slim::dropout);
  table["slim_flatten"] = plain(slim::flatten);
  table["slim_softmax"] = plain(slim::softmax, "logits");
  table["slim_one_hot_encoding"] = [](Interpreter&, const Args& args) -> Value {
    return slim::one_hot_encoding(args.operand("labels"),
                                  static_cast<int>(args.integer("num_classes")), slim_args(args));
  };
}

}  // namespace towerflow::golden

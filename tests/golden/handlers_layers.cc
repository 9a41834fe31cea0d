// Losses, normalization, clipping and learning rate schedules.
#include "ops/math/clip.h"
#include "ops/nn/batch_normalization.h"
#include "ops/nn/sigmoid_cross_entropy.h"
#include "tests/golden/handlers.h"
#include "train/schedules.h"

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

std::vector<OptionalGradient> gradients_of(const Args& args) {
  std::vector<OptionalGradient> list;
  for (const Value& item : args.list("t_list")) list.push_back(gradient_of(item));
  return list;
}

/// Returns the handler of a learning rate schedule that decays by a factor.
template <class Decay>
Handler decayed(Decay decay) {
  return [decay](Interpreter&, const Args& args) -> Value {
    return decay(args.operand("learning_rate"), args.operand("global_step"),
                 args.operand("decay_steps"), args.operand("decay_rate"),
                 {.staircase = args.flag("staircase"), .name = args.text("name")}, Site::current());
  };
}

/// Clips a tensor, value or slices with `clip`, a generic lambda.
template <class Clip>
Value clipped(const Args& args, Clip clip) {
  const Value& t = args.value("t");
  if (const auto* slices = t.get_if<IndexedSlices>()) {
    return Value::of(clip(Gradient(*slices)));
  }
  return clip(to_operand(t));
}

Value clipped_by_value(Interpreter&, const Args& args) {
  return clipped(args, [&](const auto& t) {
    return clip_by_value(t, args.operand("clip_value_min"), args.operand("clip_value_max"),
                         {.name = args.text("name")});
  });
}

Value clipped_by_norm(Interpreter&, const Args& args) {
  ClipByNormOptions options;
  options.name = args.text("name");
  if (!args.value("axes").none()) {
    std::vector<int> axes;
    for (const Value& axis : args.list("axes")) {
      axes.push_back(static_cast<int>(*axis.get_if<std::int64_t>()));
    }
    options.axes = axes;
  }
  return clipped(
      args, [&](const auto& t) { return clip_by_norm(t, args.operand("clip_norm"), options); });
}

Value clipped_by_global_norm(Interpreter&, const Args& args) {
  ClipByGlobalNormOptions options;
  options.name = args.text("name");
  if (!args.value("use_norm").none()) options.use_norm = args.tensor("use_norm");
  const auto [list, norm] =
      clip_by_global_norm(gradients_of(args), args.operand("clip_norm"), options);
  List items;
  for (const OptionalGradient& gradient : list) items.push_back(Value::of(gradient));
  return List{items, norm};
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
  table["clip_by_value"] = clipped_by_value;
  table["clip_by_norm"] = clipped_by_norm;
  table["clip_by_global_norm"] = clipped_by_global_norm;
  table["global_norm"] = [](Interpreter&, const Args& args) -> Value {
    return global_norm(gradients_of(args), {.name = args.text("name")});
  };
  table["exponential_decay"] = decayed(train::exponential_decay);
  table["natural_exp_decay"] = decayed(train::natural_exp_decay);
  table["inverse_time_decay"] = decayed(train::inverse_time_decay);
  table["polynomial_decay"] = [](Interpreter&, const Args& args) -> Value {
    train::PolynomialDecayOptions options;
    if (args.has("end_learning_rate"))
      options.end_learning_rate = args.operand("end_learning_rate");
    if (args.has("power")) options.power = args.operand("power");
    options.cycle = args.flag("cycle");
    options.name = args.text("name");
    return train::polynomial_decay(args.operand("learning_rate"), args.operand("global_step"),
                                   args.operand("decay_steps"), options);
  };
  table["cosine_decay"] = [](Interpreter&, const Args& args) -> Value {
    return train::cosine_decay(args.operand("learning_rate"), args.operand("global_step"),
                               args.operand("decay_steps"),
                               {.alpha = args.number("alpha", 0.0), .name = args.text("name")});
  };
  table["cosine_decay_restarts"] = [](Interpreter&, const Args& args) -> Value {
    train::CosineDecayRestartsOptions options;
    if (args.has("t_mul")) options.t_mul = args.operand("t_mul");
    if (args.has("m_mul")) options.m_mul = args.operand("m_mul");
    if (args.has("alpha")) options.alpha = args.operand("alpha");
    options.name = args.text("name");
    return train::cosine_decay_restarts(args.operand("learning_rate"), args.operand("global_step"),
                                        args.operand("first_decay_steps"), options);
  };
  table["linear_cosine_decay"] = [](Interpreter&, const Args& args) -> Value {
    train::LinearCosineDecayOptions options;
    if (args.has("num_periods")) options.num_periods = args.operand("num_periods");
    if (args.has("alpha")) options.alpha = args.operand("alpha");
    if (args.has("beta")) options.beta = args.operand("beta");
    options.name = args.text("name");
    return train::linear_cosine_decay(args.operand("learning_rate"), args.operand("global_step"),
                                      args.operand("decay_steps"), options);
  };
  table["noisy_linear_cosine_decay"] = [](Interpreter&, const Args& args) -> Value {
    train::NoisyLinearCosineDecayOptions options;
    if (args.has("initial_variance")) options.initial_variance = args.operand("initial_variance");
    if (args.has("variance_decay")) options.variance_decay = args.operand("variance_decay");
    if (args.has("num_periods")) options.num_periods = args.operand("num_periods");
    if (args.has("alpha")) options.alpha = args.operand("alpha");
    if (args.has("beta")) options.beta = args.operand("beta");
    options.name = args.text("name");
    return train::noisy_linear_cosine_decay(args.operand("learning_rate"),
                                            args.operand("global_step"),
                                            args.operand("decay_steps"), options);
  };
  table["plain_object"] = [](Interpreter&, const Args&) -> Value {
    return Object{"Plain", std::any()};
  };
}

}  // namespace towerflow::golden

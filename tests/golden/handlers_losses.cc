// tf::losses.
#include "ops/math/binary.h"
#include "ops/nn/loss_collections.h"
#include "ops/nn/losses.h"
#include "tests/golden/handlers.h"

namespace towerflow::golden {
namespace {

losses::Reduction reduction_of(const std::string& name) {
  using losses::Reduction;
  static const std::map<std::string, Reduction> known = {
      {"none", Reduction::NONE},
      {"weighted_sum", Reduction::SUM},
      {"weighted_sum_over_batch_size", Reduction::SUM_OVER_BATCH_SIZE},
      {"weighted_mean", Reduction::MEAN},
      {"weighted_sum_by_nonzero_weights", Reduction::SUM_BY_NONZERO_WEIGHTS}};
  const auto found = known.find(name);
  if (found == known.end()) throw DoesNotCompile("no reduction " + name);
  return found->second;
}

template <class Options = losses::LossOptions>
Options options_of(const Args& args) {
  Options options;
  if (args.has("weights")) options.weights = args.operand("weights");
  options.scope = args.optional_text("scope");
  if (args.has("loss_collection")) options.loss_collection = args.optional_text("loss_collection");
  if (args.has("reduction")) options.reduction = reduction_of(args.text("reduction"));
  return options;
}

using Plain = Tensor (*)(const Operand&, const Operand&, losses::LossOptions, Site);

/// Returns the handler of a loss with two operands and only the common options.
template <Plain function>
Handler loss_handler(const char* labels, const char* predictions) {
  return [=](Interpreter&, const Args& args) -> Value {
    return function(args.operand(labels), args.operand(predictions), options_of(args),
                    Site::current());
  };
}

using Smoothed = Tensor (*)(const Operand&, const Operand&, losses::CrossEntropyLossOptions, Site);

template <Smoothed function>
Handler smoothed(const char* labels) {
  return [=](Interpreter&, const Args& args) -> Value {
    auto options = options_of<losses::CrossEntropyLossOptions>(args);
    options.label_smoothing = args.number("label_smoothing");
    return function(args.operand(labels), args.operand("logits"), options, Site::current());
  };
}

Value listed(const Collected<Tensor>& tensors) { return List(tensors.begin(), tensors.end()); }

void add_collection_losses(HandlerTable& table) {
  table["add_loss"] = [](Interpreter&, const Args& args) -> Value {
    const Tensor loss = args.tensor("loss");
    if (args.has("loss_collection")) {
      losses::add_loss(loss, args.optional_text("loss_collection"));
    } else {
      losses::add_loss(loss);
    }
    return {};
  };
  table["get_losses"] = [](Interpreter&, const Args& args) -> Value {
    return listed(losses::get_losses(args.optional_text("scope"),
                                     args.text("loss_collection", GraphKeys::LOSSES)));
  };
  table["get_regularization_losses"] = [](Interpreter&, const Args& args) -> Value {
    return listed(losses::get_regularization_losses(args.optional_text("scope")));
  };
  table["get_regularization_loss"] = [](Interpreter&, const Args& args) -> Value {
    return losses::get_regularization_loss(
        {.scope = args.optional_text("scope"),
         .name = args.text("name", "total_regularization_loss")});
  };
  table["get_total_loss"] = [](Interpreter&, const Args& args) -> Value {
    return losses::get_total_loss(
        {.add_regularization_losses = args.flag("add_regularization_losses", true),
         .name = args.text("name", "total_loss"),
         .scope = args.optional_text("scope")});
  };
}

}  // namespace

void add_loss_handlers(HandlerTable& table) {
  table["absolute_difference"] = loss_handler<losses::absolute_difference>("labels", "predictions");
  table["mean_squared_error"] = loss_handler<losses::mean_squared_error>("labels", "predictions");
  table["hinge_loss"] = loss_handler<losses::hinge_loss>("labels", "logits");
  table["sparse_softmax_cross_entropy"] =
      loss_handler<losses::sparse_softmax_cross_entropy>("labels", "logits");
  table["sigmoid_cross_entropy"] = smoothed<losses::sigmoid_cross_entropy>("multi_class_labels");
  table["softmax_cross_entropy"] = smoothed<losses::softmax_cross_entropy>("onehot_labels");
  table["cosine_distance"] = [](Interpreter&, const Args& args) -> Value {
    return losses::cosine_distance(args.operand("labels"), args.operand("predictions"),
                                   static_cast<int>(args.integer("axis")), options_of(args));
  };
  table["huber_loss"] = [](Interpreter&, const Args& args) -> Value {
    auto options = options_of<losses::HuberLossOptions>(args);
    options.delta = args.number("delta", 1.0);
    return losses::huber_loss(args.operand("labels"), args.operand("predictions"), options);
  };
  table["log_loss"] = [](Interpreter&, const Args& args) -> Value {
    auto options = options_of<losses::LogLossOptions>(args);
    options.epsilon = args.number("epsilon", 1e-7);
    return losses::log_loss(args.operand("labels"), args.operand("predictions"), options);
  };
  table["compute_weighted_loss"] = [](Interpreter&, const Args& args) -> Value {
    return losses::compute_weighted_loss(args.operand("losses"), options_of(args));
  };
  add_collection_losses(table);
  table["div_no_nan"] = [](Interpreter&, const Args& args) -> Value {
    return div_no_nan(args.operand("x"), args.operand("y"), {.name = args.text("name")});
  };
}

}  // namespace towerflow::golden

// Plain calls of neural networks: layers, normalization, losses, samples.
#include "ops/nn/batch_normalization.h"
#include "ops/nn/bias_add.h"
#include "ops/nn/count_losses.h"
#include "ops/nn/embedding_lookup.h"
#include "ops/nn/fused_batch_norm.h"
#include "ops/nn/layers.h"
#include "ops/nn/losses.h"
#include "ops/nn/lrn.h"
#include "ops/nn/soft_cross_entropy.h"
#include "ops/nn/softmax.h"
#include "ops/nn/statistics.h"
#include "ops/random/random_ops.h"
#include "tests/golden/call.h"

namespace towerflow::golden {
namespace {

/// Returns an argument that may be None.
std::optional<Operand> optional_operand(const Args& args, const char* name) {
  if (args.value(name).none()) return std::nullopt;
  return args.operand(name);
}

void add_softmaxes(HandlerTable& table) {
  add_call(table, "softmax", [](const Args& a) {
    using O = nn::SoftmaxOptions;
    return nn::softmax(a.operand("logits"), with<O>(a, "axis", &O::axis));
  });
  add_call(table, "log_softmax", [](const Args& a) {
    using O = nn::SoftmaxOptions;
    return nn::log_softmax(a.operand("logits"), with<O>(a, "axis", &O::axis));
  });
  add_call(table, "softmax_cross_entropy_with_logits_v2", [](const Args& a) {
    using O = nn::SoftmaxCrossEntropyOptions;
    return nn::softmax_cross_entropy_with_logits_v2(
        with<O>(a, "labels", &O::labels, "logits", &O::logits, "axis", &O::axis));
  });
  add_call(table, "softmax_cross_entropy_with_logits", [](const Args& a) {
    using O = nn::SoftmaxCrossEntropyOptions;
    return nn::softmax_cross_entropy_with_logits(
        with<O>(a, "labels", &O::labels, "logits", &O::logits, "dim", &O::dim));
  });
  add_call(table, "weighted_cross_entropy_with_logits", [](const Args& a) {
    return nn::weighted_cross_entropy_with_logits(a.operand("labels"), a.operand("logits"),
                                                  a.operand("pos_weight"),
                                                  with<nn::WeightedCrossEntropyOptions>(a));
  });
  add_call(table, "log_poisson_loss", [](const Args& a) {
    using O = nn::LogPoissonLossOptions;
    return nn::log_poisson_loss(a.operand("targets"), a.operand("log_input"),
                                with<O>(a, "compute_full_loss", &O::compute_full_loss));
  });
  add_call(table, "mean_pairwise_squared_error", [](const Args& a) {
    using O = losses::PairwiseLossOptions;
    return losses::mean_pairwise_squared_error(
        a.operand("labels"), a.operand("predictions"),
        with<O>(a, "weights", &O::weights, "scope", &O::scope));
  });
}

void add_layer_calls(HandlerTable& table) {
  add_call(table, "bias_add", [](const Args& a) {
    using O = nn::BiasAddOptions;
    return nn::bias_add(a.operand("value"), a.operand("bias"),
                        with<O>(a, "data_format", &O::data_format));
  });
  add_call(table, "xw_plus_b", [](const Args& a) {
    return nn::xw_plus_b(a.operand("x"), a.operand("weights"), a.operand("biases"),
                         with<nn::LayerOptions>(a));
  });
  add_call(table, "relu_layer", [](const Args& a) {
    return nn::relu_layer(a.operand("x"), a.operand("weights"), a.operand("biases"),
                          with<nn::LayerOptions>(a));
  });
  add_call(table, "crelu", [](const Args& a) {
    using O = nn::CReluOptions;
    return nn::crelu(a.operand("features"), with<O>(a, "axis", &O::axis));
  });
  add_call(table, "zero_fraction", [](const Args& a) {
    return nn::zero_fraction(a.operand("value"), with<nn::ZeroFractionOptions>(a));
  });
  add_call(table, "lrn", [](const Args& a) {
    using O = nn::LrnOptions;
    return nn::lrn(a.operand("input"), static_cast<int>(a.integer("depth_radius", 5)),
                   with<O>(a, "bias", &O::bias, "alpha", &O::alpha, "beta", &O::beta));
  });
  add_call(table, "embedding_lookup", [](const Args& a) {
    using O = nn::EmbeddingLookupOptions;
    return nn::embedding_lookup(
        a.operand("params"), a.operand("ids"),
        with<O>(a, "partition_strategy", &O::partition_strategy, "max_norm", &O::max_norm));
  });
}

void add_statistics(HandlerTable& table) {
  add_call(table, "fused_batch_norm", [](const Args& a) {
    using O = nn::FusedBatchNormOptions;
    const auto norm = nn::fused_batch_norm(
        a.operand("x"), a.operand("scale"), a.operand("offset"),
        with<O>(a, "mean", &O::mean, "variance", &O::variance, "epsilon", &O::epsilon,
                "data_format", &O::data_format, "is_training", &O::is_training,
                "exponential_avg_factor", &O::exponential_avg_factor));
    return List{norm.y, norm.running_mean, norm.running_var};
  });
  add_call(table, "weighted_moments", [](const Args& a) {
    using O = nn::MomentsOptions;
    const auto [mean, variance] =
        nn::weighted_moments(a.operand("x"), integers(a, "axes"), a.operand("frequency_weights"),
                             with<O>(a, "keep_dims", &O::keep_dims));
    return List{mean, variance};
  });
  add_call(table, "sufficient_statistics", [](const Args& a) {
    using O = nn::SufficientStatisticsOptions;
    const auto sums =
        nn::sufficient_statistics(a.operand("x"), integers(a, "axes"),
                                  with<O>(a, "shift", &O::shift, "keep_dims", &O::keep_dims));
    return List{sums.counts, sums.mean_ss, sums.variance_ss,
                sums.shift ? Value(*sums.shift) : Value()};
  });
  add_call(table, "normalize_moments", [](const Args& a) {
    const auto [mean, variance] =
        nn::normalize_moments(a.operand("counts"), a.operand("mean_ss"), a.operand("variance_ss"),
                              optional_operand(a, "shift"), with<nn::NormalizeMomentsOptions>(a));
    return List{mean, variance};
  });
}

void add_samples(HandlerTable& table) {
  add_call(table, "multinomial", [](const Args& a) {
    using O = MultinomialOptions;
    return multinomial(a.operand("logits"), a.operand("num_samples"),
                       with<O>(a, "seed", &O::seed, "output_dtype", &O::output_dtype));
  });
  add_call(table, "random_crop", [](const Args& a) {
    using O = RandomCropOptions;
    return random_crop(a.operand("value"), a.operand("size"), with<O>(a, "seed", &O::seed));
  });
}

}  // namespace

void add_nn_calls(HandlerTable& table) {
  add_softmaxes(table);
  add_layer_calls(table);
  add_statistics(table);
  add_samples(table);
}

}  // namespace towerflow::golden

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ops/random/candidate_sampler.h"

namespace towerflow::nn {

struct NceLossOptions {
  std::int64_t num_true = 1;                          ///< true classes of each row
  std::optional<SampledCandidates> sampled_values{};  ///< log_uniform_candidate_sampler if absent
  bool remove_accidental_hits = false;  ///< whether sampled classes that are true do not count
  std::string name = "nce_loss";
};

/// The noise-contrastive estimation loss: a sigmoid cross entropy that tells true classes from
/// `num_sampled` classes that are drawn, in place of all classes.
///
/// shapes   weights [num_classes, dim], biases [num_classes], labels [n, num_true], inputs [n, dim]
///          -> [n]
/// dtypes   weights, biases, inputs float32; labels integers
/// grads    weights, biases, inputs
/// errors   those of the sampler, embedding_lookup and matmul
/// source   tf.nn.nce_loss of a single table
Tensor nce_loss(const Operand& weights, const Operand& biases, const Operand& labels,
                const Operand& inputs, std::int64_t num_sampled, std::int64_t num_classes,
                NceLossOptions options = {}, Site site = Site::current());

struct SampledSoftmaxLossOptions {
  std::int64_t num_true = 1;
  std::optional<SampledCandidates> sampled_values{};
  bool remove_accidental_hits = true;
  std::string name = "sampled_softmax_loss";
  std::optional<std::int64_t> seed{};
};

/// The softmax cross entropy over the true classes and `num_sampled` classes that are drawn.
///
/// shapes, dtypes, grads, errors   as nce_loss
/// source   tf.nn.sampled_softmax_loss of a single table
Tensor sampled_softmax_loss(const Operand& weights, const Operand& biases, const Operand& labels,
                            const Operand& inputs, std::int64_t num_sampled,
                            std::int64_t num_classes, SampledSoftmaxLossOptions options = {},
                            Site site = Site::current());

}  // namespace towerflow::nn

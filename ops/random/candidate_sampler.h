#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow::nn::types {

/// Classes that a sampler has drawn, and how often each class is expected in a sample.
struct SampledCandidates {
  Tensor sampled_candidates;      ///< int64 [num_sampled]
  Tensor true_expected_count;     ///< float32 [batch, num_true]
  Tensor sampled_expected_count;  ///< float32 [num_sampled]
};

/// Where classes of a sample are true classes too.
struct AccidentalHits {
  Tensor indices;  ///< int32 [hits], rows of the batch
  Tensor ids;      ///< int64 [hits], positions in the sample
  Tensor weights;  ///< float32 [hits], the lowest finite number
};

}  // namespace towerflow::nn::types

namespace towerflow::nn {

struct CandidateSamplerOptions {
  std::optional<std::int64_t> seed{};
  std::string name{};
};

/// Draws classes of 0 .. range_max - 1, all with the same probability, or class k with probability
/// log((k + 2) / (k + 1)) / log(range_max + 1), the first ones the most often. With `unique`, draws
/// until `num_sampled` different classes are found. Random numbers are TensorFlow's, as of
/// random_uniform.
///
/// shapes   true_classes [n, num_true] -> SampledCandidates
/// dtypes   true_classes int64
/// grads    none: classes are integers and expected counts do not depend on the inputs
/// errors   ValueError: num_true, num_sampled or range_max below 1, true_classes that is not a
///          matrix; at run time InvalidArgumentError: another number of true classes, more unique
///          classes than there are
/// source   tf.nn.uniform_candidate_sampler, tf.nn.log_uniform_candidate_sampler
SampledCandidates uniform_candidate_sampler(const Operand& true_classes, std::int64_t num_true,
                                            std::int64_t num_sampled, bool unique,
                                            std::int64_t range_max,
                                            CandidateSamplerOptions options = {},
                                            Site site = Site::current());
SampledCandidates log_uniform_candidate_sampler(const Operand& true_classes, std::int64_t num_true,
                                                std::int64_t num_sampled, bool unique,
                                                std::int64_t range_max,
                                                CandidateSamplerOptions options = {},
                                                Site site = Site::current());

/// Finds the true classes that are in a sample, so that their logits can be removed from it.
///
/// shapes   true_classes [n, num_true], sampled_candidates [m] -> AccidentalHits
/// dtypes   int64
/// grads    none: classes are integers
/// errors   ValueError: shapes other than these
/// source   tf.nn.compute_accidental_hits
AccidentalHits compute_accidental_hits(const Operand& true_classes,
                                       const Operand& sampled_candidates, std::int64_t num_true,
                                       CandidateSamplerOptions options = {},
                                       Site site = Site::current());

}  // namespace towerflow::nn

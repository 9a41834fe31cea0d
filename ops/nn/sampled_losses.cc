#include "ops/nn/sampled_losses.h"

#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/concat.h"
#include "ops/array/fill.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_of.h"
#include "ops/array/slice.h"
#include "ops/array/sparse_to_dense.h"
#include "ops/array/stack.h"
#include "ops/array/strided_slice.h"
#include "ops/array/view.h"
#include "ops/math/binary.h"
#include "ops/math/matmul.h"
#include "ops/math/unary.h"
#include "ops/nn/embedding_lookup.h"
#include "ops/nn/sigmoid_cross_entropy.h"
#include "ops/nn/soft_cross_entropy.h"

namespace towerflow::nn {
namespace {

struct SampledLogits {
  Tensor logits, labels;
};

/// The arguments of both losses.
struct SampledRequest {
  const Operand& weights;
  const Operand& biases;
  const Operand& labels;
  const Operand& inputs;
  std::int64_t num_sampled, num_classes, num_true;
  const std::optional<SampledCandidates>& sampled_values;
  bool remove_accidental_hits;
  std::optional<std::int64_t> seed;
};

/// Sums the rows of a matrix by a product with ones, as TensorFlow does.
Tensor sum_rows(const Tensor& x, Site site) {
  const Tensor columns = take_index(shape(x, {}, site), 1, site);
  const Tensor sizes = stack({Operand(columns, site), Operand(1, site)}, {}, site);
  const Tensor one = ones_of_shape(sizes, {.dtype = x.dtype()}, site);
  return reshape(matmul(x, one, {}, site), {-1}, {}, site);
}

/// Returns the vector {first size of x, `second`}.
Tensor with_first_size(const Tensor& x, int second, Site site) {
  const Tensor first = take_index(shape(x, {}, site), 0, site);
  return stack({Operand(first, site), Operand(second, site)}, {}, site);
}

Tensor in_dtype_of(const Tensor& x, const Tensor& like, Site site) {
  return x.dtype() == like.dtype() ? x : cast(x, like.dtype(), {}, site);
}

/// Returns the lowest number wherever a sampled class is a true class of the row, else 0.
Tensor penalty_of_hits(const Tensor& labels, const Tensor& sampled, const Tensor& logits,
                       const SampledRequest& request, Site site) {
  const AccidentalHits hits = compute_accidental_hits(labels, sampled, request.num_true, {}, site);
  const Tensor rows = reshape(hits.indices, {-1, 1}, {}, site);
  const Tensor ids = cast(hits.ids, DType::int32, {}, site);
  const Tensor columns = reshape(ids, {-1, 1}, {}, site);
  const Tensor places = concat({rows, columns}, 1, {.name = "sparse_indices"}, site);
  const Tensor batch = take_range(shape(labels, {}, site), std::nullopt, 1, site);
  const Tensor width = expand_dims(Operand(request.num_sampled, site), 0, {}, site);
  const Tensor sizes = concat({batch, width}, 0, {}, site);
  const Tensor weights = in_dtype_of(hits.weights, logits, site);
  return sparse_to_dense(places, sizes, weights, ScalarOperand(0.0, site),
                         {.validate_indices = false}, site);
}

/// The logits of the true classes of each row: the products of inputs with their weights.
Tensor true_products(const Tensor& inputs, const Tensor& true_weights, std::int64_t num_true,
                     Site site) {
  const Operand dim(take_range(shape(true_weights, {}, site), 1, 2, site), site);
  const Tensor cube = concat({Operand({-1, static_cast<int>(num_true)}, site), dim}, 0, {}, site);
  const Tensor column = expand_dims(inputs, 1, {}, site);
  const Tensor products = multiply(column, reshape(true_weights, cube, {}, site), {}, site);
  const Tensor matrix = concat({Operand({-1}, site), dim}, 0, {}, site);
  const Tensor sums = sum_rows(reshape(products, matrix, {}, site), site);
  return reshape(sums, {-1, static_cast<int>(num_true)}, {}, site);
}

SampledCandidates candidates_of(const Tensor& labels, const SampledRequest& request, Site site) {
  SampledCandidates made =
      request.sampled_values
          ? *request.sampled_values
          : log_uniform_candidate_sampler(labels, request.num_true, request.num_sampled, true,
                                          request.num_classes, {.seed = request.seed}, site);
  made.sampled_candidates = stop_gradient(made.sampled_candidates, {}, site);
  made.true_expected_count = stop_gradient(made.true_expected_count, {}, site);
  made.sampled_expected_count = stop_gradient(made.sampled_expected_count, {}, site);
  made.sampled_candidates = cast(made.sampled_candidates, DType::int64, {}, site);
  return made;
}

/// Logits and labels of the true and the sampled classes. (nn_impl._compute_sampled_logits)
SampledLogits sampled_logits(const SampledRequest& request, Site site) {
  const Operand &table = request.weights, &offsets = request.biases;
  Tensor labels = convert_to_tensor(request.labels, {}, site);
  const Tensor inputs = convert_to_tensor(request.inputs, {}, site);
  labels = cast(labels, DType::int64, {}, site);
  const Tensor flat = reshape(labels, {-1}, {}, site);
  const SampledCandidates drawn = candidates_of(labels, request, site);
  const Tensor ids = concat({flat, drawn.sampled_candidates}, 0, {}, site);

  const Tensor all_weights = in_dtype_of(embedding_lookup(table, ids, {}, site), inputs, site);
  const Tensor true_end = with_first_size(flat, -1, site);
  const Tensor true_weights = slice(all_weights, {0, 0}, true_end, {}, site);
  const Tensor begin = with_first_size(flat, 0, site);
  const Tensor sampled_weights = slice(all_weights, begin, {-1, -1}, {}, site);
  Tensor sampled = matmul(inputs, sampled_weights, {.transpose_b = true}, site);

  const Tensor all_biases = in_dtype_of(embedding_lookup(offsets, ids, {}, site), inputs, site);
  const Tensor true_count = shape(flat, {}, site);
  Tensor true_biases = slice(all_biases, {0}, true_count, {}, site);
  const Tensor first_sampled = shape(flat, {}, site);
  const Tensor sampled_biases = slice(all_biases, first_sampled, {-1}, {}, site);

  const int num_true = static_cast<int>(request.num_true);
  Tensor found = true_products(inputs, true_weights, request.num_true, site);
  true_biases = reshape(true_biases, {-1, num_true}, {}, site);
  found = Operand(found, site) + Operand(true_biases, site);
  sampled = Operand(sampled, site) + Operand(sampled_biases, site);
  if (request.remove_accidental_hits) {
    const Tensor penalty =
        penalty_of_hits(labels, drawn.sampled_candidates, sampled, request, site);
    sampled = Operand(sampled, site) + Operand(penalty, site);
  }
  // Classes that are drawn often would be learned to be improbable.
  const Tensor log_true = log(drawn.true_expected_count, {}, site);
  found = Operand(found, site) - Operand(log_true, site);
  const Tensor log_sampled = log(drawn.sampled_expected_count, {}, site);
  sampled = Operand(sampled, site) - Operand(log_sampled, site);

  SampledLogits result;
  result.logits = concat({found, sampled}, 1, {}, site);
  const Tensor one = ones_like(found, {}, site);
  const Tensor share = Operand(one, site) / Operand(num_true, site);
  const Tensor none = zeros_like(sampled, {}, site);
  result.labels = concat({share, none}, 1, {}, site);
  return result;
}

/// Opens the scope of a loss around its logits.
SampledLogits logits_in_scope(const SampledRequest& request, const std::string& name, Site site) {
  std::vector<Tensor> values;
  for (const Operand* operand :
       {&request.weights, &request.biases, &request.inputs, &request.labels}) {
    if (const Tensor* tensor = operand->any_tensor()) values.push_back(*tensor);
  }
  const NameScope scope =
      name_scope(name, {.default_name = "compute_sampled_logits", .values = values}, site);
  return sampled_logits(request, site);
}

}  // namespace

Tensor nce_loss(const Operand& weights, const Operand& biases, const Operand& labels,
                const Operand& inputs, std::int64_t num_sampled, std::int64_t num_classes,
                NceLossOptions options, Site site) {
  const SampledLogits sampled =
      logits_in_scope({weights, biases, labels, inputs, num_sampled, num_classes, options.num_true,
                       options.sampled_values, options.remove_accidental_hits, std::nullopt},
                      options.name, site);
  const Tensor losses = sigmoid_cross_entropy_with_logits(
      {.labels = sampled.labels, .logits = sampled.logits, .name = "sampled_losses"}, site);
  return sum_rows(losses, site);
}

Tensor sampled_softmax_loss(const Operand& weights, const Operand& biases, const Operand& labels,
                            const Operand& inputs, std::int64_t num_sampled,
                            std::int64_t num_classes, SampledSoftmaxLossOptions options,
                            Site site) {
  const SampledLogits sampled =
      logits_in_scope({weights, biases, labels, inputs, num_sampled, num_classes, options.num_true,
                       options.sampled_values, options.remove_accidental_hits, options.seed},
                      options.name, site);
  const Tensor wanted = stop_gradient(sampled.labels, {.name = "labels_stop_gradient"}, site);
  return softmax_cross_entropy_with_logits_v2({.labels = wanted, .logits = sampled.logits}, site);
}

}  // namespace towerflow::nn

// Calls to special functions, products of tensors and what is made of them.
#include <cmath>

#include "tests/ops/naming/cases.h"

namespace towerflow::testing {
namespace {

using In = const Inputs&;

void add_functions(Cases& c) {
  c["special functions"] = [](In t) {
    tan(t.x);
    asin(t.x);
    acos(t.x);
    atan(t.x);
    sinh(t.x);
    cosh(t.x);
    asinh(t.x);
    acosh(t.x);
    atanh(t.x);
    erf(t.x);
    erfc(t.x);
    lgamma(t.x);
    digamma(t.x);
    rint(t.x);
  };
  c["special function value"] = [](In) { erf({0.5, 1.0}, {.name = "k"}); };
  c["special function int"] = [](In t) { lgamma(t.i); };
  c["atan2"] = [](In t) { atan2(t.x, t.b); };
  c["atan2 value"] = [](In t) { atan2(1.0, t.x); };
  c["atan2 second value"] = [](In t) { atan2(t.x, 1.0, {.name = "k"}); };
  c["polygamma"] = [](In t) { polygamma(1.0, t.x); };
  c["xdivy"] = [](In t) { math::xdivy(t.x, t.y); };
  c["xdivy value"] = [](In t) { math::xdivy(t.x, 2.0, {.name = "k"}); };
  c["xlogy"] = [](In t) { math::xlogy(t.x, t.y); };
  c["xlog1py"] = [](In t) { math::xlog1py(t.x, t.b); };
  c["xlogy int"] = [](In t) { math::xlogy(t.i, t.i); };
  c["logical_xor"] = [](In t) { logical_xor(t.p, t.p); };
  c["logical_xor named"] = [](In t) { logical_xor(t.p, t.p, {.name = "k"}); };
  c["div"] = [](In t) {
    div(t.x, 2.0);
    div(t.i, 2);
  };
  c["div mixed"] = [](In t) { div(t.x, t.i); };
  c["realdiv"] = [](In t) {
    realdiv(t.x, 2.0);
    realdiv(t.i, t.i);
  };
  c["floor_div"] = [](In t) { floor_div(t.i, 2); };
  c["truncatediv"] = [](In t) {
    truncatediv(t.i, 2);
    truncatediv(t.x, t.y, {.name = "k"});
  };
  c["truncatemod"] = [](In t) {
    truncatemod(t.i, 2);
    truncatemod(t.x, t.b);
  };
  c["truncatemod bool"] = [](In t) { truncatemod(t.p, t.p); };
}

void add_products(Cases& c) {
  c["matmul adjoint"] = [](In t) { matmul(t.x, t.y, {.adjoint_b = true}); };
  c["matmul both"] = [](In t) { matmul(t.x, t.y, {.transpose_a = true, .adjoint_a = true}); };
  c["matmul of rank 3"] = [](In t) { matmul(zeros({4, 3, 2}), t.x, {.name = "k"}); };
  c["matmul of no rank"] = [](In t) { matmul(t.q, t.x, {.transpose_b = true}); };
  const auto of_zeros = [](Shape a, Shape b, DType dtype = float32) {
    const Tensor first = zeros(a, {.dtype = dtype});
    matmul(first, zeros(b, {.dtype = dtype}));
  };
  c["matmul of batches"] = [=](In) { of_zeros({4, 1, 3, 2}, {5, 2, 3}); };
  c["matmul of wrong batches"] = [=](In) { of_zeros({4, 3, 2}, {5, 2, 3}); };
  c["matmul of wrong sizes"] = [=](In) { of_zeros({4, 3, 2}, {4, 3, 2}); };
  c["matmul of batch and vector"] = [](In t) { matmul(zeros({4, 3, 2}), t.b); };
  c["matmul of bools"] = [=](In) { of_zeros({4, 3, 2}, {2, 2}, bool_); };
  c["tensordot"] = [](In t) { tensordot(t.x, t.b, 1); };
  c["tensordot named"] = [](In t) { tensordot(t.x, t.y, {{0, 1}, {0, 1}}, {.name = "k"}); };
  c["tensordot turned"] = [](In t) { tensordot(t.x, t.y, {0, 0}); };
  c["tensordot of none"] = [](In t) { tensordot(t.x, t.b, 0); };
  c["tensordot unknown"] = [](In t) { tensordot(t.u, t.b, 1); };
  c["tensordot unknown lists"] = [](In t) { tensordot(t.u, t.u, {{0}, {0}}, {.name = "k"}); };
  c["tensordot negative"] = [](In t) { tensordot(t.x, t.y, -1); };
  c["tensordot too many"] = [](In t) { tensordot(t.x, t.y, 3); };
  c["tensordot lengths"] = [](In t) { tensordot(t.x, t.y, {{0, 1}, {0}}); };
  c["tensordot sizes"] = [](In t) { tensordot(t.x, t.y, 1); };
  c["einsum"] = [](In t) { einsum("ij,kj->ik", {t.x, t.y}); };
  c["einsum named"] = [](In t) { einsum("ij, kj", {t.x, t.y}, {.name = "k"}); };
  c["einsum one"] = [](In t) { einsum("ij->j", {t.u}); };
  c["einsum dots"] = [](In t) { einsum("...i,i->...", {t.u, t.b}); };
  c["einsum wrong"] = [](In t) { einsum("i?->i", {t.x}); };
  c["einsum rank"] = [](In t) { einsum("i->i", {t.x}); };
  c["einsum inputs"] = [](In t) { einsum("ij,jk->ik", {t.x}); };
  c["einsum output twice"] = [](In t) { einsum("ij->ii", {t.x}); };
  c["einsum unknown label"] = [](In t) { einsum("ij->k", {t.x}); };
  c["einsum sizes"] = [](In t) { einsum("ij,jk->ik", {t.x, t.y}); };
  c["einsum dtypes"] = [](In t) { einsum("ij,kj->ik", {t.x, t.i}); };
  c["qr"] = [](In t) { qr(t.x, {.name = "k"}); };
  c["qr full"] = [](In t) { linalg::qr(t.x, {.full_matrices = true}); };
  c["qr unknown"] = [](In t) { qr(t.u); };
  c["qr vector"] = [](In t) { qr(t.b); };
  c["qr int"] = [](In t) { qr(cast(t.x, int32)); };
  c["cross"] = [](In t) { cross(t.x, t.y); };
  c["cross shapes"] = [](In t) { cross(t.x, t.b); };
  c["cross sizes"] = [](In) {
    const Tensor first = zeros({2});
    cross(first, zeros({2}));
  };
}

void add_norms(Cases& c) {
  c["norm"] = [](In t) { norm(t.x); };
  c["norm axis"] = [](In t) { norm(t.u, {.axis = 1, .name = "k"}); };
  c["norm of matrices"] = [](In t) { norm(t.x, "fro", {.axis = {0, 1}, .keepdims = true}); };
  c["norm 1"] = [](In t) { norm(t.x, 1, {.axis = -1}); };
  c["norm infinity"] = [](In t) { norm(t.x, INFINITY, {.keep_dims = true}); };
  c["norm 3"] = [](In t) { norm(t.x, 3.0, {.axis = 0}); };
  c["norm of a value"] = [](In) { norm({3.0, 4.0}); };
  c["norm order"] = [](In t) { norm(t.x, -1); };
  c["norm fro of vectors"] = [](In t) { norm(t.x, "fro"); };
  c["norm 3 of matrices"] = [](In t) { norm(t.x, 3, {.axis = {0, 1}}); };
  c["norm axes"] = [](In t) { norm(t.x, {.axis = {1, 1}}); };
  c["norm keepdims twice"] = [](In t) { norm(t.x, {.keepdims = true, .keep_dims = true}); };
  c["logsumexp"] = [](In t) { reduce_logsumexp(t.x); };
  c["logsumexp axis"] = [](In t) { reduce_logsumexp(t.u, 1, {.name = "k"}); };
  c["logsumexp kept"] = [](In t) { reduce_logsumexp(t.x, {0, 1}, {.keepdims = true}); };
  c["logsumexp value"] = [](In) { reduce_logsumexp({1.0, 2.0}); };
  c["logsumexp no rank"] = [](In t) { reduce_logsumexp(t.q); };
  c["logsumexp axis twice"] = [](In t) { reduce_logsumexp(t.x, 1, {.reduction_indices = 1}); };
  c["reduce_variance"] = [](In t) { math::reduce_variance(t.x, 1); };
  c["reduce_std"] = [](In t) { math::reduce_std(t.u, {.keepdims = true, .name = "k"}); };
  c["reduce_std value"] = [](In) { math::reduce_std({1.0, 2.0}); };
  c["reduce_std int"] = [](In t) { math::reduce_std(t.i); };
}

void add_running(Cases& c) {
  c["cumprod"] = [](In t) { cumprod(t.x); };
  c["cumprod named"] = [](In t) {
    cumprod(t.u, -1, {.exclusive = true, .reverse = true, .name = "k"});
  };
  c["cumprod bool"] = [](In t) { cumprod(t.p); };
  c["accumulate_n"] = [](In t) { accumulate_n({t.x, t.y}); };
  c["accumulate_n one"] = [](In t) { accumulate_n({t.x}, {.name = "k"}); };
  c["accumulate_n dtype"] = [](In t) { accumulate_n({t.x, t.u}, {.tensor_dtype = float32}); };
  c["accumulate_n wrong shape"] = [](In t) { accumulate_n({t.x, t.b}); };
  c["accumulate_n wrong dtype"] = [](In t) { accumulate_n({t.x, t.y}, {.tensor_dtype = int32}); };
  c["accumulate_n dtypes"] = [](In t) { accumulate_n({t.x, t.i}); };
  c["accumulate_n none"] = [](In) { accumulate_n({}); };
}

void add_layers(Cases& c) {
  c["softmax axis"] = [](In t) { nn::softmax(t.x, 0); };
  c["softmax axis last"] = [](In t) { nn::softmax(t.x, 1, {.name = "k"}); };
  c["softmax axis negative"] = [](In t) { nn::log_softmax(t.u, {.axis = -2, .name = "k"}); };
  c["softmax axis no rank"] = [](In t) { nn::softmax(t.q, {.axis = 0}); };
  c["softmax axis range"] = [](In t) { nn::softmax(t.x, {.axis = 2}); };
  c["softmax axis twice"] = [](In t) { nn::softmax(t.x, {.axis = 0, .dim = 0}); };
  c["cross entropy axis"] = [](In t) {
    nn::softmax_cross_entropy_with_logits_v2({.labels = t.x, .logits = t.y, .axis = 0});
  };
  c["cross entropy axis unknown"] = [](In t) {
    nn::softmax_cross_entropy_with_logits({.labels = t.u, .logits = t.u, .name = "k", .dim = 0});
  };
  c["cross entropy axis negative"] = [](In t) {
    nn::softmax_cross_entropy_with_logits_v2({.labels = t.x, .logits = t.y, .axis = -2});
  };
  c["xw_plus_b"] = [](In t) { nn::xw_plus_b(t.x, {{1.0}, {2.0}, {3.0}}, {1.0}); };
  c["relu_layer"] = [](In t) { nn::relu_layer(t.u, zeros({3, 2}), {1.0, 2.0}, {.name = "k"}); };
  c["crelu"] = [](In t) { nn::crelu(t.x); };
  c["crelu axis"] = [](In t) { nn::crelu(t.u, {.name = "k", .axis = 0}); };
  c["log_poisson_loss"] = [](In t) { nn::log_poisson_loss(t.x, t.y); };
  c["log_poisson_loss in full"] = [](In t) {
    nn::log_poisson_loss(t.x, t.y, {.compute_full_loss = true, .name = "k"});
  };
  c["log_poisson_loss shapes"] = [](In t) { nn::log_poisson_loss(t.x, t.b); };
  c["weighted cross entropy"] = [](In t) { nn::weighted_cross_entropy_with_logits(t.x, t.y, 2.0); };
  c["weighted cross entropy tensor"] = [](In t) {
    nn::weighted_cross_entropy_with_logits(t.x, t.y, t.b, {.name = "k"});
  };
  c["weighted cross entropy shapes"] = [](In t) {
    nn::weighted_cross_entropy_with_logits(t.x, t.b, 2.0);
  };
  c["pairwise loss"] = [](In t) { losses::mean_pairwise_squared_error(t.x, t.y); };
  c["pairwise loss weighted"] = [](In t) {
    losses::mean_pairwise_squared_error(t.x, t.y, {.weights = {{1.0}, {2.0}}, .scope = "k"});
  };
  c["pairwise loss shapes"] = [](In t) { losses::mean_pairwise_squared_error(t.x, t.b); };
}

void add_drawn(Cases& c) {
  c["multinomial"] = [](In t) { multinomial(t.x, 4, {.seed = 1}); };
  c["multinomial named"] = [](In t) {
    multinomial(t.u, take_index(t.j, 0), {.seed = 1, .name = "k", .output_dtype = int32});
  };
  c["multinomial value"] = [](In) { multinomial({{1.0, 2.0}}, 3); };
  c["multinomial rank"] = [](In t) { multinomial(t.b, 3); };
  c["multinomial negative"] = [](In t) { multinomial(t.x, -1); };
  c["multinomial dtype"] = [](In t) { multinomial(t.x, 3, {.output_dtype = float32}); };
  c["uniform sampler"] = [](In) { nn::uniform_candidate_sampler({{1}, {2}}, 1, 3, true, 9); };
  c["log uniform sampler"] = [](In t) {
    nn::log_uniform_candidate_sampler(cast(t.i, int64), 3, 2, false, 9, {.seed = 2, .name = "k"});
  };
  c["sampler of int32"] = [](In t) { nn::uniform_candidate_sampler(t.i, 3, 2, false, 9); };
  c["sampler of a vector"] = [](In) { nn::uniform_candidate_sampler({1, 2}, 1, 3, true, 9); };
  c["sampler of none"] = [](In) { nn::uniform_candidate_sampler({{1}, {2}}, 1, 0, true, 9); };
  c["accidental hits"] = [](In) { nn::compute_accidental_hits({{1}, {2}}, {2, 3}, 1); };
  c["accidental hits width"] = [](In) { nn::compute_accidental_hits({{1}, {2}}, {2, 3}, 2); };
  c["accidental hits rank"] = [](In) { nn::compute_accidental_hits({{1}, {2}}, {{2, 3}}, 1); };
  const auto variable = [](const char* name, Shape shape) {
    return get_variable(name, shape, {.initializer = zeros_initializer()});
  };
  c["nce_loss"] = [=](In t) {
    const Variable w = variable("w", {5, 3});
    const Variable v = variable("v", {5});
    nn::nce_loss(w, v, cast(t.i, int64), t.x, 4, 5, {.num_true = 3});
  };
  c["sampled_softmax_loss"] = [=](In t) {
    const Variable w = variable("w", {5, 3});
    const Variable v = variable("v", {5});
    nn::sampled_softmax_loss(w, v, t.i, t.u, 4, 5, {.num_true = 3, .name = "k", .seed = 7});
  };
  c["sparse_to_dense"] = [](In) { sparse_to_dense({{0, 1}}, {2, 3}, {5.0}); };
  c["sparse_to_dense named"] = [](In t) {
    sparse_to_dense(t.j, {9}, t.j, -1, {.validate_indices = false, .name = "k"});
  };
  c["sparse_to_dense rank"] = [](In) { sparse_to_dense({{{0, 1}}}, {2, 3}, {5.0}); };
}

}  // namespace

void add_mathematics_cases(Cases& cases) {
  add_functions(cases);
  add_products(cases);
  add_norms(cases);
  add_running(cases);
  add_layers(cases);
  add_drawn(cases);
}

}  // namespace towerflow::testing

// Calls that sort, divide, stitch, scatter and take diagonals.
#include "tests/ops/naming/cases.h"

namespace towerflow::testing {
namespace {

using In = const Inputs&;

void add_lists(Cases& c) {
  c["unique"] = [](In t) { unique(t.b); };
  c["unique int64 named"] = [](In) { unique({1, 2, 1}, {.out_idx = int64, .name = "k"}); };
  c["unique matrix"] = [](In t) { unique(t.x); };
  c["unique wrong dtype"] = [](In t) { unique(t.b, {.out_idx = float32}); };
  c["unique_with_counts"] = [](In t) { unique_with_counts(t.j); };
  c["setdiff1d"] = [](In t) { setdiff1d(t.j, {1, 2}); };
  c["setdiff1d dtypes"] = [](In t) { setdiff1d(t.j, t.b); };
  c["setdiff1d matrix"] = [](In t) { setdiff1d(t.i, t.j); };
  c["invert_permutation"] = [](In t) { invert_permutation(t.j); };
  c["invert_permutation value"] = [](In) { invert_permutation({1, 0}, {.name = "k"}); };
  c["invert_permutation matrix"] = [](In t) { invert_permutation(t.i); };
  c["invert_permutation float"] = [](In t) { invert_permutation(t.b); };
  c["sequence_mask"] = [](In t) { sequence_mask(t.i); };
  c["sequence_mask value"] = [](In) { sequence_mask({1, 3}, 4, {.dtype = float32, .name = "k"}); };
  c["sequence_mask maxlen"] = [](In t) { sequence_mask(t.j, t.j); };
  c["sequence_mask tensor"] = [](In t) { sequence_mask(t.i, constant(4, {.dtype = int64})); };
  c["reverse_sequence"] = [](In t) { reverse_sequence(t.x, t.j, {.seq_axis = 1}); };
  c["reverse_sequence value"] = [](In t) {
    reverse_sequence(t.x, {1, 2, 1}, {.seq_axis = 0, .batch_axis = 1, .name = "k"});
  };
  c["reverse_sequence axis"] = [](In t) { reverse_sequence(t.x, t.j, {.seq_axis = 2}); };
  c["reverse_sequence lengths"] = [](In t) { reverse_sequence(t.x, {1, 2, 1}, {.seq_axis = 1}); };
  c["reverse_sequence no axis"] = [](In t) { reverse_sequence(t.x, t.j, {}); };
  c["where_v2 condition"] = [](In t) { where_v2(t.p); };
}

void add_orders(Cases& c) {
  c["top_k"] = [](In t) { nn::top_k(t.x); };
  c["top_k two"] = [](In t) { nn::top_k(t.u, 2, {.sorted = false, .name = "k"}); };
  c["top_k tensor"] = [](In t) { nn::top_k(t.x, size(t.j)); };
  c["top_k too many"] = [](In t) { nn::top_k(t.x, 4); };
  c["top_k negative"] = [](In t) { nn::top_k(t.x, -1); };
  c["top_k vector"] = [](In t) { nn::top_k(t.x, t.j); };
  c["top_k scalar"] = [](In) { nn::top_k(1.0); };
  c["top_k bool"] = [](In t) { nn::top_k(t.p); };
  c["sort"] = [](In t) { sort(t.x); };
  c["sort integers"] = [](In t) { sort(t.i, {.name = "k"}); };
  c["sort value"] = [](In) { sort({3.0, 1.0}, {.direction = "DESCENDING"}); };
  c["sort axis"] = [](In t) { sort(t.x, {.axis = 0}); };
  c["sort unknown"] = [](In t) { sort(t.u, {.axis = -2, .direction = "DESCENDING"}); };
  c["sort no rank"] = [](In t) { sort(t.q); };
  c["sort direction"] = [](In t) { sort(t.x, {.direction = "UP"}); };
  c["argsort"] = [](In t) { argsort(t.x, {.stable = true}); };
  c["argsort axis"] = [](In t) { argsort(t.i, {.axis = 0, .direction = "DESCENDING"}); };
}

void add_partitions(Cases& c) {
  c["dynamic_partition"] = [](In t) { dynamic_partition(t.x, t.j, 2); };
  c["dynamic_partition value"] = [](In) {
    dynamic_partition({1.0, 2.0}, {0, 1}, 3, {.name = "k"});
  };
  c["dynamic_partition shape"] = [](In t) { dynamic_partition(t.b, t.j, 2); };
  c["dynamic_partition none"] = [](In t) { dynamic_partition(t.x, t.j, 0); };
  c["dynamic_partition float"] = [](In t) { dynamic_partition(t.x, t.b, 2); };
  c["dynamic_stitch"] = [](In t) { dynamic_stitch({{0, 2}, t.j}, {t.x, t.y}); };
  c["dynamic_stitch values"] = [](In t) { dynamic_stitch({0, {1, 2}}, {t.b, t.x}, {.name = "k"}); };
  c["dynamic_stitch lengths"] = [](In t) { dynamic_stitch({0, 1}, {t.b}); };
  c["dynamic_stitch shapes"] = [](In t) { dynamic_stitch({Operand({0, 1, 2})}, {t.x}); };
  c["unsorted_segment_max"] = [](In t) { unsorted_segment_max(t.x, t.j, 4); };
  c["unsorted_segment_min"] = [](In t) { unsorted_segment_min(t.x, {0, 1}, 4, {.name = "k"}); };
  c["unsorted_segment_prod"] = [](In t) { unsorted_segment_prod(t.i, t.j, size(t.j)); };
  c["unsorted_segment_prod shape"] = [](In t) { unsorted_segment_prod(t.x, t.b, 2); };
  c["segment_sum"] = [](In t) { segment_sum(t.x, t.j); };
  c["segment_mean"] = [](In t) { segment_mean(t.u, {0, 1}, {.name = "k"}); };
  c["segment_max"] = [](In t) { segment_max(t.q, t.j); };
  c["segment_min matrix"] = [](In t) { segment_min(t.x, t.i); };
  c["segment_prod bool"] = [](In t) { segment_prod(t.p, t.j); };
  c["tensor_scatter_nd_update"] = [](In t) { tensor_scatter_nd_update(t.x, {{0, 1}}, {2.0}); };
  c["tensor_scatter_nd_add"] = [](In t) {
    tensor_scatter_nd_add(t.x, Operand({Nested(std::vector<Nested>{0})}), {t.b}, {.name = "k"});
  };
  c["tensor_scatter_nd_sub"] = [](In t) { tensor_scatter_nd_sub(t.u, expand_dims(t.j, 1), t.y); };
  c["tensor_scatter_nd_sub shape"] = [](In t) {
    tensor_scatter_nd_sub(t.x, Operand({Nested(std::vector<Nested>{0})}), t.b);
  };
  c["tensor_scatter_nd_update long"] = [](In t) { tensor_scatter_nd_update(t.b, {{0, 1}}, {1.0}); };
}

void add_diagonals(Cases& c) {
  c["diag"] = [](In t) { diag(t.b); };
  c["diag matrix"] = [](In t) { diag(t.x, {.name = "k"}); };
  c["diag bool"] = [](In t) { diag(t.p); };
  c["diag scalar"] = [](In) { diag(1.0); };
  c["diag_part"] = [](In) { diag_part({{1.0, 2.0}, {3.0, 4.0}}); };
  c["diag_part not square"] = [](In t) { diag_part(t.x); };
  c["diag_part odd"] = [](In t) { diag_part(t.b); };
  c["matrix_diag"] = [](In t) { matrix_diag(t.x); };
  c["matrix_diag band"] = [](In t) {
    matrix_diag(
        t.x, {.name = "k", .k = {0, 1}, .num_rows = 3, .padding_value = 2, .align = "LEFT_LEFT"});
  };
  c["matrix_diag bool"] = [](In t) { matrix_diag(t.p); };
  c["matrix_diag unknown"] = [](In t) { matrix_diag(t.u, {.k = t.j}); };
  c["matrix_diag rows"] = [](In t) { matrix_diag(t.b, {.num_rows = 2}); };
  c["matrix_diag align"] = [](In t) { matrix_diag(t.b, {.align = "LEFT"}); };
  c["matrix_diag_part"] = [](In t) { matrix_diag_part(t.x); };
  c["matrix_diag_part band"] = [](In t) {
    matrix_diag_part(t.x, {.k = {-1, 2}, .padding_value = 5});
  };
  c["matrix_diag_part unknown"] = [](In t) { matrix_diag_part(t.u, {.name = "k", .k = 1}); };
  c["matrix_diag_part outside"] = [](In t) { matrix_diag_part(t.x, {.k = 3}); };
  c["matrix_diag_part vector"] = [](In t) { matrix_diag_part(t.b); };
  c["matrix_set_diag"] = [](In t) { matrix_set_diag(t.x, {1.0, 2.0}); };
  c["matrix_set_diag shape"] = [](In t) { matrix_set_diag(t.x, t.b); };
  c["matrix_set_diag above"] = [](In t) { matrix_set_diag(t.u, t.q, {.name = "k", .k = 1}); };
  c["matrix_band_part"] = [](In t) { matrix_band_part(t.x, 0, -1); };
  c["matrix_band_part tensors"] = [](In t) { matrix_band_part(t.x, size(t.j), 1, {.name = "k"}); };
  c["matrix_band_part vector"] = [](In t) { matrix_band_part(t.b, 0, 0); };
  c["trace"] = [](In t) { trace(t.x); };
  c["trace named"] = [](In) { trace({{1.0, 2.0}, {3.0, 4.0}}, {.name = "k"}); };
  c["matrix_transpose"] = [](In t) { matrix_transpose(t.x); };
  c["matrix_transpose no rank"] = [](In t) { matrix_transpose(t.q, {.name = "k"}); };
  c["matrix_transpose vector"] = [](In t) { matrix_transpose(t.b); };
}

void add_grids(Cases& c) {
  c["gather batch"] = [](In t) { gather(t.x, t.i, {.batch_dims = 1}); };
  c["gather batch axis"] = [](In t) { gather(t.x, t.j, {.axis = 0, .batch_dims = 1}); };
  c["gather batch shapes"] = [](In t) {
    gather(t.x, t.j, {.axis = 1, .batch_dims = 1, .name = "k"});
  };
  c["gather batch many"] = [](In t) { gather(t.x, t.j, {.axis = 1, .batch_dims = 2}); };
  c["eye"] = [](In) { eye(2); };
  c["eye columns"] = [](In) { eye(2, 3, {.batch_shape = {2}, .dtype = int32, .name = "k"}); };
  c["eye square"] = [](In) { eye(2, 2); };
  c["eye tensor"] = [](In t) { eye(size(t.j)); };
  c["eye tensors"] = [](In t) { eye(rank(t.q), 3, {.batch_shape = {2}}); };
  c["eye tensor batch"] = [](In t) { eye(3, rank(t.q)); };
  c["eye float"] = [](In) { eye(1.5); };
  c["meshgrid"] = [](In t) { meshgrid({t.b, t.j}); };
  c["meshgrid two"] = [](In t) { meshgrid({t.b, t.b}); };
  c["meshgrid values"] = [](In t) { meshgrid({{1.0, 2.0}, t.b}, {.indexing = "ij", .name = "k"}); };
  c["meshgrid one"] = [](In t) { meshgrid({t.b}); };
  c["meshgrid indexing"] = [](In t) { meshgrid({t.b}, {.indexing = "yx"}); };
  c["roll"] = [](In t) { roll(t.x, 1, 0); };
  c["roll axes"] = [](In t) { roll(t.x, {1, -1}, {0, 1}, {.name = "k"}); };
  c["roll scalar"] = [](In) { roll(1.0, 1, 0); };
  c["roll shapes"] = [](In t) { roll(t.x, {1, 2}, 0); };
}

Variable variable_of_dtype(DType dtype = float32) {
  return get_variable("v", {5, 3}, {.dtype = dtype, .initializer = zeros_initializer()});
}

void add_scatters(Cases& c) {
  c["scatter_update"] = [](In t) { scatter_update(variable_of_dtype(), {0, 1}, t.x); };
  c["scatter_add one"] = [](In t) { scatter_add(variable_of_dtype(), t.j, 1.0, {.name = "k"}); };
  c["scatter_sub shape"] = [](In t) { scatter_sub(variable_of_dtype(), Operand({0}), t.x); };
  c["scatter_mul"] = [](In t) { scatter_mul(variable_of_dtype(), t.j, t.x); };
  c["scatter_div"] = [](In t) { scatter_div(variable_of_dtype(), t.j, t.x); };
  c["scatter_min"] = [](In t) { scatter_min(variable_of_dtype(), t.j, t.x); };
  c["scatter_max"] = [](In t) { scatter_max(variable_of_dtype(), t.j, t.x); };
  c["scatter_max uint8"] = [](In t) { scatter_max(variable_of_dtype(uint8), t.j, Operand({1})); };
  c["scatter_add bool"] = [](In t) { scatter_add(variable_of_dtype(bool_), t.j, t.p); };
  c["scatter_update bool"] = [](In t) { scatter_update(variable_of_dtype(bool_), t.j, t.p); };
  c["scatter_update dtype"] = [](In t) { scatter_update(variable_of_dtype(), t.j, t.i); };
  c["scatter_nd_update"] = [](In t) {
    scatter_nd_update(variable_of_dtype(),
                      {Nested(std::vector<Nested>{0}), Nested(std::vector<Nested>{1})}, t.x);
  };
  c["scatter_nd_add"] = [](In) { scatter_nd_add(variable_of_dtype(), {{0, 1}}, {2.0}); };
  c["scatter_nd_sub"] = [](In t) { scatter_nd_sub(variable_of_dtype(), t.i, t.q); };
  c["scatter_nd_sub shape"] = [](In t) {
    scatter_nd_sub(variable_of_dtype(), Operand({Nested(std::vector<Nested>{0})}), t.x);
  };
  c["method scatter_update"] = [](In t) {
    variable_of_dtype().scatter_update(IndexedSlices{t.x, t.j, None});
  };
  c["method scatter_max"] = [](In t) {
    variable_of_dtype().scatter_max(IndexedSlices{t.x, t.j, None}, {.name = "k"});
  };
  c["method scatter_nd_add"] = [](In) { variable_of_dtype().scatter_nd_add({{0, 1}}, {2.0}); };
}

void add_counts(Cases& c) {
  c["bincount"] = [](In t) { bincount(t.i); };
  c["bincount lengths"] = [](In t) {
    const Tensor most = take_index(t.j, 0);
    bincount({1, 2}, {.minlength = 3, .maxlength = most});
  };
  c["bincount weights"] = [](In t) { bincount(t.i, {.weights = t.x, .dtype = float32}); };
  c["bincount float"] = [](In t) { bincount(t.b, {.dtype = int64}); };
  c["histogram_fixed_width"] = [](In t) { histogram_fixed_width(t.x, {0.0, 5.0}); };
  c["histogram_fixed_width int64"] = [](In t) {
    histogram_fixed_width(t.i, {0, 5}, {.nbins = 7, .dtype = int64, .name = "k"});
  };
  c["histogram_fixed_width bins"] = [](In t) {
    histogram_fixed_width(t.x, {0.0, 5.0}, {.nbins = 0});
  };
}

std::vector<Variable> tables() {
  const Variable a = get_variable("a", {3, 2});
  return {a, get_variable("b", {2, 2})};
}

void add_sets(Cases& c) {
  c["sets difference"] = [](In t) { sets::set_difference(t.i, {{1, 2}, {3, 4}}); };
  c["sets difference of unknown"] = [](In t) {
    const Tensor any = placeholder(int32, {.name = "any"});
    sets::set_difference(any, t.i, {.aminusb = false, .validate_indices = false});
  };
  c["sets union"] = [](In t) { sets::set_union(t.i, t.i); };
  c["sets intersection strings"] = [](In) { sets::set_intersection({{"a", "b"}}, {{"b"}}); };
  c["sets float"] = [](In t) { sets::set_union(t.x, t.x); };
  c["sets dtypes"] = [](In t) { sets::set_union(t.i, cast(t.i, int64)); };
  c["sets rank"] = [](In t) { sets::set_union(t.j, t.j); };
  c["sets ranks"] = [](In t) { sets::set_union(t.i, expand_dims(t.i, 0)); };
  c["sets groups"] = [](In t) { sets::set_union(t.i, {{1, 2}}); };
  c["shape_n"] = [](In t) { shape_n({t.x, t.u, t.q}); };
  c["shape_n int64"] = [](In t) { shape_n({t.x, t.b}, {.name = "k", .out_type = int64}); };
  c["shape_n dtypes"] = [](In t) { shape_n({t.x, t.i}); };
  c["shape_n out_type"] = [](In t) { shape_n({t.x}, {.out_type = float32}); };
}

void add_embeddings(Cases& c) {
  c["embedding_lookup mod"] = [](In t) { nn::embedding_lookup(tables(), t.i); };
  c["embedding_lookup div"] = [](In t) {
    nn::embedding_lookup(tables(), t.i, {.partition_strategy = "div", .name = "k"});
  };
  c["embedding_lookup norm"] = [](In t) { nn::embedding_lookup(tables(), t.j, {.max_norm = 1.0}); };
  c["embedding_lookup unknown"] = [](In t) {
    nn::embedding_lookup({t.u, t.u}, t.j, {.partition_strategy = "div"});
  };
  c["embedding_lookup list"] = [](In t) { nn::embedding_lookup(Operand({t.x}), t.j); };
  c["embedding_lookup strategy"] = [](In t) {
    nn::embedding_lookup(tables(), t.j, {.partition_strategy = "hash"});
  };
}

}  // namespace

void add_arrays_cases(Cases& cases) {
  add_lists(cases);
  add_orders(cases);
  add_partitions(cases);
  add_diagonals(cases);
  add_grids(cases);
  add_scatters(cases);
  add_counts(cases);
  add_sets(cases);
  add_embeddings(cases);
}

}  // namespace towerflow::testing

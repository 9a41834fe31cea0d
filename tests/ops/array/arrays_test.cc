// Tests of ops that sort, divide, stitch, scatter and take diagonals beyond their cases: errors of
// the run, strings, NaN, sizes that only the run knows, and large operands.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "tests/support/eager.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

using errors::InvalidArgumentError;
using testing::array_of;
using testing::numbers;
using testing::value_of;

using Numbers = std::vector<double>;
using Texts = std::vector<std::string>;

Texts texts(const Tensor& tensor) {
  const Array array = value_of(tensor);
  const auto all = array.flat<std::string>();
  return {all.begin(), all.end()};
}

/// Returns a tensor whose value and shape are unknown until the graph runs.
Tensor fed(const Operand& value) { return placeholder_with_default(value, Shape::unknown()); }

void fails(const Tensor& tensor) { CHECK_THROWS_AS(value_of(tensor), const InvalidArgumentError&); }

TEST_CASE("lists of strings") {
  Graph graph;
  const auto guard = graph.as_default();
  const std::string long_text(40, 'x');
  const auto counted = unique_with_counts({"b", "a", "b", long_text});
  CHECK(texts(counted.y) == Texts{"b", "a", long_text});
  CHECK(numbers(counted.count) == Numbers{2, 1, 1});
  CHECK(texts(setdiff1d({"a", "b", long_text}, {"b"}).out) == Texts{"a", long_text});
  const auto parts = dynamic_partition({"a", "b", long_text}, {1, 0, 1}, 2);
  CHECK(texts(parts[1]) == Texts{"a", long_text});
  CHECK(texts(dynamic_stitch({Operand({3, 0})}, {Operand({"a", long_text})})) ==
        Texts{long_text, "", "", "a"});
  CHECK(texts(roll({"a", "b", "c"}, 1, 0)) == Texts{"c", "a", "b"});
  CHECK(texts(matrix_diag_part({{"a", "b"}, {"c", "d"}}, {.padding_value = ""})) ==
        Texts{"a", "d"});
}

TEST_CASE("lists that are empty, and values that are equal or NaN") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor nothing = zeros({0});
  CHECK(numbers(unique(nothing).y).empty());
  CHECK(numbers(setdiff1d(nothing, nothing).idx).empty());
  CHECK(numbers(invert_permutation(zeros({0}, {.dtype = int32}))).empty());
  CHECK(value_of(segment_sum(zeros({0, 3}), zeros({0}, {.dtype = int32}))).shape() == Shape{0, 3});
  CHECK(value_of(nn::top_k(zeros({2, 3}), 0).values).shape() == Shape{2, 0});
  CHECK(value_of(sort(zeros({0}))).shape() == Shape{0});
  CHECK(value_of(matrix_diag(zeros({2, 0}))).shape() == Shape{2, 0, 0});
  CHECK(numbers(bincount(zeros({0}, {.dtype = int32}))).empty());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto found = unique({0.0, -0.0, nan, nan});
  CHECK(numbers(found.idx) == Numbers{0, 0, 1, 2});
  CHECK(numbers(argsort({nan, 2.0, -1.0, nan})) == Numbers{2, 1, 0, 3});
  CHECK(numbers(nn::top_k({{nan, 1.0}, {nan, nan}}).indices) == Numbers{1, 0});
  CHECK(numbers(nn::top_k({-0.0, 0.0, -0.0}, 3).indices) == Numbers{0, 1, 2});
}

TEST_CASE("long rows are sorted") {
  Graph graph;
  const auto guard = graph.as_default();
  std::mt19937 generator(7);
  for (const std::int64_t n : {257, 5000}) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(n));
    for (auto& value : values) value = static_cast<std::int64_t>(generator()) - (1 << 30);
    values[3] = std::numeric_limits<std::int64_t>::min();
    values[5] = std::numeric_limits<std::int64_t>::max();
    const Operand row(Array::of(Shape{n}, values));
    std::vector<std::int64_t> sorted = values;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    for (const std::int64_t k : {n / 10, n / 2, n}) {
      const Array largest = value_of(nn::top_k(row, k).values);
      CHECK(std::equal(sorted.begin(), sorted.begin() + k, largest.data<std::int64_t>()));
    }
    std::reverse(sorted.begin(), sorted.end());
    const Array ascending = value_of(sort(row));
    CHECK(std::equal(sorted.begin(), sorted.end(), ascending.data<std::int64_t>()));
  }
}

TEST_CASE("sizes that only the run knows") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = fed({{3.0, 1.0, 2.0}, {4.0, 6.0, 5.0}});
  CHECK(numbers(nn::top_k(x, fed(2)).values) == Numbers{3, 2, 6, 5});
  CHECK(numbers(sort(x, {.axis = 0, .direction = "DESCENDING"})) == Numbers{4, 6, 5, 3, 1, 2});
  CHECK(numbers(dynamic_stitch({fed({2, 0})}, {x})) == Numbers{4, 6, 5, 0, 0, 0, 3, 1, 2});
  CHECK(numbers(matrix_diag_part(x, {.k = fed({-1, 1})})) == Numbers{1, 5, 3, 6, 4, 0});
  CHECK(numbers(matrix_diag(fed({1.0, 2.0}), {.k = fed(1)})) == Numbers{0, 1, 0, 0, 0, 2, 0, 0, 0});
  CHECK(numbers(matrix_band_part(x, fed(0), fed(0))) == Numbers{3, 0, 0, 0, 6, 0});
  CHECK(numbers(roll(x, fed(1), fed(1))) == Numbers{2, 3, 1, 5, 4, 6});
  CHECK(numbers(eye(fed(2))) == Numbers{1, 0, 0, 1});
  CHECK(numbers(sequence_mask(fed({1, 2}))) == Numbers{1, 0, 1, 1});
  CHECK(numbers(gather(x, fed({{1}, {2}}), {.axis = 1, .batch_dims = 1})) == Numbers{1, 5});
  CHECK(numbers(matrix_transpose(x)) == Numbers{3, 4, 1, 6, 2, 5});
  CHECK(numbers(linspace(0.0, 1.0, fed(3))) == Numbers{0, 0.5, 1});
  CHECK(numbers(bincount(fed({1, 1, 3}))) == Numbers{0, 2, 0, 1});
  CHECK(numbers(unsorted_segment_mean(x, fed({1, 1}), fed(2))) == Numbers{0, 0, 0, 3.5, 3.5, 3.5});
}

TEST_CASE("numbers out of range are errors of the run") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({{3.0, 1.0, 2.0}, {4.0, 6.0, 5.0}});
  fails(invert_permutation({0, 0}));
  fails(invert_permutation({-1, 0}));
  fails(invert_permutation({2, 0}));
  fails(reverse_sequence(x, {1, 4}, {.seq_axis = 1}));
  fails(reverse_sequence(x, {-1, 0}, {.seq_axis = 1}));
  fails(reverse_sequence(x, {1, 2}, {.seq_axis = 0}));
  fails(nn::top_k(x, fed(4)).values);
  fails(nn::top_k(x, fed(-1)).values);
  fails(nn::top_k(x, fed({1, 2})).values);
  fails(dynamic_partition(x, {0, 2}, 2)[0]);
  fails(dynamic_partition(x, {0, -1}, 2)[0]);
  fails(dynamic_partition(x, fed({0, 1, 0}), 2)[0]);
  fails(dynamic_stitch({fed({0, -1})}, {x}));
  fails(dynamic_stitch({fed({0, 1, 2})}, {fed(x)}));
  fails(segment_sum(x, {1, 0}));
  fails(segment_sum(x, {-1, 0}));
  fails(segment_sum(x, fed({0, 1, 2})));
  fails(segment_sum(x, Array::of(Shape{2}, std::vector<std::int64_t>{
                                               0, std::numeric_limits<std::int64_t>::max()})));
  fails(unsorted_segment_max(x, {0, 2}, 2));
  fails(unsorted_segment_max(fed(x), fed({0, 1, 0}), 2));
  fails(tensor_scatter_nd_update(x, {{2, 0}}, {1.0}));
  fails(tensor_scatter_nd_add(x, {{0, -1}}, {1.0}));
  fails(tensor_scatter_nd_sub(x, {{0, 0, 0}}, {1.0}));
  fails(tensor_scatter_nd_sub(x, {{0, 0}}, fed({1.0, 2.0})));
  fails(scatter_nd({{0, 0, 0}}, {1.0}, {2, 3}));
  fails(matrix_diag_part(x, {.k = fed(3)}));
  fails(matrix_diag_part(x, {.k = fed({1, 0})}));
  fails(matrix_diag_part(fed({1.0}), {.k = 0}));
  fails(matrix_diag({1.0, 2.0}, {.num_rows = fed(1)}));
  fails(matrix_diag({1.0, 2.0}, {.k = fed({0, 1})}));
  fails(matrix_set_diag(x, {1.0, 2.0, 3.0}));
  fails(matrix_band_part(x, 3, 0));
  fails(matrix_band_part({1.0}, 0, 0));
  fails(roll(x, 1, 2));
  fails(roll(x, fed({1, 2}), fed(0)));
  fails(gather(x, {{0}, {3}}, {.axis = 1, .batch_dims = 1}));
  fails(gather(x, fed({{0}, {1}, {2}}), {.axis = 1, .batch_dims = 1}));
  fails(bincount({1, -1}));
  fails(bincount({1, 2}, {.weights = constant({1.0})}));
  fails(bincount({1, 2}, {.minlength = -1, .maxlength = fed(-1)}));
  fails(histogram_fixed_width({1.0}, {2.0, 2.0}));
  fails(histogram_fixed_width({std::numeric_limits<double>::quiet_NaN()}, {0.0, 2.0}));
  fails(histogram_fixed_width({1.0}, {0.0, 2.0}, {.nbins = fed(0)}));
  fails(linspace(0.0, 1.0, fed(-1)));
  fails(nn::embedding_lookup({x, x}, {4}));
}

TEST_CASE("a scatter that fails writes nothing") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable v = get_variable("v", {3, 2}, {.dtype = int32, .initializer = ones_initializer()});
  Session session(graph);
  session.run(global_variables_initializer());
  const Operand rows({{1, 2}, {3, 4}});
  const Tensor wrong[] = {scatter_update(v, {0, 3}, rows),
                          scatter_add(v, {0, -1}, rows),
                          scatter_mul(v, fed({0, 3}), rows),
                          scatter_div(v, {0, 1}, {{2, 2}, {2, 0}}),
                          scatter_min(v, {0, 3}, 0),
                          scatter_max(v, {0, 1}, fed({1, 2, 3})),
                          scatter_nd_update(v, {{0, 0}, {0, 2}}, {7, 7}),
                          scatter_nd_add(v, {{0, 0}, {3, 0}}, {7, 7}),
                          scatter_nd_sub(v, {{0, 0, 0}}, {7}),
                          v.scatter_nd_update({{0, 0}, {-1, 0}}, {7, 7})};
  for (const Tensor& one : wrong) {
    CAPTURE(one.name());
    CHECK_THROWS_AS(session.run(one), const InvalidArgumentError&);
  }
  CHECK(numbers(session.run(v)) == Numbers{1, 1, 1, 1, 1, 1});
  const IndexedSlices slices{constant({{2, 3}, {4, 5}}), constant({2, 2}), std::nullopt};
  CHECK(numbers(session.run(v.scatter_mul(slices))) == Numbers{1, 1, 1, 1, 8, 15});
  CHECK(numbers(session.run(v.scatter_div(slices))) == Numbers{1, 1, 1, 1, 1, 1});
  CHECK(numbers(session.run(v.scatter_add(slices))) == Numbers{1, 1, 1, 1, 7, 9});
  CHECK(numbers(session.run(v.scatter_min(slices))) == Numbers{1, 1, 1, 1, 2, 3});
  CHECK(numbers(session.run(v.scatter_max(slices))) == Numbers{1, 1, 1, 1, 4, 5});
  CHECK(numbers(session.run(v.scatter_update(slices))) == Numbers{1, 1, 1, 1, 4, 5});
  CHECK(numbers(session.run(v.scatter_nd_add({{0, 1}}, {5}))) == Numbers{1, 6, 1, 1, 4, 5});
  CHECK(numbers(session.run(scatter_update(v, {0, 2}, 9))) == Numbers{9, 9, 1, 1, 9, 9});
}

TEST_CASE("variables of strings and bools are scattered to") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable s(Operand({"a", "b"}), {.name = "s"});
  const Variable b(Operand({true, true}), {.name = "b"});
  Session session(graph);
  session.run(global_variables_initializer());
  const std::string long_text(40, 'x');
  const Array written = session.run(scatter_update(s, Operand({1}), Operand({long_text})));
  CHECK(written.data<std::string>()[1] == long_text);
  CHECK(numbers(session.run(scatter_nd_update(b, {{0}}, Operand({false})))) == Numbers{0, 1});
}

TEST_CASE("the parts of a partitioned variable are tables") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable table = get_variable("t", {4, 1},
                                      {.initializer = Operand({{0.0}, {1.0}, {2.0}, {3.0}}),
                                       .partitioner = fixed_size_partitioner(2)});
  const Tensor rows = nn::embedding_lookup(table, {0, 1, 2, 3}, {.partition_strategy = "div"});
  Session session(graph);
  session.run(global_variables_initializer());
  CHECK(numbers(session.run(rows)) == Numbers{0, 1, 2, 3});
}

TEST_CASE("many rows, in several slices") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor ids = range(0, 100000, 1) % 3;
  const Tensor rows = ones({100000, 20});
  CHECK(numbers(unsorted_segment_sum(rows, ids, 3))[0] == 33334);
  const Tensor wide = ones({2000, 400});
  CHECK(numbers(unsorted_segment_sum(wide, range(0, 2000, 1) % 2, 2))[799] == 1000);
  const Tensor order = roll(reshape(range(0, 300000, 1), {3, 100000}), {1, 7}, {0, 1});
  CHECK(numbers(order)[7] == 200000);
  CHECK(numbers(reduce_sum(eye(1000))) == Numbers{1000});
  CHECK(numbers(reduce_sum(matrix_band_part(ones({1000, 1000}), 0, -1))) == Numbers{500500});
}

}  // namespace
}  // namespace towerflow

// Ops that sort, divide, stitch and combine by index.
#include "tests/ops/cases/families.h"
#include "towerflow/tf.h"

namespace towerflow::testing {
namespace {

CaseResults both(const nn::TopK& found) { return CaseResults({found.values, found.indices}); }

void add_list_cases(std::vector<OpCase>& cases) {
  const auto none = CaseGradients::none;
  cases.push_back({.name = "Unique",
                   .inputs = {input_of({8}, {3, 1, 3, 0, 1, 1, 7, 0})},
                   .call =
                       [](In t) {
                         const auto found = tf::unique(t.x);
                         return CaseResults({tf::stop_gradient(found.y), found.idx});
                       },
                   .python = "(lambda y, idx: [tf.stop_gradient(y), idx])(*tf.unique(x))",
                   .dtypes = any_dtype(),
                   .gradients = none});
  cases.push_back({.name = "Unique of integers",
                   .inputs = {random_input({50}, 0, 20)},
                   .call =
                       [](In t) {
                         const auto found = tf::unique(t.x, {.out_idx = tf::int64});
                         return CaseResults({tf::stop_gradient(found.y), found.idx});
                       },
                   .python = "(lambda y, idx: [tf.stop_gradient(y), idx])(*tf.unique(x, tf.int64))",
                   .dtypes = integers(),
                   .gradients = none,
                   .large = {random_input({1000000}, 0, 100000)}});
  cases.push_back(
      {.name = "UniqueWithCounts",
       .inputs = {input_of({8}, {3, 1, 3, 0, 1, 1, 7, 0})},
       .call =
           [](In t) {
             const auto found = tf::unique_with_counts(t.x);
             return CaseResults({tf::stop_gradient(found.y), found.idx, found.count});
           },
       .python = "(lambda y, *others: [tf.stop_gradient(y), *others])(*tf.unique_with_counts(x))",
       .dtypes = any_dtype(),
       .gradients = none,
       .large = {random_input({1000000}, 0, 1)}});
  cases.push_back({.name = "ListDiff",
                   .inputs = {input_of({6}, {3, 1, 5, 0, 1, 5}), input_of({3}, {0, 7, 1})},
                   .call =
                       [](In t) {
                         const auto found = tf::setdiff1d(t.x, t.y);
                         return CaseResults({tf::stop_gradient(found.out), found.idx});
                       },
                   .python = "(lambda y, idx: [tf.stop_gradient(y), idx])(*tf.setdiff1d(x, y))",
                   .dtypes = numbers(),
                   .gradients = none,
                   .large = {random_input({1000000}, 0, 1e6), random_input({1000}, 0, 1e6)}});
  cases.push_back({.name = "InvertPermutation of integers",
                   .inputs = {input_of({4}, {2, 0, 3, 1})},
                   .call = [](In t) { return tf::invert_permutation(t.x); },
                   .python = "tf.invert_permutation(x)",
                   .dtypes = integers(),
                   .gradients = none});
  cases.push_back({.name = "Sequence mask",
                   .inputs = {input_of({2, 2}, {1, 0, 3, 2})},
                   .call = [](In t) { return tf::sequence_mask(t.x, 4); },
                   .python = "tf.sequence_mask(x, 4)",
                   .dtypes = integers(),
                   .gradients = none});
  cases.push_back({.name = "Sequence mask of the largest length",
                   .inputs = {input_of({3}, {1, 0, 3})},
                   .call = [](In t) { return tf::sequence_mask(t.x, {.dtype = tf::float32}); },
                   .python = "tf.sequence_mask(x, dtype=tf.float32)",
                   .dtypes = integers(),
                   .gradients = none});
  cases.push_back(
      {.name = "ReverseSequence",
       .inputs = {random_input({3, 4, 2}, -9, 9), input_of({3}, {3, 0, 4}, DType::int32)},
       .call = [](In t) { return tf::reverse_sequence(t.x, t.y, {.seq_axis = 1}); },
       .python = "tf.reverse_sequence(x, y, seq_axis=1)",
       .dtypes = any_dtype(),
       .large = {random_input({100, 100, 100}), input_of({100}, {}, DType::int32)}});
  cases.back().large[1] = {.shape = {100}, .low = 0, .high = 100, .dtype = DType::int32};
  cases.push_back(
      {.name = "ReverseSequence of columns",
       .inputs = {random_input({2, 4, 3}, -9, 9), input_of({3}, {2, 1, 4}, DType::int64)},
       .call =
           [](In t) { return tf::reverse_sequence(t.x, t.y, {.seq_axis = 1, .batch_axis = 2}); },
       .python = "tf.reverse_sequence(x, y, seq_axis=1, batch_axis=2)",
       .dtypes = any_dtype()});
}

void add_set_cases(std::vector<OpCase>& cases) {
  const auto set = [&](const char* name, auto call, std::string python) {
    cases.push_back(
        {.name = name,
         .inputs = {input_of({2, 4}, {3, 1, 3, 0, 5, 6, 7, 5}),
                    input_of({2, 3}, {1, 1, 2, 8, 5, 6})},
         .call =
             [call](In t) {
               const SparseTensor found = call(t.x, t.y);
               return CaseResults({found.indices, found.values, found.dense_shape});
             },
         .python = "(lambda s: [s.indices, s.values, s.dense_shape])(" + python + ")",
         .dtypes = {DType::int32, DType::int64, DType::uint8},
         .gradients = CaseGradients::none,
         .large = {random_input({1000, 100}, 0, 100), random_input({1000, 50}, 0, 100)}});
  };
  set(
      "DenseToDenseSetOperation difference",
      [](const Tensor& x, const Tensor& y) { return sets::set_difference(x, y); },
      "tf.sets.set_difference(x, y)");
  set(
      "DenseToDenseSetOperation difference, the other way",
      [](const Tensor& x, const Tensor& y) {
        return sets::set_difference(x, y, {.aminusb = false});
      },
      "tf.sets.set_difference(x, y, aminusb=False)");
  set(
      "DenseToDenseSetOperation intersection",
      [](const Tensor& x, const Tensor& y) { return sets::set_intersection(x, y); },
      "tf.sets.set_intersection(x, y)");
  set(
      "DenseToDenseSetOperation union",
      [](const Tensor& x, const Tensor& y) { return sets::set_union(x, y); },
      "tf.sets.set_union(x, y)");
  cases.push_back({.name = "ShapeN",
                   .inputs = {random_input({2, 3}), random_input({})},
                   .call =
                       [](In t) {
                         return CaseResults(shape_n({t.x, t.y}));
                       },
                   .python = "tf.shape_n([x, y])",
                   .dtypes = any_dtype(),
                   .gradients = CaseGradients::none});
}

void add_order_cases(std::vector<OpCase>& cases) {
  cases.push_back({.name = "TopKV2",
                   .inputs = {random_input({3, 7}, -9, 9)},
                   .call = [](In t) { return both(nn::top_k(t.x, 3)); },
                   .python = "tf.nn.top_k(x, 3)",
                   .dtypes = numbers(),
                   .large = {random_input({1000, 1000})}});
  cases.push_back({.name = "TopKV2 of one",
                   .inputs = {random_input({2, 2, 5}, -9, 9)},
                   .call = [](In t) { return both(nn::top_k(t.x)); },
                   .python = "tf.nn.top_k(x)",
                   .dtypes = numbers(),
                   .large = {random_input({1000, 1000})}});
  cases.push_back({.name = "TopKV2 of many",
                   .inputs = {random_input({2, 9}, -9, 9)},
                   .call =
                       [](In t) {
                         const auto n = t.x.shape()[1];
                         return both(nn::top_k(t.x, n.known() ? n.size() / 2 : 4));
                       },
                   .python = "tf.nn.top_k(x, int(x.shape[1]) // 2)",
                   .dtypes = numbers(),
                   .large = {random_input({100, 10000})}});
  cases.push_back(
      {.name = "TopKV2 places",
       .inputs = {random_input({2, 9}, -9, 9)},
       .call = [](In t) { return nn::top_k(t.x, 2, {.index_type = tf::int64}).indices; },
       .python = "tf.nn.top_k(x, 2, index_type=tf.int64).indices",
       .gradients = CaseGradients::none});
  cases.push_back({.name = "TopKV2 of equal values",
                   .inputs = {input_of({2, 6}, {1, 3, 3, 0, 3, 1, 2, 2, 2, 2, 2, 2})},
                   .call = [](In t) { return both(nn::top_k(t.x, 4)); },
                   .python = "tf.nn.top_k(x, 4)",
                   .dtypes = numbers(),
                   .gradients = CaseGradients::elsewhere});
  cases.push_back({.name = "TopKV2 of all, unsorted",
                   .inputs = {random_input({5}, -9, 9)},
                   .call = [](In t) { return both(nn::top_k(t.x, 5, {.sorted = false})); },
                   .python = "tf.nn.top_k(x, 5, sorted=False)",
                   .dtypes = numbers()});
  // Long rows, of which a radix sort takes many: two for each way of selecting them.
  for (const int k : {300, 900}) {
    cases.push_back({.name = "TopKV2 of " + std::to_string(k),
                     .inputs = {random_input({2, 2000}, -100, 100)},
                     .call = [k](In t) { return both(nn::top_k(t.x, k)); },
                     .python = "tf.nn.top_k(x, " + std::to_string(k) + ")",
                     .dtypes = numbers(),
                     .gradients = CaseGradients::elsewhere});
  }
  cases.push_back({.name = "Sort",
                   .inputs = {random_input({3, 5}, 0, 99)},
                   .call = [](In t) { return tf::sort(t.x); },
                   .python = "tf.sort(x)",
                   .dtypes = numbers(),
                   .large = {random_input({1000, 1000})}});
  cases.push_back(
      {.name = "Sort of columns",
       .inputs = {random_input({4, 3, 2}, 0, 99)},
       .call = [](In t) { return tf::sort(t.x, {.axis = 0, .direction = "DESCENDING"}); },
       .python = "tf.sort(x, axis=0, direction='DESCENDING')",
       .dtypes = numbers()});
  cases.push_back({.name = "Sort of columns from the end",
                   .inputs = {random_input({2, 4, 3}, 0, 99)},
                   .call = [](In t) { return tf::sort(t.x, {.axis = -2}); },
                   .python = "tf.sort(x, axis=-2)"});
  cases.push_back({.name = "Argsort",
                   .inputs = {random_input({3, 5}, 0, 99)},
                   .call = [](In t) { return tf::argsort(t.x); },
                   .python = "tf.argsort(x)",
                   .dtypes = numbers(),
                   .gradients = CaseGradients::none});
  cases.push_back(
      {.name = "Argsort of columns",
       .inputs = {random_input({5, 3}, 0, 99)},
       .call = [](In t) { return tf::argsort(t.x, {.axis = 0, .direction = "DESCENDING"}); },
       .python = "tf.argsort(x, axis=0, direction='DESCENDING')",
       .dtypes = numbers(),
       .gradients = CaseGradients::none});
}

void add_partition_cases(std::vector<OpCase>& cases) {
  const CaseInput numbers_of_rows = input_of({5}, {2, 0, 2, 0, 0}, DType::int32);
  cases.push_back({.name = "DynamicPartition",
                   .inputs = {random_input({5, 2}, -9, 9), numbers_of_rows},
                   .call = [](In t) { return CaseResults(tf::dynamic_partition(t.x, t.y, 3)); },
                   .python = "tf.dynamic_partition(x, y, 3)",
                   .dtypes = any_dtype(),
                   .large = {random_input({100000, 10}),
                             {.shape = {100000}, .low = 0, .high = 2.99, .dtype = DType::int32}}});
  cases.push_back(
      {.name = "DynamicPartition of elements",
       .inputs = {random_input({2, 3}, -9, 9), input_of({2, 3}, {1, 0, 1, 1, 0, 1}, DType::int32)},
       .call = [](In t) { return tf::dynamic_partition(t.x, t.y, 2)[1]; },
       .python = "tf.dynamic_partition(x, y, 2)[1]",
       .dtypes = any_dtype(),
       .large = {random_input({1000000}),
                 {.shape = {1000000}, .low = 0, .high = 1.99, .dtype = DType::int32}}});
  cases.push_back(
      {.name = "DynamicStitch of rows",
       .inputs = {random_input({2, 2}, -9, 9), random_input({3, 2}, -9, 9),
                  input_of({2}, {4, 0}, DType::int32), input_of({3}, {1, 2, 3}, DType::int32)},
       .call =
           [](In t) {
             return tf::dynamic_stitch({t.z, t.w}, {t.x, t.y});
           },
       .python = "tf.dynamic_stitch([z, w], [x, y])",
       .dtypes = any_dtype()});
  cases.push_back({.name = "DynamicStitch with a gap",
                   .inputs = {random_input({2, 2}, -9, 9), random_input({2}, -9, 9)},
                   .call =
                       [](In t) {
                         return tf::dynamic_stitch({{5, 1}, 2}, {t.x, t.y});
                       },
                   .python = "tf.concat([tf.zeros([1, 2], x.dtype), x[1:], [y], "
                             "tf.zeros([2, 2], x.dtype), x[:1]], 0)",
                   .other_nodes = true});
  cases.push_back({.name = "GatherV2 of a batch",
                   .inputs = {random_input({2, 3, 2}, -9, 9),
                              input_of({2, 4}, {2, 0, 2, 1, 1, 1, 0, 2}, DType::int32)},
                   .call = [](In t) { return tf::gather(t.x, t.y, {.batch_dims = 1}); },
                   .python = "tf.gather(x, y, batch_dims=1)",
                   .dtypes = any_dtype(),
                   .large = {random_input({100, 1000, 10}),
                             {.shape = {100, 100}, .low = 0, .high = 999, .dtype = DType::int32}}});
  cases.push_back(
      {.name = "GatherV2 of columns of a batch",
       .inputs = {random_input({2, 2, 3, 2}, -9, 9), input_of({2, 2}, {2, 0, 1, 1}, DType::int32)},
       .call = [](In t) { return tf::gather(t.x, t.y, {.axis = 2, .batch_dims = -1}); },
       .python = "tf.gather(x, y, axis=2, batch_dims=-1)"});
  cases.push_back({.name = "DynamicStitch again",
                   .inputs = {random_input({3}, -9, 9), random_input({2}, -9, 9)},
                   .call =
                       [](In t) {
                         return tf::dynamic_stitch({{0, 2, 1}, {1, 3}}, {t.x, t.y});
                       },
                   .python = "tf.dynamic_stitch([[0, 2, 1], [1, 3]], [x, y])",
                   .gradients = CaseGradients::elsewhere});
}

void add_segment_cases(std::vector<OpCase>& cases) {
  struct Segments {
    const char* name;
    const char* python;
    Tensor (*call)(const Operand&, const Operand&, const Operand&, SegmentOptions, Site);
  };
  const Segments unsorted[] = {
      {"UnsortedSegmentProd", "tf.unsorted_segment_prod", tf::unsorted_segment_prod},
      {"UnsortedSegmentMax", "tf.unsorted_segment_max", tf::unsorted_segment_max},
      {"UnsortedSegmentMin", "tf.unsorted_segment_min", tf::unsorted_segment_min},
      {"Unsorted segment mean", "tf.unsorted_segment_mean", tf::unsorted_segment_mean},
      {"Unsorted segment sqrt_n", "tf.unsorted_segment_sqrt_n", tf::unsorted_segment_sqrt_n}};
  for (const Segments& one : unsorted) {
    const bool composed = std::string(one.name).find(' ') != std::string::npos;
    cases.push_back(
        {.name = one.name,
         .inputs = {random_input({5, 2}, 1, 9), input_of({5}, {2, 0, -1, 2, 1}, DType::int32)},
         .call = [call = one.call](In t) { return call(t.x, t.y, 3, {}, Site::current()); },
         .python = std::string(one.python) + "(x, y, 3)",
         .other_nodes = composed,
         .dtypes = composed ? std::vector{DType::float32, DType::float64} : numbers(),
         .large = {random_input({100000, 10}),
                   {.shape = {100000}, .low = 0, .high = 2.99, .dtype = DType::int32}}});
    cases.push_back(
        {.name = std::string(one.name) + " without rows",
         .inputs = {random_input({2, 2}, 1, 9), input_of({2}, {2, 2}, DType::int64)},
         .call = [call = one.call](In t) { return call(t.x, t.y, 4, {}, Site::current()); },
         .python = std::string(one.python) + "(x, y, 4)",
         .other_nodes = composed,
         .dtypes = {DType::float64},
         .gradients = CaseGradients::elsewhere});
  }
  cases.push_back({.name = "UnsortedSegmentSum of wide rows",
                   .inputs = {random_input({4, 200}), input_of({4}, {1, 0, 1, 1}, DType::int32)},
                   .call = [](In t) { return tf::unsorted_segment_sum(t.x, t.y, 2); },
                   .python = "tf.unsorted_segment_sum(x, y, 2)",
                   .large = {random_input({5000, 200}),
                             {.shape = {5000}, .low = 0, .high = 1.99, .dtype = DType::int32}}});
  struct SortedSegments {
    const char* name;
    const char* python;
    Tensor (*call)(const Operand&, const Operand&, SegmentOptions, Site);
  };
  const SortedSegments sorted[] = {{"SegmentSum", "tf.segment_sum", tf::segment_sum},
                                   {"SegmentMean", "tf.segment_mean", tf::segment_mean},
                                   {"SegmentProd", "tf.segment_prod", tf::segment_prod},
                                   {"SegmentMax", "tf.segment_max", tf::segment_max},
                                   {"SegmentMin", "tf.segment_min", tf::segment_min}};
  for (const SortedSegments& one : sorted) {
    cases.push_back(
        {.name = one.name,
         .inputs = {random_input({5, 2}, 1, 9), input_of({5}, {0, 0, 1, 2, 2}, DType::int32)},
         .call = [call = one.call](In t) { return call(t.x, t.y, {}, Site::current()); },
         .python = std::string(one.python) + "(x, y)",
         .dtypes = numbers()});
    cases.push_back(
        {.name = std::string(one.name) + " with a gap",
         .inputs = {random_input({3, 2}, 1, 9), input_of({3}, {1, 1, 4}, DType::int64)},
         .call = [call = one.call](In t) { return call(t.x, t.y, {}, Site::current()); },
         .python = std::string(one.python) + "(x, y)",
         .gradients = CaseGradients::elsewhere});
  }
  cases.push_back({.name = "SegmentSum of one segment",
                   .inputs = {random_input({3, 2}, 1, 9), input_of({3}, {0, 0, 0}, DType::int64)},
                   .call = [](In t) { return tf::segment_sum(t.x, t.y); },
                   .python = "tf.segment_sum(x, y)",
                   .large = {random_input({100000, 10}),
                             {.shape = {100000}, .low = 0, .high = 0.9, .dtype = DType::int64}}});
  cases.push_back({.name = "SegmentProd of zeros",
                   .inputs = {input_of({6}, {2, 0, 3, 0, 0, 5}),
                              input_of({6}, {0, 0, 0, 1, 1, 1}, DType::int32)},
                   .call = [](In t) { return tf::segment_prod(t.x, t.y); },
                   .python = "tf.segment_prod(x, y)",
                   .gradients = CaseGradients::elsewhere});
  cases.push_back(
      {.name = "SegmentMax of equal values",
       .inputs = {input_of({5}, {2, 2, 1, 3, 3}), input_of({5}, {0, 0, 0, 1, 1}, DType::int32)},
       .call = [](In t) { return tf::segment_max(t.x, t.y); },
       .python = "tf.segment_max(x, y)",
       .gradients = CaseGradients::elsewhere});
}

void add_tensor_scatter_cases(std::vector<OpCase>& cases) {
  struct Scatter {
    const char* name;
    const char* python;
    Tensor (*call)(const Operand&, const Operand&, const Operand&, TensorScatterOptions, Site);
    bool every_dtype;
  };
  const Scatter scatters[] = {
      {"TensorScatterUpdate", "tf.tensor_scatter_nd_update", tf::tensor_scatter_nd_update, true},
      {"TensorScatterAdd", "tf.tensor_scatter_nd_add", tf::tensor_scatter_nd_add, false},
      {"TensorScatterSub", "tf.tensor_scatter_nd_sub", tf::tensor_scatter_nd_sub, false}};
  for (const Scatter& one : scatters) {
    cases.push_back(
        {.name = one.name,
         .inputs = {random_input({4, 3}, -9, 9), input_of({2, 1}, {3, 1}, DType::int32),
                    random_input({2, 3}, -9, 9)},
         .call = [call = one.call](In t) { return call(t.x, t.y, t.z, {}, Site::current()); },
         .python = std::string(one.python) + "(x, y, z)",
         .dtypes = one.every_dtype ? any_dtype() : numbers(),
         .large = {random_input({100000, 10}),
                   {.shape = {10000, 1}, .low = 0, .high = 99999, .dtype = DType::int32},
                   random_input({10000, 10})}});
    cases.push_back(
        {.name = std::string(one.name) + " of elements",
         .inputs = {random_input({2, 3}, -9, 9), input_of({3, 2}, {1, 2, 0, 0, 1, 0}, DType::int64),
                    random_input({3}, -9, 9)},
         .call = [call = one.call](In t) { return call(t.x, t.y, t.z, {}, Site::current()); },
         .python = std::string(one.python) + "(x, y, z)"});
  }
}

/// Returns the value of a variable after `update` has run.
CaseResults value_after(const Tensor& update, const Variable& variable) {
  const auto after = tf::control_dependencies({update});
  return tf::identity(variable.read_value());
}

void add_scatter_cases(std::vector<OpCase>& cases) {
  const auto add = [&](const char* name, const std::string& python,
                       std::function<Tensor(const Variable&, In)> call, CaseInput x, CaseInput y,
                       std::vector<DType> dtypes) {
    cases.push_back({.name = name,
                     .inputs = {std::move(x), std::move(y)},
                     .call =
                         [call = std::move(call)](In t) {
                           const Tensor twos = tf::fill({4, 2}, tf::cast(2, t.dtype));
                           const Variable v(twos, {.name = "v", .home = VariableHome::device});
                           return value_after(call(v, t), v);
                         },
                     .python = "v = tf.Variable(tf.fill([4, 2], tf.cast(2, dtype)), name='v')\n"
                               "update = " +
                               python +
                               "\nwith tf.control_dependencies([update]):\n"
                               "  result = tf.identity(v.read_value())",
                     .dtypes = std::move(dtypes),
                     .gradients = CaseGradients::none});
  };
  const CaseInput rows = input_of({3}, {2, 0, 2}, DType::int32);
  const CaseInput values = random_input({3, 2}, 1, 9);
  const std::vector<DType> reals{DType::float32, DType::float64, DType::int32, DType::int64};
  add(
      "ScatterUpdate", "tf.scatter_update(v, y, x)",
      [](const Variable& v, In t) { return tf::scatter_update(v, t.y, t.x); }, values, rows,
      numbers());
  add(
      "ScatterMul", "tf.scatter_mul(v, y, x)",
      [](const Variable& v, In t) { return tf::scatter_mul(v, t.y, t.x); }, values, rows,
      numbers());
  add(
      "ScatterDiv", "tf.scatter_div(v, y, x)",
      [](const Variable& v, In t) { return tf::scatter_div(v, t.y, t.x); }, values, rows,
      numbers());
  add(
      "ScatterMin", "tf.scatter_min(v, y, x)",
      [](const Variable& v, In t) { return tf::scatter_min(v, t.y, t.x); },
      random_input({3, 2}, 0, 4), rows, reals);
  add(
      "ScatterMax", "tf.scatter_max(v, y, x)",
      [](const Variable& v, In t) { return tf::scatter_max(v, t.y, t.x); },
      random_input({3, 2}, 0, 4), rows, reals);
  add(
      "ScatterAdd of one value", "tf.scatter_add(v, y, x)",
      [](const Variable& v, In t) { return tf::scatter_add(v, t.y, t.x); }, random_input({}, 1, 9),
      input_of({2, 2}, {0, 1, 1, 3}, DType::int64), numbers());
  add(
      "ScatterAdd of one value, often", "tf.scatter_add(v, y, x)",
      [](const Variable& v, In t) { return tf::scatter_add(v, t.y, t.x); }, random_input({}, 1, 9),
      {.shape = {20}, .low = 0, .high = 3.99, .dtype = DType::int32}, numbers());
  const CaseInput places = input_of({3, 2}, {2, 0, 1, 1, 2, 0}, DType::int32);
  add(
      "ScatterNdUpdate", "tf.scatter_nd_update(v, y, x)",
      [](const Variable& v, In t) { return tf::scatter_nd_update(v, t.y, t.x); },
      random_input({3}, 1, 9), places, numbers());
  add(
      "ScatterNdAdd", "tf.scatter_nd_add(v, y, x)",
      [](const Variable& v, In t) { return tf::scatter_nd_add(v, t.y, t.x); },
      random_input({3}, 1, 9), places, numbers());
  add(
      "ScatterNdSub", "v.scatter_nd_sub(y, x)",
      [](const Variable& v, In t) { return v.scatter_nd_sub(t.y, t.x); }, values,
      input_of({3, 1}, {2, 0, 2}, DType::int64), numbers());
  add(
      "ScatterSub of slices", "v.scatter_sub(tf.IndexedSlices(x, y))",
      [](const Variable& v, In t) {
        return v.scatter_sub(IndexedSlices{t.x, t.y, std::nullopt});
      },
      values, rows, numbers());
}

void add_count_cases(std::vector<OpCase>& cases) {
  const auto none = CaseGradients::none;
  cases.push_back({.name = "DenseBincount",
                   .inputs = {input_of({2, 3}, {1, 2, 2, 0, 5, 2})},
                   .call = [](In t) { return tf::bincount(t.x); },
                   .python = "tf.bincount(x)",
                   .dtypes = integers(),
                   .gradients = none,
                   .large = {random_input({1000000}, 0, 99)}});
  cases.push_back({.name = "DenseBincount of weights",
                   .inputs = {random_input({4}), input_of({4}, {1, 2, 2, 5}, DType::int32)},
                   .call =
                       [](In t) {
                         const Tensor sums =
                             tf::bincount(t.y, {.weights = t.x, .minlength = 3, .maxlength = 4});
                         return tf::stop_gradient(sums);
                       },
                   .python = "tf.stop_gradient(tf.bincount(y, x, minlength=3, maxlength=4))",
                   .dtypes = {DType::float32, DType::float64, DType::int32, DType::int64},
                   .gradients = none});
  cases.push_back({.name = "HistogramFixedWidth",
                   .inputs = {input_of({2, 3}, {-1, 0, 1.5, 2, 5, 15}), input_of({2}, {0, 5})},
                   .call = [](In t) { return tf::histogram_fixed_width(t.x, t.y, {.nbins = 5}); },
                   .python = "tf.histogram_fixed_width(x, y, nbins=5)",
                   .dtypes = {DType::float32, DType::float64, DType::int32, DType::int64},
                   .gradients = none});
}

void add_embedding_cases(std::vector<OpCase>& cases) {
  const CaseInput ids = input_of({2, 3}, {4, 0, 1, 3, 4, 2}, DType::int32);
  for (const char* strategy : {"mod", "div"}) {
    cases.push_back(
        {.name = std::string("Embedding of tables, ") + strategy,
         .inputs = {random_input({3, 2}), random_input({2, 2}), ids},
         .call =
             [strategy](In t) {
               return nn::embedding_lookup({t.x, t.y}, t.z, {.partition_strategy = strategy});
             },
         .python = std::string("tf.nn.embedding_lookup([x, y], z, '") + strategy + "')"});
  }
  cases.push_back({.name = "Embedding of tables, clipped",
                   .inputs = {random_input({3, 2}), random_input({2, 2}), ids},
                   .call =
                       [](In t) {
                         return nn::embedding_lookup({t.x, t.y}, t.z, {.max_norm = 0.5});
                       },
                   .python = "tf.nn.embedding_lookup([x, y], z, max_norm=0.5)"});
}

}  // namespace

void add_arrays_cases(std::vector<OpCase>& cases) {
  add_list_cases(cases);
  add_set_cases(cases);
  add_order_cases(cases);
  add_partition_cases(cases);
  add_segment_cases(cases);
  add_tensor_scatter_cases(cases);
  add_scatter_cases(cases);
  add_count_cases(cases);
  add_embedding_cases(cases);
}

}  // namespace towerflow::testing

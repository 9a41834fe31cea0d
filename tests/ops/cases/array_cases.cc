// Ops that move elements, and ops that create tensors without operands.
#include "tests/ops/cases/families.h"
#include "towerflow/tf.h"

namespace towerflow::testing {
namespace {

const std::vector<CaseInput> kLargeMatrix{random_input({1000, 1000})};

/// Adds a case of one operand with every dtype.
void add_case(std::vector<OpCase>& cases, const char* name, CaseInput x, const char* python,
              std::function<CaseResults(const Tensor&)> call, bool timed = true) {
  cases.push_back({.name = name,
                   .inputs = {std::move(x)},
                   .call = [call = std::move(call)](In t) { return call(t.x); },
                   .python = python,
                   .dtypes = any_dtype(),
                   .large = timed ? kLargeMatrix : std::vector<CaseInput>{}});
}

void add_shaping_cases(std::vector<OpCase>& cases) {
  using T = const Tensor&;
  const CaseInput x = random_input({2, 3}, -9, 9);
  add_case(
      cases, "BroadcastTo", random_input({2, 1, 3}, -9, 9), "tf.broadcast_to(x, [2, 4, 3])",
      [](T t) {
        return tf::broadcast_to(t, {2, 4, 3});
      },
      false);
  add_case(
      cases, "BroadcastTo of a column", random_input({9, 1}, -9, 9), "tf.broadcast_to(x, [9, 10])",
      [](T t) {
        return tf::broadcast_to(t, {9, 10});
      },
      false);
  add_case(cases, "ExpandDims", x, "tf.expand_dims(x, 1)",
           [](T t) { return tf::expand_dims(t, 1); });
  add_case(
      cases, "Squeeze", random_input({1, 2, 1, 3}, -9, 9), "tf.squeeze(x, [0])",
      [](T t) { return tf::squeeze(t, {.axis = {0}}); }, false);
  add_case(
      cases, "Reshape", x, "tf.reshape(x, [3, -1])",
      [](T t) {
        return tf::reshape(t, {3, -1});
      },
      false);
  add_case(
      cases, "ReverseV2", random_input({2, 3, 4}, -9, 9), "tf.reverse(x, [0, -1])",
      [](T t) {
        return tf::reverse(t, {0, -1});
      },
      false);
  add_case(
      cases, "Transpose", random_input({2, 3, 4}, -9, 9), "tf.transpose(x, [2, 0, 1])",
      [](T t) {
        return tf::transpose(t, {2, 0, 1});
      },
      false);
  add_case(cases, "Transpose of a matrix", x, "tf.transpose(x)",
           [](T t) { return tf::transpose(t); });
  // Large enough for the tiles of a GPU.
  add_case(
      cases, "Transpose of matrices", random_input({2, 9, 34}, -9, 9), "tf.transpose(x, [0, 2, 1])",
      [](T t) {
        return tf::transpose(t, {0, 2, 1});
      },
      false);
  cases.back().gradients = CaseGradients::elsewhere;
  add_case(cases, "IdentityN", x, "tf.identity_n([x, x])", [](T t) {
    return CaseResults(tf::identity_n({t, t}));
  });
  add_case(
      cases, "PlaceholderWithDefault", x, "tf.placeholder_with_default(x, [2, 3])",
      [](T t) {
        return tf::placeholder_with_default(t, Shape{2, 3});
      },
      false);
  cases.back().dtypes = {DType::float32, DType::float64};
  cases.push_back(
      {.name = "SumToShape",  // arises in gradients of operands of unknown size
       .inputs = {random_input({2, 3}), random_input({1})},
       .call = [](In t) { return t.x * tf::placeholder_with_default(t.y, Shape{None}); },
       .python = "x * tf.placeholder_with_default(y, [None])"});
}

void add_piece_cases(std::vector<OpCase>& cases) {
  using T = const Tensor&;
  const CaseInput x = random_input({2, 3}, -9, 9);
  add_case(cases, "ConcatV2", x, "tf.concat([x, x], 1)", [](T t) { return tf::concat({t, t}, 1); });
  add_case(cases, "Pack", x, "tf.stack([x, x], 1)", [](T t) { return tf::stack({t, t}, 1); });
  add_case(
      cases, "ParallelConcat", x, "tf.stop_gradient(tf.parallel_stack([x, x, x]))",
      [](T t) {  // without a stop, asking for its gradient is a LookupError
        return tf::stop_gradient(tf::parallel_stack({t, t, t}));
      },
      false);
  cases.back().gradients = CaseGradients::none;
  cases.back().needs_sizes = true;
  add_case(
      cases, "Unpack", x, "tf.unstack(x, 2)", [](T t) { return CaseResults(tf::unstack(t, 2)); },
      false);
  add_case(
      cases, "Split", random_input({2, 6}, -9, 9), "tf.split(x, 3, 1)",
      [](T t) { return CaseResults(tf::split(t, 3, 1)); }, false);
  add_case(
      cases, "SplitV", x, "tf.split(x, [1, 2], 1)",
      [](T t) {
        return CaseResults(tf::split(t, {1, 2}, 1));
      },
      false);
  add_case(
      cases, "Slice", x, "tf.slice(x, [0, 1], [2, 2])",
      [](T t) {
        return tf::slice(t, {0, 1}, {2, 2});
      },
      false);
  add_case(
      cases, "StridedSlice", random_input({4, 5}, -9, 9),
      "tf.strided_slice(x, [3, 0], [0, 5], [-1, 2])",
      [](T t) {
        return tf::strided_slice(t, {3, 0}, {0, 5}, {-1, 2});
      },
      false);
  add_case(
      cases, "StridedSlice from an odd column", random_input({2, 8}, -9, 9),
      "tf.strided_slice(x, [0, 1], [2, 5])",
      [](T t) {
        return tf::strided_slice(t, {0, 1}, {2, 5});
      },
      false);
  add_case(cases, "Tile", x, "tf.tile(x, [2, 2])", [](T t) { return tf::tile(t, {2, 2}); });
  add_case(cases, "Pad", x, "tf.pad(x, [[1, 0], [0, 2]])", [](T t) {
    return tf::pad(t, {{1, 0}, {0, 2}});
  });
  add_case(
      cases, "PadV2", x, "tf.pad(x, [[1, 0], [0, 2]], constant_values=1)",
      [](T t) {
        return tf::pad(t, {{1, 0}, {0, 2}}, "CONSTANT", {.constant_values = 1});
      },
      false);
  cases.back().dtypes = {DType::float32, DType::float64};
  add_case(
      cases, "MirrorPad", random_input({3, 3}, -9, 9), "tf.pad(x, [[1, 0], [2, 1]], 'REFLECT')",
      [](T t) {
        return tf::pad(t, {{1, 0}, {2, 1}}, "REFLECT");
      },
      false);
  cases.back().dtypes = {DType::float32, DType::float64};
  cases.push_back(
      {.name = "GatherV2",
       .inputs = {random_input({3, 2}, -9, 9), input_of({2, 2}, {2, 0, 2, 1}, DType::int32)},
       .call = [](In t) { return tf::gather(t.x, t.y); },
       .python = "tf.gather(x, y)",
       .dtypes = any_dtype()});
  cases.push_back({.name = "GatherV2 of columns",
                   .inputs = {random_input({2, 3}, -9, 9), input_of({2}, {2, 0}, DType::int64)},
                   .call = [](In t) { return tf::gather(t.x, t.y, {.axis = 1}); },
                   .python = "tf.gather(x, y, axis=1)"});
  for (const bool rows : {true, false}) {  // the gradient is slices, or dense
    cases.push_back({.name = rows ? "GatherNd of rows" : "GatherNd",
                     .inputs = {random_input({3, 2}, -9, 9),
                                rows ? input_of({2, 1}, {2, 0}, DType::int32)
                                     : input_of({2, 2}, {2, 0, 1, 1}, DType::int32)},
                     .call = [](In t) { return tf::gather_nd(t.x, t.y); },
                     .python = "tf.gather_nd(x, y)",
                     .dtypes = any_dtype()});
  }
  cases.push_back(
      {.name = "ScatterNd",
       .inputs = {random_input({3, 2}, -9, 9), input_of({3, 1}, {2, 0, 2}, DType::int64)},
       .call =
           [](In t) {
             return tf::scatter_nd(t.y, t.x, {4, 2});
           },
       .python = "tf.scatter_nd(y, x, [4, 2])",
       .dtypes = numbers()});
  cases.push_back({.name = "DynamicStitch",  // occurs in graphs imported from TensorFlow
                   .inputs = {random_input({2, 2}, -9, 9), random_input({1, 2}, -9, 9)},
                   .call =
                       [](In t) {
                         const Tensor first = tf::constant({0, 2}), second = tf::constant({1});
                         return t.x.graph()
                             .add({.op = "DynamicStitch",
                                   .name = "DynamicStitch",
                                   .inputs = {first, second, t.x, t.y}})
                             .output(0);
                       },
                   .python = "tf.dynamic_stitch([[0, 2], [1]], [x, y])",
                   .other_nodes = true,
                   .dtypes = any_dtype()});
  cases.push_back({.name = "Where",
                   .inputs = {input_of({2, 3}, {0, 1, 1, 0, 0, 1}, DType::bool_)},
                   .call = [](In t) { return tf::where(t.x); },
                   .python = "tf.where(x)",
                   .dtypes = {DType::bool_},
                   .gradients = CaseGradients::none});
  // Arises in the gradient of a transpose by a computed order.
  cases.push_back({.name = "InvertPermutation",
                   .inputs = {random_input({2, 3, 4}), input_of({3}, {2, 0, 1}, DType::int32)},
                   .call = [](In t) { return tf::transpose(t.x, t.y); },
                   .python = "tf.transpose(x, y)"});
}

void add_made_cases(std::vector<OpCase>& cases) {
  const auto none = CaseGradients::none;
  cases.push_back({.name = "Fill",
                   .inputs = {random_input({}, -9, 9)},
                   .call =
                       [](In t) {
                         return tf::fill({2, 3}, t.x);
                       },
                   .python = "tf.fill([2, 3], x)",
                   .dtypes = any_dtype()});
  cases.push_back({.name = "OneHot",
                   .inputs = {input_of({2, 2}, {0, 2, 3, -1})},
                   .call = [](In t) { return tf::one_hot(t.x, 3); },
                   .python = "tf.one_hot(x, 3)",
                   .dtypes = integers(),
                   .gradients = none});
  cases.push_back({.name = "OneHot in the middle",
                   .inputs = {input_of({2, 3}, {0, 2, 1, 3, -1, 1})},
                   .call = [](In t) { return tf::one_hot(t.x, 3, {.axis = 1}); },
                   .python = "tf.one_hot(x, 3, axis=1)",
                   .dtypes = integers(),
                   .gradients = none});
  cases.push_back({.name = "Shape",
                   .inputs = {random_input({2, 3})},
                   .call = [](In t) { return tf::shape(t.x); },
                   .python = "tf.shape(x)",
                   .gradients = none});
  cases.push_back(
      {.name = "Rank",
       .inputs = {random_input({2, 3})},
       .call = [](In t) { return tf::rank(tf::placeholder_with_default(t.x, Shape::unknown())); },
       .python = "tf.rank(tf.placeholder_with_default(x, None))",
       .gradients = none});
  cases.push_back({.name = "Size",
                   .inputs = {random_input({2, 3})},
                   .call = [](In t) { return tf::size(t.x); },
                   .python = "tf.size(x)",
                   .gradients = none});
  cases.push_back({.name = "Const",
                   .call =
                       [](In t) {
                         return tf::constant({1, 2}, {.dtype = t.dtype});
                       },
                   .python = "tf.constant([1, 2], dtype=dtype)",
                   .dtypes = numbers(),
                   .gradients = none});
}

}  // namespace

void add_array_cases(std::vector<OpCase>& cases) {
  add_shaping_cases(cases);
  add_piece_cases(cases);
  add_made_cases(cases);
}

}  // namespace towerflow::testing

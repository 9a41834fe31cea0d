// Sums, products, searches: ops that combine elements.
#include <fmt/format.h>

#include "tests/ops/cases/families.h"
#include "towerflow/tf.h"

namespace towerflow::testing {
namespace {

const std::vector<CaseInput> kLarge{random_input({1000, 1000})};

void add_reduction_cases(std::vector<OpCase>& cases) {
  struct Reduction {
    const char* op;
    const char* python;
    std::function<Tensor(const Tensor&)> all, rows, kept;
    CaseGradients gradients = CaseGradients::both;
    std::vector<DType> dtypes = numbers();
  };
  using T = const Tensor&;
  const Reduction reductions[] = {
      {"Sum", "tf.reduce_sum", [](T x) { return tf::reduce_sum(x); },
       [](T x) { return tf::reduce_sum(x, 1); },
       [](T x) {
         return tf::reduce_sum(x, {0, 2}, {.keepdims = true});
       }},
      {"Mean", "tf.reduce_mean", [](T x) { return tf::reduce_mean(x); },
       [](T x) { return tf::reduce_mean(x, 1); },
       [](T x) {
         return tf::reduce_mean(x, {0, 2}, {.keepdims = true});
       }},
      {"Max", "tf.reduce_max", [](T x) { return tf::reduce_max(x); },
       [](T x) { return tf::reduce_max(x, 1); },
       [](T x) {
         return tf::reduce_max(x, {0, 2}, {.keepdims = true});
       }},
      {"Min", "tf.reduce_min", [](T x) { return tf::reduce_min(x); },
       [](T x) { return tf::reduce_min(x, 1); },
       [](T x) {
         return tf::reduce_min(x, {0, 2}, {.keepdims = true});
       }},
      {"Prod", "tf.reduce_prod", [](T x) { return tf::reduce_prod(x); },
       [](T x) { return tf::reduce_prod(x, 1); },
       [](T x) {
         return tf::reduce_prod(x, {0, 2}, {.keepdims = true});
       }},
  };
  for (const Reduction& one : reductions) {
    const auto add = [&](const char* suffix, const char* arguments, const auto& call) {
      cases.push_back({.name = one.op + std::string(suffix),
                       .inputs = {random_input({2, 3, 4}, 0.5, 3)},
                       .call = [call](In t) { return CaseResults(call(t.x)); },
                       .python = fmt::format("{}(x{})", one.python, arguments),
                       .dtypes = one.dtypes,
                       .gradients = one.gradients,
                       .large = kLarge});
    };
    add("", "", one.all);
    cases.push_back(cases.back());
    cases.back().name = one.op + std::string(" over rows");
    cases.back().python = fmt::format("{}(x, 1)", one.python);
    cases.back().call = [call = one.rows](In t) { return CaseResults(call(t.x)); };
    cases.push_back(cases.back());
    cases.back().name = one.op + std::string(" over two axes, kept");
    cases.back().python = fmt::format("{}(x, [0, 2], keepdims=True)", one.python);
    cases.back().call = [call = one.kept](In t) { return CaseResults(call(t.x)); };
    cases.back().large.clear();
  }
  cases.push_back({.name = "Sum of matrices over many rows",  // a GPU divides them into parts
                   .inputs = {random_input({2, 600, 3}, 0.5, 3)},
                   .call = [](In t) { return tf::reduce_sum(t.x, 1); },
                   .python = "tf.reduce_sum(x, 1)",
                   .gradients = CaseGradients::elsewhere});
  const CaseInput truth = input_of({2, 3}, {0, 1, 1, 1, 1, 1}, DType::bool_);
  for (const bool every : {true, false}) {
    cases.push_back(
        {.name = every ? "All" : "Any",
         .inputs = {truth},
         .call = [every](In t) { return every ? tf::reduce_all(t.x, 1) : tf::reduce_any(t.x, 1); },
         .python = every ? "tf.reduce_all(x, 1)" : "tf.reduce_any(x, 1)",
         .dtypes = {DType::bool_},
         .gradients = CaseGradients::none});
    cases.push_back(
        {.name = every ? "ArgMax" : "ArgMin",
         .inputs = {random_input({3, 4}, -9, 9)},
         .call = [every](In t) { return every ? tf::argmax(t.x, 1) : tf::argmin(t.x, 0); },
         .python = every ? "tf.argmax(x, 1)" : "tf.argmin(x, 0)",
         .dtypes = numbers(),
         .gradients = CaseGradients::none,
         .large = kLarge});
  }
}

void add_sum_cases(std::vector<OpCase>& cases) {
  cases.push_back({.name = "AddN",
                   .inputs = {random_input({2, 3}, 0, 9), random_input({2, 3}, 0, 9),
                              random_input({2, 3}, 0, 9)},
                   .call =
                       [](In t) {
                         return tf::add_n({t.x, t.y, t.z});
                       },
                   .python = "tf.add_n([x, y, z])",
                   .dtypes = numbers(),
                   .large = {random_input({1000, 1000}), random_input({1000, 1000}),
                             random_input({1000, 1000})}});
  cases.push_back({.name = "Cumsum",
                   .inputs = {random_input({3, 2, 2}, -9, 9)},
                   .call = [](In t) { return tf::cumsum(t.x, 1); },
                   .python = "tf.cumsum(x, 1)",
                   .dtypes = numbers(),
                   .large = kLarge});
  cases.push_back(
      {.name = "Cumsum exclusive, from the end",
       .inputs = {random_input({3, 2, 2}, -9, 9)},
       .call = [](In t) { return tf::cumsum(t.x, -1, {.exclusive = true, .reverse = true}); },
       .python = "tf.cumsum(x, -1, exclusive=True, reverse=True)"});
  cases.push_back({.name = "L2Loss",
                   .inputs = {random_input({2, 3})},
                   .call = [](In t) { return nn::l2_loss(t.x); },
                   .python = "tf.nn.l2_loss(x)",
                   .large = kLarge});
  cases.push_back(
      {.name = "UnsortedSegmentSum",
       .inputs = {random_input({4, 2}, -9, 9), input_of({4}, {2, 0, 2, -1}, DType::int32)},
       .call = [](In t) { return tf::unsorted_segment_sum(t.x, t.y, 3); },
       .python = "tf.unsorted_segment_sum(x, y, 3)",
       .dtypes = numbers()});
  cases.push_back({.name = "Range",
                   .inputs = {input_of({}, {1}), input_of({}, {9}), input_of({}, {2})},
                   .call = [](In t) { return tf::range(t.x, t.y, t.z); },
                   .python = "tf.range(x, y, z)",
                   .dtypes = {DType::float32, DType::float64, DType::int32, DType::int64},
                   .gradients = CaseGradients::none});
  cases.push_back({.name = "BroadcastGradientArgs",  // occurs in graphs imported from TensorFlow
                   .inputs = {input_of({2}, {2, 3}), input_of({1}, {3})},
                   .call =
                       [](In t) {
                         return CaseResults(t.x.graph()
                                                .add({.op = "BroadcastGradientArgs",
                                                      .name = "BroadcastGradientArgs",
                                                      .inputs = {t.x, t.y}})
                                                .outputs());
                       },
                   .python = "tf.raw_ops.BroadcastGradientArgs(s0=x, s1=y)",
                   .dtypes = integers(),
                   .gradients = CaseGradients::none});
}

void add_product_cases(std::vector<OpCase>& cases) {
  const std::vector<CaseInput> large{random_input({500, 500}), random_input({500, 500})};
  const auto add = [&](const char* name, Shape x, Shape y, bool transpose_a, bool transpose_b) {
    const auto text = [](bool value) { return value ? "True" : "False"; };
    cases.push_back({.name = name,
                     .inputs = {random_input(std::move(x)), random_input(std::move(y))},
                     .call =
                         [=](In t) {
                           return tf::matmul(
                               t.x, t.y, {.transpose_a = transpose_a, .transpose_b = transpose_b});
                         },
                     .python = fmt::format("tf.matmul(x, y, transpose_a={}, transpose_b={})",
                                           text(transpose_a), text(transpose_b)),
                     .large = large});
  };
  add("MatMul", {2, 3}, {3, 4}, false, false);
  add("MatMul of a transposed", {3, 2}, {3, 4}, true, false);
  add("MatMul by a transposed", {2, 3}, {4, 3}, false, true);
  add("MatMul of two transposed", {3, 2}, {4, 3}, true, true);
  cases.push_back(
      {.name = "_FusedMatMul",
       .inputs = {random_input({2, 3}), random_input({3, 4}), random_input({4})},
       .call = [](In t) { return nn::relu(nn::bias_add(tf::matmul(t.x, t.y), t.z)); },
       .python = "tf.nn.relu(tf.nn.bias_add(tf.matmul(x, y), z))",
       .large = {random_input({500, 500}), random_input({500, 500}), random_input({500})}});
  cases.push_back(
      {.name = "_FusedMatMul of a sum",
       .inputs = {random_input({2, 3}), random_input({3, 4}), random_input({2, 4})},
       .call = [](In t) { return t.z + tf::matmul(t.x, t.y); },
       .python = "z + tf.matmul(x, y)",
       .large = {random_input({500, 500}), random_input({500, 500}), random_input({500, 500})}});
  cases.push_back({.name = "_FusedMatMul of a sum and relu",
                   .inputs = {random_input({2, 3}), random_input({3, 4}), random_input({2, 4})},
                   .call = [](In t) { return nn::relu(t.z + tf::matmul(t.x, t.y)); },
                   .python = "tf.nn.relu(z + tf.matmul(x, y))"});
}

}  // namespace

void add_math_cases(std::vector<OpCase>& cases) {
  add_reduction_cases(cases);
  add_sum_cases(cases);
  add_product_cases(cases);
}

}  // namespace towerflow::testing

// Special functions, products of tensors, norms and what is made of them.
#include <cmath>

#include "tests/ops/cases/families.h"
#include "towerflow/tf.h"

namespace towerflow::testing {
namespace {

const std::vector<DType> kProducts{DType::float32, DType::float64, DType::int32, DType::int64};

void add_special_functions(std::vector<OpCase>& cases) {
  struct Function {
    const char* op;
    Tensor (*call)(const Operand&, UnaryOptions, Site);
    const char* python;
    double low, high;
    CaseGradients gradients = CaseGradients::both;
  };
  const Function functions[] = {
      {"Tan", tf::tan, "tf.tan(x)", -1, 1},
      {"Asin", tf::asin, "tf.asin(x)", -0.9, 0.9},
      {"Acos", tf::acos, "tf.acos(x)", -0.9, 0.9},
      {"Atan", tf::atan, "tf.atan(x)", -4, 4},
      {"Sinh", tf::sinh, "tf.sinh(x)", -3, 3},
      {"Cosh", tf::cosh, "tf.cosh(x)", -3, 3},
      {"Asinh", tf::asinh, "tf.asinh(x)", -4, 4},
      {"Acosh", tf::acosh, "tf.acosh(x)", 1.2, 4},
      {"Atanh", tf::atanh, "tf.atanh(x)", -0.8, 0.8},
      {"Erf", tf::erf, "tf.erf(x)", -3, 3},
      {"Erfc", tf::erfc, "tf.erfc(x)", -3, 3},
      {"Lgamma", tf::lgamma, "tf.lgamma(x)", 0.5, 9},
      {"Digamma", tf::digamma, "tf.digamma(x)", 0.5, 9},
      {"Rint", tf::rint, "tf.rint(x)", -4, 4, CaseGradients::none},
  };
  for (const Function& one : functions) {
    const bool from_one = one.low > 1;
    cases.push_back(
        {.name = one.op,
         .inputs = {random_input({2, 3, 5}, one.low, one.high)},
         .call = [call = one.call](In t) { return call(t.x, {}, Site::current()); },
         .python = one.python,
         .gradients = one.gradients,
         .large = {random_input({1000, 1000}, from_one ? 1.1 : -0.9, from_one ? 4 : 0.9)}});
  }
  cases.push_back({.name = "Digamma of negative numbers",
                   .inputs = {input_of({5}, {-0.5, -1.25, -3.75, 0.01, 30})},
                   .call = [](In t) { return tf::digamma(t.x); },
                   .python = "tf.digamma(x)",
                   .gradients = CaseGradients::elsewhere});
}

void add_binary_functions(std::vector<OpCase>& cases) {
  const std::vector<CaseInput> large{random_input({1000, 1000}, 0.5, 2),
                                     random_input({1000, 1000}, 0.5, 2)};
  const auto add = [&](const char* op, auto call, const char* python, CaseInput x, CaseInput y,
                       std::vector<DType> dtypes = kFloats,
                       CaseGradients gradients = CaseGradients::both) {
    const auto shaped = [](CaseInput input, Shape shape) {
      input.shape = std::move(shape);
      return input;
    };
    for (const bool rows : {false, true}) {
      cases.push_back(
          {.name = op + std::string(rows ? " along rows" : ""),
           .inputs = {shaped(x, rows ? Shape{4, 1, 3} : Shape{2, 3}), shaped(y, {2, 3})},
           .call = [call](In t) { return CaseResults(call(t.x, t.y)); },
           .python = python,
           .dtypes = dtypes,
           .gradients = gradients,
           .large = rows ? std::vector<CaseInput>{} : large});
    }
  };
  using T = const Tensor&;
  const CaseInput any = random_input({}, -3, 3), above = random_input({}, 1, 4);
  add(
      "Atan2", [](T y, T x) { return tf::atan2(y, x); }, "tf.atan2(x, y)", any, above);
  add(
      "Xdivy", [](T x, T y) { return tf::math::xdivy(x, y); }, "tf.math.xdivy(x, y)", any, above);
  add(
      "Xlogy", [](T x, T y) { return tf::math::xlogy(x, y); }, "tf.math.xlogy(x, y)", any, above);
  add(
      "Xlog1py", [](T x, T y) { return tf::math::xlog1py(x, y); }, "tf.math.xlog1py(x, y)", any,
      above);
  add(
      "RealDiv of realdiv", [](T x, T y) { return tf::realdiv(x, y); }, "tf.realdiv(x, y)", any,
      above, kProducts);
  add(
      "RealDiv of div", [](T x, T y) { return tf::div(x, y); }, "tf.div(x, y)", any, above);
  const auto none = CaseGradients::none;
  add(
      "FloorDiv of floor_div", [](T x, T y) { return tf::floor_div(x, y); }, "tf.floor_div(x, y)",
      any, above, kProducts, none);
  add(
      "TruncateDiv", [](T x, T y) { return tf::truncatediv(x, y); }, "tf.truncatediv(x, y)", any,
      above, numbers(), none);
  add(
      "TruncateMod",  // without a stop, asking for its gradient is a LookupError
      [](T x, T y) { return tf::stop_gradient(tf::truncatemod(x, y)); },
      "tf.stop_gradient(tf.truncatemod(x, y))", any, above, kProducts, none);
  cases.push_back({.name = "Polygamma",
                   .inputs = {input_of({3, 1}, {1, 2, 3}), random_input({2}, 1, 6)},
                   .call = [](In t) { return tf::polygamma(t.x, t.y); },
                   .python = "tf.polygamma(x, y)"});
  cases.push_back({.name = "LogicalAnd of logical_xor",
                   .inputs = {input_of({2, 2}, {0, 0, 1, 1}, DType::bool_),
                              input_of({2, 2}, {0, 1, 0, 1}, DType::bool_)},
                   .call = [](In t) { return tf::logical_xor(t.x, t.y); },
                   .python = "tf.logical_xor(x, y)",
                   .dtypes = {DType::bool_},
                   .gradients = none});
}

void add_batch_products(std::vector<OpCase>& cases) {
  const auto add = [&](const char* name, Shape x, Shape y, bool adjoint_a, bool adjoint_b,
                       std::vector<CaseInput> large = {}) {
    const auto text = [](bool value) { return value ? std::string("True") : std::string("False"); };
    cases.push_back(
        {.name = name,
         .inputs = {random_input(std::move(x), -3, 3), random_input(std::move(y), -3, 3)},
         .call =
             [=](In t) {
               return tf::matmul(t.x, t.y, {.adjoint_a = adjoint_a, .adjoint_b = adjoint_b});
             },
         .python = "tf.matmul(x, y, adjoint_a=" + text(adjoint_a) +
                   ", adjoint_b=" + text(adjoint_b) + ")",
         .dtypes = kProducts,
         .large = std::move(large)});
  };
  add("BatchMatMulV2", {2, 2, 3}, {2, 3, 2}, false, false,
      {random_input({64, 64, 64}), random_input({64, 64, 64})});
  add("BatchMatMulV2 of a turned", {2, 3, 2}, {2, 3, 2}, true, false);
  add("BatchMatMulV2 by a turned", {2, 2, 3}, {2, 2, 3}, false, true,
      {random_input({8, 8, 128, 64}), random_input({8, 8, 128, 64})});
  add("BatchMatMulV2 of two turned", {2, 3, 2}, {2, 2, 3}, true, true);
  add("BatchMatMulV2 by one matrix", {2, 2, 3}, {3, 2}, false, false,
      {random_input({32, 128, 128}), random_input({128, 128})});
  add("BatchMatMulV2 broadcast", {2, 1, 1, 3}, {3, 3, 2}, false, false);
  add("BatchMatMulV2 of nothing", {0, 2, 3}, {3, 2}, false, false);
  cases.push_back({.name = "BatchMatMulV2 transposed",
                   .inputs = {random_input({2, 3, 2}), random_input({2, 3, 2})},
                   .call = [](In t) { return tf::matmul(t.x, t.y, {.transpose_a = true}); },
                   .python = "tf.matmul(x, y, transpose_a=True)"});
}

void add_contractions(std::vector<OpCase>& cases) {
  const auto dot = [&](const char* name, Shape x, Shape y, const Operand& axes,
                       const char* python) {
    cases.push_back({.name = name,
                     .inputs = {random_input(std::move(x)), random_input(std::move(y))},
                     .call = [axes](In t) { return tf::tensordot(t.x, t.y, axes); },
                     .python = python});
  };
  dot("tensordot of one axis", {2, 3}, {3, 2}, 1, "tf.tensordot(x, y, 1)");
  dot("tensordot of no axis", {2}, {3}, 0, "tf.tensordot(x, y, 0)");
  dot("tensordot of two axes", {2, 2, 3}, {2, 3, 2}, 2, "tf.tensordot(x, y, 2)");
  dot("tensordot of a pair", {3, 2}, {3, 2}, {0, 0}, "tf.tensordot(x, y, [0, 0])");
  dot("tensordot of lists", {2, 3, 2}, {2, 2, 3}, {{1, 2}, {2, -2}},
      "tf.tensordot(x, y, [[1, 2], [2, -2]])");
  const auto sum = [&](const char* name, std::vector<CaseInput> inputs, const char* equation,
                       std::vector<CaseInput> large = {}) {
    const bool one = inputs.size() == 1;
    cases.push_back(
        {.name = std::string("Einsum ") + name,
         .inputs = std::move(inputs),
         .call =
             [equation, one](In t) {
               return one ? tf::einsum(equation, {t.x}) : tf::einsum(equation, {t.x, t.y});
             },
         .python = std::string("tf.einsum('") + equation + "', x" + (one ? ")" : ", y)"),
         .dtypes = kProducts,
         .large = std::move(large)});
  };
  const auto in = [](Shape shape) { return random_input(std::move(shape), -3, 3); };
  sum("matrix product", {in({2, 3}), in({3, 2})}, "ij,jk->ik",
      {random_input({500, 500}), random_input({500, 500})});
  sum("implied", {in({2, 3}), in({3, 2})}, "ij,jk");
  sum("turned product", {in({2, 3}), in({3, 2})}, "ij,jk->ki");
  sum("attention", {in({2, 2, 3, 2}), in({2, 2, 3, 2})}, "bqhd,bkhd->bhqk",
      {random_input({4, 128, 8, 64}), random_input({4, 128, 8, 64})});
  sum("batch last", {in({2, 3, 2}), in({3, 2, 2})}, "ijb,jkb->bik");
  sum("outer product", {in({2}), in({3})}, "i,j->ij");
  sum("inner product", {in({3}), in({3})}, "i,i->");
  sum("with own sums", {in({2, 3, 2}), in({2, 2})}, "abc,cd->ad");
  sum("dots", {in({2, 2, 3}), in({3, 2})}, "...ij,jk->...ik");
  sum("dots that broadcast", {in({2, 1, 2, 3}), in({3, 3, 2})}, "...ij,...jk->...ik");
  sum("dots in the middle", {in({2, 3, 2}), in({2, 1, 2})}, "a...b,b...a->...");
  sum("transpose", {in({2, 3, 2})}, "abc->cab", {random_input({100, 100, 100})});
  sum("sum", {in({2, 3, 2})}, "abc->ac");
  sum("sum and transpose", {in({2, 3, 2})}, "abc->ca");
  sum("diagonal", {in({3, 3, 2})}, "iij->ij");
  sum("trace", {in({3, 3})}, "ii->");
  sum("of nothing", {in({0, 3}), in({3, 2})}, "ij,jk->ik");
  cases.push_back({.name = "Einsum of three",
                   .inputs = {random_input({2, 3}), random_input({3, 2}), random_input({2, 4})},
                   .call =
                       [](In t) {
                         return tf::einsum("ij,jk,kl->il", {t.x, t.y, t.z});
                       },
                   .python = "tf.einsum('ij,jk,kl->il', x, y, z)",
                   .other_nodes = true});
}

void add_norms(std::vector<OpCase>& cases) {
  const auto add = [&](const char* name, auto call, const char* python,
                       std::vector<CaseInput> large = {}) {
    cases.push_back({.name = name,
                     .inputs = {random_input({2, 3, 2}, 0.5, 3)},
                     .call = [call](In t) { return CaseResults(call(t.x)); },
                     .python = python,
                     .large = std::move(large)});
  };
  using T = const Tensor&;
  add("norm", [](T x) { return tf::norm(x); }, "tf.norm(x)", {random_input({1000, 1000})});
  add(
      "norm of rows", [](T x) { return tf::norm(x, {.axis = 1}); }, "tf.norm(x, axis=1)");
  add(
      "norm 1", [](T x) { return tf::norm(x, 1, {.axis = -1, .keepdims = true}); },
      "tf.norm(x, 1, axis=-1, keepdims=True)");
  add(
      "norm infinity", [](T x) { return tf::norm(x, INFINITY); }, "tf.norm(x, np.inf)");
  add(
      "norm 3", [](T x) { return tf::norm(x, 3, {.axis = 0}); }, "tf.norm(x, 3, axis=0)");
  add(
      "norm fro",
      [](T x) {
        return tf::norm(x, "fro", {.axis = {0, 1}});
      },
      "tf.norm(x, 'fro', axis=[0, 1])");
  add(
      "norm 1 of matrices",
      [](T x) {
        return tf::norm(x, 1, {.axis = {-2, -1}});
      },
      "tf.norm(x, 1, axis=[-2, -1])");
  add(
      "norm infinity of matrices",
      [](T x) {
        return tf::norm(x, INFINITY, {.axis = {-2, -1}, .keepdims = true});
      },
      "tf.norm(x, np.inf, axis=[-2, -1], keepdims=True)");
  add("logsumexp", [](T x) { return tf::reduce_logsumexp(x); }, "tf.reduce_logsumexp(x)",
      {random_input({1000, 1000})});
  add(
      "logsumexp over rows", [](T x) { return tf::reduce_logsumexp(x, 1); },
      "tf.reduce_logsumexp(x, 1)");
  add(
      "logsumexp kept",
      [](T x) {
        return tf::reduce_logsumexp(x, {0, 2}, {.keepdims = true});
      },
      "tf.reduce_logsumexp(x, [0, 2], keepdims=True)");
  add(
      "variance", [](T x) { return tf::math::reduce_variance(x); }, "tf.math.reduce_variance(x)");
  add(
      "variance over rows", [](T x) { return tf::math::reduce_variance(x, 1, {.keepdims = true}); },
      "tf.math.reduce_variance(x, 1, keepdims=True)");
  add(
      "standard deviation",
      [](T x) {
        return tf::math::reduce_std(x, {0, 1});
      },
      "tf.math.reduce_std(x, [0, 1])");
}

void add_running_products(std::vector<OpCase>& cases) {
  const CaseInput x = random_input({3, 2, 2}, 1, 3);
  cases.push_back({.name = "Cumprod",
                   .inputs = {x},
                   .call = [](In t) { return tf::cumprod(t.x, 1); },
                   .python = "tf.cumprod(x, 1)",
                   .dtypes = numbers(),
                   .large = {random_input({1000, 1000}, 0.99, 1.01)}});
  cases.push_back({.name = "Cumprod of the first axis",
                   .inputs = {x},
                   .call = [](In t) { return tf::cumprod(t.x); },
                   .python = "tf.cumprod(x)"});
  cases.push_back(
      {.name = "Cumprod exclusive, from the end",
       .inputs = {x},
       .call = [](In t) { return tf::cumprod(t.x, -1, {.exclusive = true, .reverse = true}); },
       .python = "tf.cumprod(x, -1, exclusive=True, reverse=True)"});
  cases.push_back({.name = "Cross",
                   .inputs = {random_input({2, 3}, -3, 3), random_input({2, 3}, -3, 3)},
                   .call = [](In t) { return tf::cross(t.x, t.y); },
                   .python = "tf.cross(x, y)",
                   .dtypes = numbers(),
                   .large = {random_input({300000, 3}), random_input({300000, 3})}});
  cases.push_back({.name = "AddN of accumulate_n",
                   .inputs = {random_input({2, 3}), random_input({2, 3})},
                   .call =
                       [](In t) {
                         return tf::accumulate_n({t.x, t.y});
                       },
                   .python = "tf.accumulate_n([x, y])"});
}

void add_softmax_cases(std::vector<OpCase>& cases) {
  const std::vector<CaseInput> x{random_input({2, 3, 2}, -3, 3)};
  const std::vector<CaseInput> large{random_input({100, 100, 100})};
  const auto add = [&](const char* name, auto call, const char* python) {
    cases.push_back({.name = name,
                     .inputs = x,
                     .call = [call](In t) { return CaseResults(call(t.x)); },
                     .python = python,
                     .large = large});
  };
  using T = const Tensor&;
  add(
      "Softmax along the first axis", [](T t) { return nn::softmax(t, 0); }, "tf.nn.softmax(x, 0)");
  add(
      "Softmax along the middle axis", [](T t) { return nn::softmax(t, {.axis = -2}); },
      "tf.nn.softmax(x, axis=-2)");
  add(
      "LogSoftmax along the middle axis", [](T t) { return nn::log_softmax(t, {.dim = 1}); },
      "tf.nn.log_softmax(x, dim=1)");
  cases.push_back({.name = "SoftmaxCrossEntropyWithLogits along the middle axis",
                   .inputs = {random_input({2, 3, 2}, 0, 1), random_input({2, 3, 2}, -3, 3)},
                   .call =
                       [](In t) {
                         return nn::softmax_cross_entropy_with_logits_v2(
                             {.labels = nn::softmax(t.x, 1), .logits = t.y, .axis = 1});
                       },
                   .python = "tf.nn.softmax_cross_entropy_with_logits_v2("
                             "labels=tf.nn.softmax(x, 1), logits=y, axis=1)"});
}

void add_layer_cases(std::vector<OpCase>& cases) {
  const std::vector<CaseInput> product{random_input({2, 3}), random_input({3, 2}),
                                       random_input({2})};
  cases.push_back({.name = "xw_plus_b",
                   .inputs = product,
                   .call = [](In t) { return nn::xw_plus_b(t.x, t.y, t.z); },
                   .python = "tf.nn.xw_plus_b(x, y, z)"});
  cases.push_back({.name = "relu_layer",
                   .inputs = product,
                   .call = [](In t) { return nn::relu_layer(t.x, t.y, t.z); },
                   .python = "tf.nn.relu_layer(x, y, z)"});
  cases.push_back({.name = "crelu",
                   .inputs = {random_input({2, 3}, -3, 3)},
                   .call = [](In t) { return nn::crelu(t.x); },
                   .python = "tf.nn.crelu(x)"});
  cases.push_back({.name = "zero_fraction",
                   .inputs = {input_of({2, 3}, {0, 1, 0, -2, 3, 0})},
                   .call = [](In t) { return nn::zero_fraction(t.x); },
                   .python = "tf.nn.zero_fraction(x)",
                   .other_nodes = true,
                   .dtypes = kProducts,
                   .gradients = CaseGradients::none});
  const std::vector<CaseInput> counts{input_of({2, 3}, {0.2, 1.5, 3, 0.7, 5, 2.5}),
                                      random_input({2, 3}, -2, 2)};
  cases.push_back({.name = "log_poisson_loss",
                   .inputs = counts,
                   .call = [](In t) { return nn::log_poisson_loss(t.x, t.y); },
                   .python = "tf.nn.log_poisson_loss(x, y)"});
  cases.push_back(
      {.name = "log_poisson_loss in full",
       .inputs = counts,
       .call = [](In t) { return nn::log_poisson_loss(t.x, t.y, {.compute_full_loss = true}); },
       .python = "tf.nn.log_poisson_loss(x, y, compute_full_loss=True)"});
  cases.push_back(
      {.name = "weighted_cross_entropy_with_logits",
       .inputs = {random_input({2, 3}, 0, 1), random_input({2, 3}, -3, 3), random_input({3}, 1, 3)},
       .call = [](In t) { return nn::weighted_cross_entropy_with_logits(t.x, t.y, t.z); },
       .python = "tf.nn.weighted_cross_entropy_with_logits(x, y, z)"});
  cases.push_back(
      {.name = "mean_pairwise_squared_error",
       .inputs = {random_input({3, 4}), random_input({3, 4}), input_of({3, 1}, {1, 0, 2})},
       .call = [](In t) { return losses::mean_pairwise_squared_error(t.x, t.y, {.weights = t.z}); },
       .python = "tf.losses.mean_pairwise_squared_error(x, y, z)",
       .python_dtype = DType::float32,
       .dtypes = {DType::float32},
       .step = 1e-2});
}

void add_confusion_cases(std::vector<OpCase>& cases) {
  const std::vector<CaseInput> pairs{input_of({5}, {1, 0, 2, 2, 1}),
                                     input_of({5, 1}, {1, 2, 2, 0, 1})};
  cases.push_back({.name = "confusion_matrix",
                   .inputs = pairs,
                   .call = [](In t) { return tf::confusion_matrix(t.x, t.y); },
                   .python = "tf.confusion_matrix(x, y)",
                   .other_nodes = true,
                   .dtypes = integers(),
                   .gradients = CaseGradients::none});
  cases.push_back({.name = "confusion_matrix weighted",
                   .inputs = {input_of({3}, {1, 0, 2}, DType::int32),
                              input_of({3}, {1, 2, 2}, DType::int32), random_input({3})},
                   .call =
                       [](In t) {
                         return tf::confusion_matrix(
                             t.x, t.y, {.num_classes = 4, .dtype = t.dtype, .weights = t.z});
                       },
                   .python = "tf.confusion_matrix(x, y, 4, dtype=dtype, weights=z)",
                   .other_nodes = true});
}

void add_drawn_cases(std::vector<OpCase>& cases) {
  const auto none = CaseGradients::none;
  for (const bool narrow : {false, true}) {
    cases.push_back({.name = narrow ? "Multinomial int32" : "Multinomial",
                     .inputs = {input_of({2, 3}, {0.1, 0.5, 2, 1, -1, 0.25})},
                     .call =
                         [narrow](In t) {
                           return tf::multinomial(
                               t.x, 7, {.seed = 3, .output_dtype = narrow ? tf::int32 : tf::int64});
                         },
                     .python = narrow ? "tf.multinomial(x, 7, seed=3, output_dtype=tf.int32)"
                                      : "tf.multinomial(x, 7, seed=3)",
                     .gradients = none,
                     .large = {random_input({200, 1000})}});
  }
  cases.push_back({.name = "random_crop",
                   .inputs = {random_input({5, 4}, -9, 9)},
                   .call =
                       [](In t) {
                         return tf::random_crop(t.x, {2, 3}, {.seed = 5});
                       },
                   .python = "tf.random_crop(x, [2, 3], seed=5)",
                   .other_nodes = true,
                   .gradients = CaseGradients::elsewhere});
  const CaseInput classes = input_of({3, 1}, {1, 7, 2}, DType::int64);
  const auto sampler = [&](const char* name, bool logarithmic, bool unique, int range,
                           const char* python) {
    cases.push_back(
        {.name = name,
         .inputs = {classes},
         .call =
             [=](In t) {
               const auto drawn =
                   logarithmic
                       ? nn::log_uniform_candidate_sampler(t.x, 1, 5, unique, range, {.seed = 4})
                       : nn::uniform_candidate_sampler(t.x, 1, 5, unique, range, {.seed = 4});
               return CaseResults({drawn.sampled_candidates, drawn.true_expected_count,
                                   drawn.sampled_expected_count});
             },
         .python = python,
         .dtypes = {DType::int64},
         .gradients = none});
  };
  sampler("LogUniformCandidateSampler", true, true, 10,
          "list(tf.nn.log_uniform_candidate_sampler(x, 1, 5, True, 10, seed=4))");
  sampler("LogUniformCandidateSampler with repeats", true, false, 10,
          "list(tf.nn.log_uniform_candidate_sampler(x, 1, 5, False, 10, seed=4))");
  sampler("UniformCandidateSampler", false, true, 10,
          "list(tf.nn.uniform_candidate_sampler(x, 1, 5, True, 10, seed=4))");
  sampler("UniformCandidateSampler of a power of two", false, false, 8,
          "list(tf.nn.uniform_candidate_sampler(x, 1, 5, False, 8, seed=4))");
  cases.push_back({.name = "ComputeAccidentalHits",
                   .inputs = {classes, input_of({4}, {7, 3, 1, 7}, DType::int64)},
                   .call =
                       [](In t) {
                         const auto hits = nn::compute_accidental_hits(t.x, t.y, 1);
                         return CaseResults({hits.indices, hits.ids, hits.weights});
                       },
                   .python = "list(tf.nn.compute_accidental_hits(x, y, 1))",
                   .dtypes = {DType::int64},
                   .gradients = none});
}

void add_sampled_losses(std::vector<OpCase>& cases) {
  const std::vector<CaseInput> inputs{random_input({10, 3}), random_input({10}),
                                      input_of({2, 2}, {1, 7, 0, 2}, DType::int64),
                                      random_input({2, 3})};
  cases.push_back({.name = "nce_loss",
                   .inputs = inputs,
                   .call =
                       [](In t) {
                         const auto drawn =
                             nn::log_uniform_candidate_sampler(t.z, 2, 5, true, 10, {.seed = 4});
                         return nn::nce_loss(t.x, t.y, t.z, t.w, 5, 10,
                                             {.num_true = 2, .sampled_values = drawn});
                       },
                   .python = "tf.nn.nce_loss(x, y, z, w, 5, 10, num_true=2, sampled_values="
                             "tf.nn.log_uniform_candidate_sampler(z, 2, 5, True, 10, seed=4))",
                   .python_dtype = DType::float32,
                   .dtypes = {DType::float32},
                   .gradients = CaseGradients::first,
                   .step = 1e-2});
  cases.push_back({.name = "sampled_softmax_loss",
                   .inputs = inputs,
                   .call =
                       [](In t) {
                         return nn::sampled_softmax_loss(t.x, t.y, t.z, t.w, 5, 10,
                                                         {.num_true = 2, .seed = 4});
                       },
                   .python = "tf.nn.sampled_softmax_loss(x, y, z, w, 5, 10, num_true=2, seed=4)",
                   .python_dtype = DType::float32,
                   .dtypes = {DType::float32},
                   .gradients = CaseGradients::first,
                   .step = 1e-2});
  cases.push_back({.name = "SparseToDense",
                   .inputs = {random_input({2}), random_input({})},
                   .call =
                       [](In t) {
                         return tf::sparse_to_dense({{0, 1}, {1, 0}}, {2, 3}, t.x, t.y);
                       },
                   .python = "tf.sparse_to_dense([[0, 1], [1, 0]], [2, 3], x, y)"});
  cases.push_back({.name = "SparseToDense of a vector",
                   .inputs = {random_input({}, -9, 9)},
                   .call =
                       [](In t) {
                         return tf::sparse_to_dense({3, 1}, {5}, t.x, {.validate_indices = false});
                       },
                   .python = "tf.sparse_to_dense([3, 1], [5], x, validate_indices=False)",
                   .dtypes = numbers(),
                   .gradients = CaseGradients::elsewhere});
}

}  // namespace

void add_mathematics_cases(std::vector<OpCase>& cases) {
  add_special_functions(cases);
  add_binary_functions(cases);
  add_batch_products(cases);
  add_contractions(cases);
  add_norms(cases);
  add_running_products(cases);
  add_softmax_cases(cases);
  add_layer_cases(cases);
  add_confusion_cases(cases);
  add_drawn_cases(cases);
  add_sampled_losses(cases);
}

}  // namespace towerflow::testing

// Layers and losses.
#include <fmt/format.h>

#include "tests/ops/cases/families.h"
#include "towerflow/tf.h"

namespace towerflow::testing {
namespace {

void add_window_cases(std::vector<OpCase>& cases) {
  const std::vector<CaseInput> large{random_input({32, 28, 28, 32}), random_input({5, 5, 32, 64})};
  const auto conv = [&](const char* name, Shape x, Shape filter, int stride, const char* padding) {
    cases.push_back(
        {.name = name,
         .inputs = {random_input(std::move(x)), random_input(std::move(filter))},
         .call =
             [=](In t) {
               return nn::conv2d(t.x, t.y, {1, stride, stride, 1}, padding);
             },
         .python = fmt::format("tf.nn.conv2d(x, y, [1, {}, {}, 1], '{}')", stride, stride, padding),
         .tolerance = 1e-4});
  };
  conv("Conv2D", {2, 4, 5, 2}, {3, 3, 2, 3}, 1, "SAME");
  cases.back().large = large;
  conv("Conv2D with steps", {2, 5, 5, 2}, {3, 3, 2, 3}, 2, "SAME");
  cases.push_back({.name = "Conv2D with steps of two sizes",
                   .inputs = {random_input({2, 5, 7, 2}), random_input({3, 3, 2, 3})},
                   .call =
                       [](In t) {
                         return nn::conv2d(t.x, t.y, {1, 2, 3, 1}, "SAME");
                       },
                   .python = "tf.nn.conv2d(x, y, [1, 2, 3, 1], 'SAME')",
                   .tolerance = 1e-4});
  conv("Conv2D inside", {1, 6, 6, 3}, {5, 5, 3, 4}, 1, "VALID");
  for (const char* window : {"3", "5"}) {  // enough channels and results to use Winograd
    const std::int64_t size = window[0] - '0';
    cases.push_back({.name = std::string("_FusedConv2D of many channels, ") + window,
                     .inputs = {random_input({3, 17, 16, 16}), random_input({size, size, 16, 16}),
                                random_input({16})},
                     .call =
                         [](In t) {
                           const Tensor same = nn::conv2d(t.x, t.y, {1, 1, 1, 1}, "SAME");
                           const Tensor inside = nn::conv2d(t.x, t.y, {1, 1, 1, 1}, "VALID");
                           return CaseResults({same * same, nn::relu(nn::bias_add(inside, t.z))});
                         },
                     .dtypes = {DType::float32},
                     .tolerance = 1e-4});
  }
  cases.push_back(
      {.name = "_FusedConv2D",
       .inputs = {random_input({2, 4, 5, 2}), random_input({3, 3, 2, 3}), random_input({3})},
       .call =
           [](In t) {
             return nn::relu(nn::bias_add(nn::conv2d(t.x, t.y, {1, 1, 1, 1}, "SAME"), t.z));
           },
       .python = "tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, y, [1, 1, 1, 1], 'SAME'), z))",
       .tolerance = 1e-4});
  const std::vector<CaseInput> image{random_input({32, 28, 28, 32})};
  for (const bool largest : {true, false}) {
    const std::string op = largest ? "MaxPool" : "AvgPool";
    const std::string python = largest ? "tf.nn.max_pool" : "tf.nn.avg_pool";
    const auto pool = [&](const std::string& name, int size, int stride, const char* padding) {
      cases.push_back({.name = name,
                       .inputs = {random_input({2, 5, 4, 2})},
                       .call =
                           [=](In t) {
                             return largest ? nn::max_pool(t.x, {1, size, size, 1},
                                                           {1, stride, stride, 1}, padding)
                                            : nn::avg_pool(t.x, {1, size, size, 1},
                                                           {1, stride, stride, 1}, padding);
                           },
                       .python = fmt::format("{}(x, [1, {}, {}, 1], [1, {}, {}, 1], '{}')", python,
                                             size, size, stride, stride, padding)});
    };
    pool(op, 2, 2, "SAME");
    cases.back().large = image;
    pool(op + " of windows that overlap", 3, 2, "VALID");
  }
  cases.push_back({.name = "_MaxPoolReluGrad",
                   .inputs = {random_input({2, 4, 4, 2})},
                   .call =
                       [](In t) {
                         return nn::max_pool(nn::relu(t.x), {1, 2, 2, 1}, {1, 2, 2, 1}, "SAME");
                       },
                   .python = "tf.nn.max_pool(tf.nn.relu(x), [1, 2, 2, 1], [1, 2, 2, 1], 'SAME')"});
  // Its own case, so that its gradient is differentiated too.
  cases.push_back({.name = "MaxPoolGrad",
                   .inputs = {random_input({1, 4, 4, 2})},
                   .call =
                       [](In t) {
                         const Tensor y = nn::max_pool(t.x, {1, 2, 2, 1}, {1, 2, 2, 1}, "SAME");
                         return convert_to_tensor(*tf::gradients({y * y}, {t.x})[0]);
                       },
                   .python = "(lambda y: tf.gradients(y * y, x)[0])("
                             "tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], 'SAME'))",
                   .other_nodes = true});
  for (const double beta : {0.5, 0.75, 1.2}) {
    cases.push_back(
        {.name = fmt::format("LRN to {}", beta),
         .inputs = {random_input({2, 2, 3, 7})},
         .call =
             [beta](In t) { return nn::lrn(t.x, 2, {.bias = 0.8, .alpha = 0.3, .beta = beta}); },
         .python = fmt::format("tf.nn.lrn(x, 2, bias=0.8, alpha=0.3, beta={})", beta),
         .python_dtype = DType::float32,
         .gradients = CaseGradients::first,
         .large = {random_input({32, 28, 28, 64})}});
  }
  cases.push_back({.name = "BiasAdd",
                   .inputs = {random_input({2, 3, 4}), random_input({4})},
                   .call = [](In t) { return nn::bias_add(t.x, t.y); },
                   .python = "tf.nn.bias_add(x, y)",
                   .large = {random_input({1000, 1000}), random_input({1000})}});
  cases.push_back({.name = "BiasAdd, channels first",
                   .inputs = {random_input({2, 3, 4}), random_input({3})},
                   .call = [](In t) { return nn::bias_add(t.x, t.y, {.data_format = "NC..."}); },
                   .python = "tf.nn.bias_add(x, y, data_format='NC...')"});
}

void add_loss_cases(std::vector<OpCase>& cases) {
  const std::vector<CaseInput> large{random_input({1000, 100})};
  cases.push_back({.name = "Softmax",
                   .inputs = {random_input({2, 4}, -3, 3)},
                   .call = [](In t) { return nn::softmax(t.x); },
                   .python = "tf.nn.softmax(x)",
                   .large = large});
  cases.push_back({.name = "LogSoftmax",
                   .inputs = {random_input({2, 4}, -3, 3)},
                   .call = [](In t) { return nn::log_softmax(t.x); },
                   .python = "tf.nn.log_softmax(x)",
                   .large = large});
  cases.push_back({.name = "SparseSoftmaxCrossEntropyWithLogits",
                   .inputs = {random_input({3, 4}, -3, 3), input_of({3}, {2, 0, 3}, DType::int32)},
                   .call =
                       [](In t) {
                         return nn::sparse_softmax_cross_entropy_with_logits(
                             {.labels = t.y, .logits = t.x});
                       },
                   .python = "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x)"});
  cases.push_back(
      {.name = "_ScaledSparseSoftmaxCrossEntropy",
       .inputs = {random_input({3, 4}, -3, 3), input_of({3}, {2, 0, 3}, DType::int64)},
       .call =
           [](In t) {
             return tf::reduce_mean(
                 nn::sparse_softmax_cross_entropy_with_logits({.labels = t.y, .logits = t.x}));
           },
       .python = "tf.reduce_mean("
                 "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x))"});
  cases.push_back({.name = "SoftmaxCrossEntropyWithLogits",
                   .inputs = {random_input({2, 3}, -3, 3), random_input({2, 3}, -3, 3)},
                   .call =
                       [](In t) {
                         return nn::softmax_cross_entropy_with_logits_v2(
                             {.labels = nn::softmax(t.y), .logits = t.x});
                       },
                   .python = "tf.nn.softmax_cross_entropy_with_logits_v2("
                             "labels=tf.nn.softmax(y), logits=x)"});
  cases.push_back({.name = "InTopKV2",
                   .inputs = {random_input({3, 4}), input_of({3}, {2, 0, 3}, DType::int32)},
                   .call = [](In t) { return nn::in_top_k(t.x, t.y, 2); },
                   .python = "tf.nn.in_top_k(x, y, 2)",
                   .dtypes = {DType::float32},
                   .gradients = CaseGradients::none});
}

}  // namespace

void add_nn_cases(std::vector<OpCase>& cases) {
  add_window_cases(cases);
  add_loss_cases(cases);
}

}  // namespace towerflow::testing

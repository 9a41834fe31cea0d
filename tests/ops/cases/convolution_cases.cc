// Normalization, convolutions of all kinds, and what they are composed of.
#include <fmt/format.h>

#include "ops/nn/fused_batch_norm.h"
#include "ops/nn/statistics.h"
#include "tests/ops/cases/families.h"
#include "towerflow/tf.h"

namespace towerflow::testing {
namespace {

using In = const CaseTensors&;

void add_statistics_cases(std::vector<OpCase>& cases) {
  cases.push_back({.name = "weighted_moments",
                   .inputs = {random_input({2, 3, 2}), random_input({2, 3, 1}, 0.5, 2)},
                   .call =
                       [](In t) {
                         const nn::Moments found = nn::weighted_moments(t.x, {0, 1}, t.y);
                         return CaseResults({found.mean, found.variance});
                       },
                   .python = "tf.nn.weighted_moments(x, [0, 1], y)"});
  cases.push_back({.name = "weighted_moments of counts",
                   .inputs = {random_input({2, 3}), input_of({2, 1}, {2, 1}, DType::int32)},
                   .call =
                       [](In t) {
                         const nn::Moments found =
                             nn::weighted_moments(t.x, {0}, t.y, {.keepdims = true});
                         return CaseResults({found.mean, found.variance});
                       },
                   .python = "tf.nn.weighted_moments(x, [0], y, keepdims=True)"});
  cases.push_back(
      {.name = "sufficient_statistics and normalize_moments",
       .inputs = {random_input({2, 3, 2}), random_input({2})},
       .call =
           [](In t) {
             const auto sums = nn::sufficient_statistics(t.x, {0, 1}, {.shift = t.y});
             const nn::Moments found =
                 nn::normalize_moments(sums.counts, sums.mean_ss, sums.variance_ss, *sums.shift);
             return CaseResults({found.mean, found.variance});
           },
       .python = "tf.nn.normalize_moments(*tf.nn.sufficient_statistics(x, [0, 1], y))"});
  cases.push_back({.name = "sufficient_statistics without shift",
                   .inputs = {random_input({2, 3, 2})},
                   .call =
                       [](In t) {
                         const auto sums = nn::sufficient_statistics(t.x, {-1}, {.keepdims = true});
                         const nn::Moments found = nn::normalize_moments(
                             sums.counts, sums.mean_ss, sums.variance_ss, tf::None);
                         return CaseResults({found.mean, found.variance});
                       },
                   .python = "tf.nn.normalize_moments("
                             "*tf.nn.sufficient_statistics(x, [-1], keepdims=True))"});
}

void add_batch_norm_cases(std::vector<OpCase>& cases) {
  const auto add = [&](const char* name, Shape shape, std::int64_t channels, const char* format) {
    cases.push_back(
        {.name = std::string("FusedBatchNormV3 ") + name,
         // The first operand has the numbers of the cotangent, whose gradient would vanish.
         .inputs = {random_input({channels}, 0.5, 2), random_input(std::move(shape)),
                    random_input({channels})},
         .call =
             [format](In t) {
               return nn::fused_batch_norm(t.y, t.x, t.z, {.data_format = format}).y;
             },
         .python = fmt::format("tf.nn.fused_batch_norm(y, x, z, data_format='{}')[0]", format),
         .python_dtype = DType::float32,
         .other_nodes = true,
         .gradients = CaseGradients::first});
  };
  add("in training", {3, 3, 5, 2}, 2, "NHWC");
  cases.back().large = {random_input({64}), random_input({32, 28, 28, 64}), random_input({64})};
  add("of three channels", {2, 12, 11, 3}, 3, "NHWC");
  cases.back().large = {random_input({3}), random_input({32, 64, 64, 3}), random_input({3})};
  add("of many channels", {2, 3, 3, 70}, 70, "NHWC");
  cases.back().large = {random_input({512}), random_input({16, 14, 14, 512}), random_input({512})};
  add("channels first", {3, 2, 9, 8}, 2, "NCHW");
  cases.back().large = {random_input({64}), random_input({32, 64, 28, 28}), random_input({64})};
  add("of volumes", {2, 2, 3, 2, 3}, 3, "NDHWC");
  add("of volumes, channels first", {2, 3, 2, 3, 2}, 3, "NCDHW");
  cases.push_back({.name = "FusedBatchNormGradV3 twice",
                   .inputs = {random_input({2, 3, 2, 2}), random_input({2, 3, 2, 2})},
                   .call =
                       [](In t) {
                         const Tensor y =
                             nn::fused_batch_norm(t.x, tf::constant({0.5, 2.0}, {.dtype = t.dtype}),
                                                  tf::zeros({2}, {.dtype = t.dtype}))
                                 .y;
                         return y * t.y;
                       },
                   .python = "tf.nn.fused_batch_norm(x, tf.constant([0.5, 2.0], dtype), "
                             "tf.zeros([2], dtype))[0] * y",
                   .python_dtype = DType::float32,
                   .other_nodes = true});
  cases.push_back(
      {.name = "FusedBatchNormGradV3 of all its results",
       .inputs = {random_input({2, 2, 3, 2}), random_input({2, 2, 3, 2})},
       .call =
           [](In t) {
             const auto batch_norm =
                 nn::fused_batch_norm(t.x, tf::constant({0.5, 2.0}, {.dtype = t.dtype}),
                                      tf::zeros({2}, {.dtype = t.dtype}), {.data_format = "NCHW"});
             const Operation op = batch_norm.y.op();
             const auto found =
                 tf::gradients({batch_norm.y}, {t.x, op.input(1), op.input(2)}, {.grad_ys = {t.y}});
             return CaseResults({found[0]->dense(), found[1]->dense(), found[2]->dense()});
           },
       .python = "(lambda y_: tf.gradients([y_], [x] + list(y_.op.inputs[1:3]), [y]))("
                 "tf.nn.fused_batch_norm(x, tf.constant([0.5, 2.0], dtype), "
                 "tf.zeros([2], dtype), data_format='NCHW')[0])",
       .python_dtype = DType::float32,
       .other_nodes = true,
       .gradients = CaseGradients::first});
  const auto inference = [&](const char* name, const char* format, Shape shape) {
    cases.push_back({.name = std::string("FusedBatchNormV3 ") + name,
                     .inputs = {random_input(std::move(shape)), random_input({2}, 0.5, 2),
                                random_input({2}), random_input({2}, 0.5, 2)},
                     .call =
                         [format](In t) {
                           return nn::fused_batch_norm(t.x, t.y, t.z,
                                                       {.mean = t.w,
                                                        .variance = t.w,
                                                        .epsilon = 0.1F,
                                                        .data_format = format,
                                                        .is_training = false})
                               .y;
                         },
                     .python = fmt::format("tf.nn.fused_batch_norm(x, y, z, w, w, epsilon=0.1, "
                                           "data_format='{}', is_training=False)[0]",
                                           format),
                     .python_dtype = DType::float32,
                     .other_nodes = true,
                     .gradients = CaseGradients::first});
  };
  inference("in inference", "NHWC", {2, 3, 5, 2});
  inference("in inference, channels first", "NCHW", {2, 2, 3, 5});
  cases.push_back(
      {.name = "FusedBatchNormV3 and its running statistics",
       .inputs = {random_input({2, 3, 2, 2}), random_input({2}), random_input({2}),
                  random_input({2}, 0.5, 2)},
       .call =
           [](In t) {
             const auto first = nn::fused_batch_norm(t.x, t.y, t.z);
             const auto more = nn::fused_batch_norm(
                 t.x, t.y, t.z, {.mean = t.z, .variance = t.w, .exponential_avg_factor = 0.25F});
             const auto fixed = nn::fused_batch_norm(
                 t.x, t.y, t.z, {.mean = t.z, .variance = t.w, .is_training = false});
             return CaseResults({first.running_mean, first.running_var, more.running_mean,
                                 more.running_var, fixed.running_mean, fixed.running_var});
           },
       .python = "(*tf.nn.fused_batch_norm(x, y, z)[1:], "
                 "*tf.nn.fused_batch_norm(x, y, z, z, w, exponential_avg_factor=0.25)[1:], "
                 "*tf.nn.fused_batch_norm(x, y, z, z, w, is_training=False)[1:])",
       .python_dtype = DType::float32,
       .other_nodes = true,
       .gradients = CaseGradients::elsewhere});
}

}  // namespace

void add_convolution_cases(std::vector<OpCase>& cases) {
  add_statistics_cases(cases);
  add_batch_norm_cases(cases);
}

}  // namespace towerflow::testing

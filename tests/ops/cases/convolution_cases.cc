// Normalization, convolutions of all kinds, and what they are composed of.
#include <fmt/format.h>

#include "tests/ops/cases/families.h"
#include "towerflow/tf.h"

namespace towerflow::testing {
namespace {

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
  // As many channels as a GPU takes at once, and images that are no multiple of that.
  add("of four channels first", {2, 4, 3, 3}, 4, "NCHW");
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

/// Python's text of a list of ints.
std::string list_text(const std::vector<int>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

void add_conv2d_cases(std::vector<OpCase>& cases) {
  const auto add = [&](const char* name, Shape x, Shape filter, int stride,
                       const nn::WindowPadding& padding, const char* padding_text,
                       const std::vector<int>& dilations, const char* format) {
    cases.push_back(
        {.name = std::string("Conv2D ") + name,
         .inputs = {random_input(std::move(x)), random_input(std::move(filter))},
         .call =
             [=](In t) {
               return nn::conv2d(t.x, t.y, stride, padding,
                                 {.data_format = format, .dilations = dilations});
             },
         .python = fmt::format("tf.nn.conv2d(x, y, {}, {}, data_format='{}', dilations={})", stride,
                               padding_text, format, list_text(dilations)),
         .python_dtype = DType::float32,
         .tolerance = 1e-4});
  };
  add("dilated", {2, 7, 8, 2}, {3, 2, 2, 3}, 1, "SAME", "'SAME'", {2, 3}, "NHWC");
  cases.back().large = {random_input({16, 28, 28, 32}), random_input({3, 3, 32, 64})};
  add("dilated inside", {1, 9, 8, 2}, {3, 3, 2, 2}, 2, "VALID", "'VALID'", {1, 2, 2, 1}, "NHWC");
  add("with given padding", {2, 5, 4, 2}, {3, 3, 2, 2}, 2,
      nn::WindowPadding::Numbers{{0, 0}, {2, 1}, {0, 3}, {0, 0}},
      "[[0, 0], [2, 1], [0, 3], [0, 0]]", {1}, "NHWC");
  add("channels first", {2, 3, 5, 4}, {3, 3, 3, 2}, 1, "SAME", "'SAME'", {1}, "NCHW");
  cases.back().large = {random_input({16, 32, 28, 28}), random_input({3, 3, 32, 64})};
  add("channels first, dilated", {2, 3, 6, 7}, {2, 3, 3, 2}, 1, "VALID", "'VALID'", {1, 1, 2, 2},
      "NCHW");
  add("in groups", {2, 4, 5, 6}, {3, 2, 2, 9}, 1, "SAME", "'SAME'", {1}, "NHWC");
  cases.back().large = {random_input({16, 28, 28, 64}), random_input({3, 3, 16, 64})};
  cases.push_back(
      {.name = "Conv2DBackpropInput dilated",
       .inputs = {random_input({2, 5, 4, 3}), random_input({3, 3, 2, 3})},
       .call =
           [](In t) {
             return nn::conv2d_transpose(t.x, t.y, {2, 5, 4, 2}, 1, {.dilations = {2, 2}});
           },
       .python = "tf.nn.conv2d_transpose(x, y, [2, 5, 4, 2], 1, dilations=[2, 2])",
       .python_dtype = DType::float32,
       .tolerance = 1e-4});
}

void add_depthwise_cases(std::vector<OpCase>& cases) {
  const auto add = [&](const char* name, Shape x, Shape filter, std::vector<int> strides,
                       const nn::WindowPadding& padding, const char* padding_text,
                       const std::vector<int>& dilations, const char* format) {
    cases.push_back(
        {.name = std::string("DepthwiseConv2dNative ") + name,
         .inputs = {random_input(std::move(x)), random_input(std::move(filter))},
         .call =
             [=](In t) {
               return nn::depthwise_conv2d_native(t.x, t.y, strides, padding,
                                                  {.data_format = format, .dilations = dilations});
             },
         .python = fmt::format("tf.nn.depthwise_conv2d_native(x, y, {}, {}, data_format='{}', "
                               "dilations={})",
                               list_text(strides), padding_text, format, list_text(dilations)),
         .python_dtype = DType::float32,
         .tolerance = 1e-4});
  };
  add("same", {2, 4, 5, 3}, {3, 3, 3, 1}, {1, 1, 1, 1}, "SAME", "'SAME'", {1, 1, 1, 1}, "NHWC");
  cases.back().large = {random_input({16, 28, 28, 64}), random_input({3, 3, 64, 1})};
  add("of two results", {1, 5, 4, 3}, {3, 2, 3, 2}, {1, 2, 2, 1}, "VALID", "'VALID'", {1, 1, 1, 1},
      "NHWC");
  cases.back().large = {random_input({16, 28, 28, 32}), random_input({3, 3, 32, 2})};
  add("in steps", {2, 7, 6, 18}, {3, 3, 18, 1}, {1, 2, 2, 1}, "SAME", "'SAME'", {1, 1, 1, 1},
      "NHWC");
  cases.back().large = {random_input({16, 56, 56, 64}), random_input({3, 3, 64, 1})};
  add("dilated", {2, 7, 6, 2}, {3, 3, 2, 2}, {1, 1, 1, 1}, "SAME", "'SAME'", {1, 2, 2, 1}, "NHWC");
  // TensorFlow's gradients on CPUs ignore the dilation.
  cases.back().gradients = CaseGradients::elsewhere;
  add("dilated, gradients", {2, 7, 6, 2}, {3, 3, 2, 2}, {1, 1, 1, 1}, "SAME", "'SAME'",
      {1, 2, 2, 1}, "NHWC");
  cases.back().python = "";
  add("with given padding", {2, 5, 4, 2}, {3, 3, 2, 1}, {1, 1, 1, 1},
      nn::WindowPadding::Numbers{{0, 0}, {1, 2}, {0, 3}, {0, 0}},
      "[[0, 0], [1, 2], [0, 3], [0, 0]]", {1, 1, 1, 1}, "NHWC");
  add("channels first", {2, 3, 5, 4}, {3, 3, 3, 2}, {1, 1, 1, 1}, "SAME", "'SAME'", {1, 1, 1, 1},
      "NCHW");
  add("of many channels", {1, 3, 3, 70}, {3, 3, 70, 1}, {1, 1, 1, 1}, "SAME", "'SAME'",
      {1, 1, 1, 1}, "NHWC");
}

void add_block_cases(std::vector<OpCase>& cases) {
  const std::vector<CaseInput> large{random_input({16, 56, 56, 32})};
  cases.push_back({.name = "SpaceToBatchND",
                   .inputs = {random_input({2, 4, 5, 3})},
                   .call =
                       [](In t) {
                         return tf::space_to_batch_nd(t.x, {2, 3}, {{0, 2}, {1, 3}});
                       },
                   .python = "tf.space_to_batch_nd(x, [2, 3], [[0, 2], [1, 3]])",
                   .dtypes = any_dtype()});
  cases.push_back({.name = "SpaceToBatchND without padding",
                   .inputs = {random_input({1, 4, 2})},
                   .call =
                       [](In t) {
                         return tf::space_to_batch_nd(t.x, Operand({2}), {{0, 0}});
                       },
                   .python = "tf.space_to_batch_nd(x, [2], [[0, 0]])"});
  cases.push_back({.name = "SpaceToBatchND of images",
                   .inputs = {random_input({2, 4, 5, 3})},
                   .call =
                       [](In t) {
                         return tf::space_to_batch(t.x, {{0, 0}, {1, 0}}, 2);
                       },
                   .python = "tf.space_to_batch(x, [[0, 0], [1, 0]], 2)"});
  cases.push_back({.name = "SpaceToBatchND timed",
                   .inputs = {random_input({2, 4, 4, 3})},
                   .call =
                       [](In t) {
                         return tf::space_to_batch_nd(t.x, {2, 2}, {{2, 2}, {2, 2}});
                       },
                   .python = "tf.space_to_batch_nd(x, [2, 2], [[2, 2], [2, 2]])",
                   .large = large});
  cases.push_back({.name = "BatchToSpaceND",
                   .inputs = {random_input({12, 2, 3, 2})},
                   .call =
                       [](In t) {
                         return tf::batch_to_space_nd(t.x, {2, 3}, {{1, 0}, {2, 4}});
                       },
                   .python = "tf.batch_to_space_nd(x, [2, 3], [[1, 0], [2, 4]])",
                   .dtypes = any_dtype()});
  cases.push_back({.name = "BatchToSpaceND of images",
                   .inputs = {random_input({4, 3, 3, 2})},
                   .call =
                       [](In t) {
                         return tf::batch_to_space(t.x, {{0, 0}, {1, 0}}, 2);
                       },
                   .python = "tf.batch_to_space(x, [[0, 0], [1, 0]], 2)",
                   .large = large});
  cases.push_back({.name = "SpaceToDepth",
                   .inputs = {random_input({2, 4, 6, 3})},
                   .call = [](In t) { return tf::space_to_depth(t.x, 2); },
                   .python = "tf.space_to_depth(x, 2)",
                   .dtypes = any_dtype(),
                   .large = large});
  cases.push_back({.name = "DepthToSpace",
                   .inputs = {random_input({2, 2, 1, 18})},
                   .call = [](In t) { return tf::depth_to_space(t.x, 3); },
                   .python = "tf.depth_to_space(x, 3)",
                   .dtypes = any_dtype(),
                   .large = {random_input({16, 56, 56, 36})}});
  cases.push_back(
      {.name = "SpaceToDepth and back, channels first",
       .inputs = {random_input({2, 3, 4, 2})},
       .call =
           [](In t) {
             const Tensor deep = tf::space_to_depth(t.x, 2, {.data_format = "NCHW"});
             return CaseResults({deep, tf::depth_to_space(deep, 2, {.data_format = "NCHW"})});
           },
       .python = "(lambda y: [tf.transpose(y, [0, 3, 1, 2]), x])("
                 "tf.space_to_depth(tf.transpose(x, [0, 2, 3, 1]), 2))",
       .other_nodes = true});
}

void add_composed_cases(std::vector<OpCase>& cases) {
  const auto add = [&](const char* name, std::vector<CaseInput> inputs, auto call,
                       const char* python) {
    cases.push_back({.name = name,
                     .inputs = std::move(inputs),
                     .call = call,
                     .python = python,
                     .python_dtype = DType::float32,
                     .tolerance = 1e-4});
  };
  const std::vector<CaseInput> depthwise{random_input({2, 5, 6, 2}), random_input({3, 3, 2, 2})};
  add(
      "depthwise_conv2d", depthwise,
      [](In t) {
        return nn::depthwise_conv2d(t.x, t.y, {1, 2, 2, 1}, "SAME");
      },
      "tf.nn.depthwise_conv2d(x, y, [1, 2, 2, 1], 'SAME')");
  add(
      "depthwise_conv2d dilated", depthwise,
      [](In t) {
        return nn::depthwise_conv2d(t.x, t.y, {1, 1, 1, 1}, "SAME", {.rate = {{2, 3}}});
      },
      "tf.nn.depthwise_conv2d(x, y, [1, 1, 1, 1], 'SAME', rate=[2, 3])");
  add(
      "depthwise_conv2d dilated in one dimension", depthwise,
      [](In t) {
        return nn::depthwise_conv2d(t.x, t.y, {1, 1, 1, 1}, "VALID",
                                    {.name = "k", .dilations = {{1, 2}}});
      },
      "tf.nn.depthwise_conv2d(x, y, [1, 1, 1, 1], 'VALID', dilations=[1, 2], name='k')");
  const std::vector<CaseInput> separable{random_input({2, 5, 6, 2}), random_input({3, 3, 2, 2}),
                                         random_input({1, 1, 4, 3})};
  add(
      "separable_conv2d", separable,
      [](In t) {
        return nn::separable_conv2d(t.x, t.y, t.z, {1, 1, 1, 1}, "SAME");
      },
      "tf.nn.separable_conv2d(x, y, z, [1, 1, 1, 1], 'SAME')");
  add(
      "separable_conv2d dilated", separable,
      [](In t) {
        return nn::separable_conv2d(t.x, t.y, t.z, {1, 1, 1, 1}, "SAME",
                                    {.rate = {{2, 2}}, .name = "k"});
      },
      "tf.nn.separable_conv2d(x, y, z, [1, 1, 1, 1], 'SAME', rate=[2, 2], name='k')");
  const std::vector<CaseInput> images{random_input({2, 6, 5, 2}), random_input({3, 2, 2, 3})};
  add(
      "convolution of images", images,
      [](In t) {
        return nn::convolution(t.x, t.y, "SAME", {.strides = {{2, 2}}});
      },
      "tf.nn.convolution(x, y, 'SAME', strides=[2, 2])");
  add(
      "convolution of images, dilated", images,
      [](In t) {
        return nn::convolution(t.x, t.y, "VALID", {.dilation_rate = {{1, 2}}});
      },
      "tf.nn.convolution(x, y, 'VALID', dilation_rate=[1, 2])");
  add(
      "atrous_conv2d", images,
      [](In t) { return nn::atrous_conv2d(t.x, t.y, 2, "SAME", {.name = "k"}); },
      "tf.nn.atrous_conv2d(x, y, 2, 'SAME', name='k')");
  cases.back().needs_sizes = true;
  add(
      "atrous_conv2d with given padding", images,
      [](In t) {
        return nn::atrous_conv2d(t.x, t.y, 2,
                                 nn::WindowPadding::Numbers{{0, 0}, {1, 2}, {0, 1}, {0, 0}});
      },
      "tf.nn.atrous_conv2d(x, y, 2, [[0, 0], [1, 2], [0, 1], [0, 0]])");
  add(
      "atrous_conv2d_transpose", {random_input({1, 5, 6, 3}), random_input({3, 2, 2, 3})},
      [](In t) {
        return nn::atrous_conv2d_transpose(t.x, t.y, {1, 5, 6, 2}, 2, "SAME");
      },
      "tf.nn.atrous_conv2d_transpose(x, y, [1, 5, 6, 2], 2, 'SAME')");
  cases.back().needs_sizes = true;
  const std::vector<CaseInput> signals{random_input({2, 7, 2}), random_input({3, 2, 3})};
  add(
      "convolution of signals", signals, [](In t) { return nn::convolution(t.x, t.y, "SAME"); },
      "tf.nn.convolution(x, y, 'SAME')");
  add(
      "convolution of signals, dilated", signals,
      [](In t) { return nn::convolution(t.x, t.y, "VALID", {.dilations = {{2}}}); },
      "tf.nn.convolution(x, y, 'VALID', dilations=[2])");
  add(
      "conv1d", signals, [](In t) { return nn::conv1d(t.x, t.y, 2, "VALID"); },
      "tf.nn.conv1d(x, y, 2, 'VALID')");
  add(
      "conv1d, channels first", {random_input({2, 2, 7}), random_input({3, 2, 3})},
      [](In t) {
        return nn::conv1d(t.x, t.y, 1, "SAME", {.data_format = "NCW", .dilations = {{2}}});
      },
      "tf.nn.conv1d(x, y, 1, 'SAME', data_format='NCW', dilations=[2])");
  add(
      "pool the largest", {random_input({2, 6, 5, 2})},
      [](In t) {
        return nn::pool(t.x, {2, 3}, "MAX", "SAME", {.strides = {{2, 1}}});
      },
      "tf.nn.pool(x, [2, 3], 'MAX', 'SAME', strides=[2, 1])");
  add(
      "pool the mean, dilated", {random_input({2, 6, 5, 2})},
      [](In t) {
        return nn::pool(t.x, {2, 2}, "AVG", "VALID", {.dilation_rate = {{2, 1}}});
      },
      "tf.nn.pool(x, [2, 2], 'AVG', 'VALID', dilation_rate=[2, 1])");
  add(
      "pool signals", {random_input({2, 6, 2})},
      [](In t) { return nn::pool(t.x, {2}, "MAX", "VALID"); },
      "tf.nn.pool(x, [2], 'MAX', 'VALID')");
}

void add_pool_cases(std::vector<OpCase>& cases) {
  cases.push_back({.name = "MaxPool with given padding",
                   .inputs = {random_input({2, 5, 4, 2})},
                   .call =
                       [](In t) {
                         return nn::max_pool(
                             t.x, 3, 2, nn::WindowPadding::Numbers{{0, 0}, {1, 0}, {2, 1}, {0, 0}});
                       },
                   .python = "tf.nn.max_pool(x, 3, 2, [[0, 0], [1, 0], [2, 1], [0, 0]])",
                   .gradients = CaseGradients::first});
  cases.push_back(
      {.name = "MaxPool, channels first",
       .inputs = {random_input({2, 3, 5, 4})},
       .call = [](In t) { return nn::max_pool(t.x, 2, 2, "SAME", {.data_format = "NCHW"}); },
       .python = "tf.nn.max_pool(x, 2, 2, 'SAME', data_format='NCHW')",
       .python_dtype = DType::float32});
  const auto argmax = [&](const char* name, DType index, bool with_batch) {
    cases.push_back(
        {.name = std::string("MaxPoolWithArgmax") + name,
         .inputs = {random_input({2, 5, 4, 2})},
         .call =
             [=](In t) {
               const auto found = nn::max_pool_with_argmax(
                   t.x, {1, 2, 2, 1}, {1, 2, 2, 1}, "SAME",
                   {.Targmax = index, .include_batch_in_index = with_batch});
               return CaseResults({found.output, found.argmax});
             },
         .python = fmt::format("tf.nn.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 2, 2, 1], 'SAME', "
                               "Targmax=tf.{}, include_batch_in_index={})",
                               dtype_name(index), with_batch ? "True" : "False"),
         .gradients = CaseGradients::first});
  };
  argmax("", DType::int64, false);
  cases.back().large = {random_input({16, 56, 56, 32})};
  argmax(" of the batch", DType::int64, true);
  argmax(" in int32", DType::int32, false);
  cases.back().gradients = CaseGradients::elsewhere;  // TensorFlow's CPU kernel takes only int64
  cases.push_back(
      {.name = "AvgPool, channels first",
       .inputs = {random_input({2, 3, 5, 4})},
       .call = [](In t) { return nn::avg_pool(t.x, 2, 2, "VALID", {.data_format = "NCHW"}); },
       .python = "tf.nn.avg_pool(x, 2, 2, 'VALID', data_format='NCHW')",
       .python_dtype = DType::float32});
}

}  // namespace

void add_convolution_cases(std::vector<OpCase>& cases) {
  add_statistics_cases(cases);
  add_batch_norm_cases(cases);
  add_conv2d_cases(cases);
  add_depthwise_cases(cases);
  add_block_cases(cases);
  add_composed_cases(cases);
  add_pool_cases(cases);
}

}  // namespace towerflow::testing

// Calls of convolutions, pooling, normalization and blocks.
#include "tests/ops/naming/cases.h"

namespace towerflow::testing {
namespace {

using In = const Inputs&;
using Numbers = nn::WindowPadding::Numbers;

Tensor image(Shape shape) { return placeholder(float32, {.shape = std::move(shape)}); }

struct ConvCall {
  Shape x{2, 9, 9, 4};
  Shape w{3, 3, 4, 6};
};

void conv(const nn::WindowPadding& padding, const nn::Conv2DOptions& options = {},
          const ConvCall& call = {}) {
  const Tensor x = image(call.x);
  nn::conv2d(x, image(call.w), 1, padding, options);
}

void depthwise(const nn::WindowPadding& padding, const nn::DepthwiseConv2DOptions& options = {},
               const ConvCall& call = {.w = {3, 3, 4, 2}},
               const nn::Extents& strides = {1, 1, 1, 1}) {
  const Tensor x = image(call.x);
  nn::depthwise_conv2d(x, image(call.w), strides, padding, options);
}

void separable(Shape point, const nn::DepthwiseConv2DOptions& options = {}) {
  const Tensor x = image({2, 9, 9, 4});
  const Tensor w = image({3, 3, 4, 2});
  nn::separable_conv2d(x, w, image(std::move(point)), {1, 1, 1, 1}, "SAME", options);
}

void add_conv2d(Cases& c) {
  c["conv2d dilated"] = [](In) { conv("SAME", {.dilations = {2}}); };
  c["conv2d dilated by rows"] = [](In) { conv("VALID", {.dilations = {1, 2, 1, 1}, .name = "k"}); };
  c["conv2d dilation zero"] = [](In) { conv("SAME", {.dilations = {0}}); };
  c["conv2d dilations of three"] = [](In) { conv("SAME", {.dilations = {1, 1, 1}}); };
  c["conv2d dilated too far"] = [](In) { conv("VALID", {.dilations = {5}}); };
  c["conv2d padding"] = [](In) { conv(Numbers{{0, 0}, {1, 2}, {0, 3}, {0, 0}}); };
  c["conv2d padding of batch"] = [](In) { conv(Numbers{{1, 0}, {1, 2}, {0, 3}, {0, 0}}); };
  c["conv2d padding of channels"] = [](In) { conv(Numbers{{0, 0}, {1, 2}, {0, 3}, {0, 1}}); };
  c["conv2d padding negative"] = [](In) { conv(Numbers{{0, 0}, {-1, 2}, {0, 3}, {0, 0}}); };
  c["conv2d padding of two"] = [](In) { conv(Numbers{{1, 2}, {0, 3}}); };
  c["conv2d padding of triples"] = [](In) {
    conv(Numbers{{0, 0, 0}, {1, 2, 0}, {0, 3, 0}, {0, 0, 0}});
  };
  c["conv2d padding explicit"] = [](In) { conv("EXPLICIT"); };
  c["conv2d channels first"] = [](In) {
    conv("SAME", {.data_format = "NCHW"}, {.x = {2, 4, 9, None}});
  };
  c["conv2d channels first padding"] = [](In) {
    conv(Numbers{{0, 0}, {0, 0}, {1, 2}, {0, 3}}, {.data_format = "NCHW"}, {.x = {2, 4, 9, 9}});
  };
  c["conv2d groups"] = [](In) { conv("SAME", {}, {.w = {3, 3, 2, 6}}); };
  c["conv2d groups of input"] = [](In) { conv("SAME", {}, {.w = {3, 3, 3, 6}}); };
  c["conv2d groups of output"] = [](In) { conv("SAME", {}, {.w = {3, 3, 2, 5}}); };
  c["conv2d_transpose dilated"] = [](In) {
    const Tensor value = image({2, 9, 9, 6});
    nn::conv2d_transpose(value, image({3, 3, 4, 6}), {2, 9, 9, 4}, 1, {.dilations = {2}});
  };
  c["conv2d_transpose padding"] = [](In) {
    const Tensor value = image({2, 9, 9, 6});
    nn::conv2d_transpose(value, image({3, 3, 4, 6}), {2, 9, 9, 4}, 1,
                         Numbers{{0, 0}, {1, 1}, {2, 0}, {0, 0}});
  };
}

void add_depthwise(Cases& c) {
  c["depthwise_conv2d"] = [](In) { depthwise("SAME"); };
  c["depthwise_conv2d named"] = [](In) {
    depthwise("VALID", {.name = "k"}, {.w = {3, 3, 4, 2}}, {1, 2, 2, 1});
  };
  c["depthwise_conv2d rate"] = [](In) { depthwise("SAME", {.rate = {{2, 3}}}); };
  c["depthwise_conv2d rate VALID"] = [](In) { depthwise("VALID", {.rate = {{2, 3}}}); };
  c["depthwise_conv2d rate padding"] = [](In) {
    depthwise(Numbers{{0, 0}, {1, 2}, {0, 3}, {0, 0}}, {.rate = {{2, 2}}});
  };
  c["depthwise_conv2d rate unknown batch"] = [](In) {
    depthwise("SAME", {.rate = {{2, 2}}}, {.x = {None, 9, 9, 4}, .w = {3, 3, 4, 2}});
  };
  c["depthwise_conv2d rate unknown size"] = [](In) {
    depthwise("SAME", {.rate = {{2, 2}}}, {.x = {2, None, 9, 4}, .w = {3, 3, 4, 2}});
  };
  c["depthwise_conv2d rate channels first"] = [](In) {
    depthwise("SAME", {.rate = {{2, 2}}, .data_format = "NCHW"},
              {.x = {2, 4, 9, 9}, .w = {3, 3, 4, 2}});
  };
  c["depthwise_conv2d rate twice"] = [](In) {
    depthwise("SAME", {.rate = {{2, 2}}, .dilations = {{2, 2}}});
  };
  c["depthwise_conv2d rate zero"] = [](In) { depthwise("SAME", {.rate = {{0, 2}}}); };
  c["depthwise_conv2d channels"] = [](In) { depthwise("SAME", {}, {.w = {3, 3, 5, 2}}); };
  c["depthwise_conv2d large"] = [](In) { depthwise("VALID", {}, {.w = {10, 3, 4, 2}}); };
  c["depthwise_conv2d int"] = [](In) {
    const Tensor x = placeholder(int32, {.shape = {1, 3, 3, 1}});
    nn::depthwise_conv2d(x, placeholder(int32, {.shape = {1, 1, 1, 1}}), {1, 1, 1, 1}, "SAME");
  };
  c["depthwise_conv2d_native"] = [](In) {
    const Tensor x = image({2, 9, 9, 4});
    nn::depthwise_conv2d_native(x, image({3, 3, 4, 2}), {1, 1, 1, 1}, "SAME",
                                {.dilations = {1, 2, 2, 1}});
  };
  c["depthwise_conv2d_backprop_input"] = [](In) {
    const Tensor w = image({3, 3, 4, 2});
    nn::depthwise_conv2d_backprop_input({2, 9, 9, 4}, w, image({2, 9, 9, 8}), {1, 1, 1, 1}, "SAME");
  };
  c["depthwise_conv2d_backprop_filter"] = [](In) {
    const Tensor x = image({2, 9, 9, 4});
    nn::depthwise_conv2d_backprop_filter(x, {3, 3, 4, 2}, image({2, 9, 9, 8}), {1, 1, 1, 1},
                                         "SAME");
  };
  c["separable_conv2d"] = [](In) { separable({1, 1, 8, 3}); };
  c["separable_conv2d rate"] = [](In) { separable({1, 1, 8, 3}, {.rate = {{2, 2}}, .name = "k"}); };
  c["separable_conv2d pointwise"] = [](In) { separable({2, 1, 8, 3}); };
  c["separable_conv2d channels"] = [](In) { separable({1, 1, 7, 3}); };
}

void add_convolution(Cases& c) {
  const auto images = [](const nn::WindowPadding& padding, const nn::ConvolutionOptions& options) {
    const Tensor x = image({2, 9, 9, 4});
    nn::convolution(x, image({3, 3, 4, 2}), padding, options);
  };
  const auto signals = [](const nn::WindowPadding& padding, const nn::ConvolutionOptions& options) {
    const Tensor x = image({2, 9, 4});
    nn::convolution(x, image({3, 4, 2}), padding, options);
  };
  const auto atrous = [](int rate) {
    const Tensor x = image({2, 9, 9, 4});
    nn::atrous_conv2d(x, image({3, 3, 4, 2}), rate, "SAME");
  };
  const auto transposed = [](int rate, const char* padding) {
    const Tensor x = image({2, 9, 9, 2});
    nn::atrous_conv2d_transpose(x, image({3, 3, 4, 2}), {2, 9, 9, 4}, rate, padding);
  };
  c["atrous_conv2d"] = [=](In) { atrous(2); };
  c["atrous_conv2d rate one"] = [=](In) { atrous(1); };
  c["atrous_conv2d_transpose"] = [=](In) { transposed(2, "SAME"); };
  c["atrous_conv2d_transpose rate one"] = [=](In) { transposed(1, "SAME"); };
  c["atrous_conv2d_transpose padding"] = [=](In) { transposed(2, "OTHER"); };
  c["convolution"] = [=](In) { images("SAME", {}); };
  c["convolution named"] = [=](In) { images("SAME", {.strides = {{2, 2}}, .name = "k"}); };
  c["convolution dilated"] = [=](In) { images("VALID", {.dilation_rate = {{2, 1}}}); };
  c["convolution dilated steps"] = [=](In) {
    images("VALID", {.strides = {{2, 2}}, .dilation_rate = {{2, 1}}});
  };
  c["convolution of signals"] = [=](In) { signals("SAME", {}); };
  c["convolution of signals dilated"] = [=](In) {
    signals("VALID", {.dilation_rate = std::vector<int>{2}});
  };
  c["convolution of a vector"] = [](In) {
    const Tensor x = image({9});
    nn::convolution(x, image({3}), "SAME");
  };
  const auto conv1d = [](Shape x, int stride, const char* padding,
                         const nn::Conv1DOptions& options) {
    const Tensor value = image(std::move(x));
    nn::conv1d(value, image({3, 4, 2}), stride, padding, options);
  };
  c["conv1d"] = [=](In) { conv1d({2, 9, 4}, 2, "SAME", {}); };
  c["conv1d channels first"] = [=](In) {
    conv1d({2, 4, 9}, 1, "VALID", {.data_format = "NCW", .name = "k"});
  };
  c["conv1d format"] = [=](In) { conv1d({2, 4, 9}, 1, "VALID", {.data_format = "NXW"}); };
}

void add_pool(Cases& c) {
  const auto pool = [](const char* type, const char* padding, const nn::PoolingOptions& options) {
    nn::pool(image({2, 9, 9, 4}), {2, 2}, type, padding, options);
  };
  c["pool"] = [=](In) { pool("MAX", "SAME", {}); };
  c["pool dilated"] = [=](In) { pool("AVG", "VALID", {.dilation_rate = {{2, 2}}}); };
  c["pool dilated SAME"] = [=](In) { pool("AVG", "SAME", {.dilation_rate = {{2, 2}}}); };
  c["pool signals"] = [](In) {
    nn::pool(image({2, 9, 4}), {2}, "MAX", "VALID", {.strides = std::vector<int>{2}, .name = "k"});
  };
  c["pool steps"] = [=](In) { pool("MAX", "VALID", {.strides = {{3, 3}}}); };
  c["pool type"] = [=](In) { pool("SUM", "VALID", {}); };
  c["max_pool padding"] = [](In) {
    nn::max_pool(image({2, 9, 9, 4}), 2, 2, Numbers{{0, 0}, {1, 0}, {0, 1}, {0, 0}});
  };
  c["max_pool padding of batch"] = [](In) {
    nn::max_pool(image({2, 9, 9, 4}), 2, 2, Numbers{{1, 0}, {1, 0}, {0, 1}, {0, 0}});
  };
  c["max_pool channels first"] = [](In) {
    nn::max_pool(image({2, 4, 9, 9}), 2, 2, "SAME", {.data_format = "NCHW"});
  };
}

void add_blocks(Cases& c) {
  c["space_to_batch_nd"] = [](In) {
    space_to_batch_nd(image({2, 4, 5, 3}), {2, 3}, {{0, 2}, {1, 3}});
  };
  c["space_to_batch_nd unknown"] = [](In) {
    const Tensor x = image({2, 4, 5, 3});
    space_to_batch_nd(x, {2, 3}, placeholder(int32, {.shape = {2, 2}}));
  };
  c["space_to_batch_nd indivisible"] = [](In) {
    space_to_batch_nd(image({2, 4, 5, 3}), {2, 3}, {{0, 0}, {0, 0}});
  };
  c["space_to_batch_nd rank"] = [](In) {
    space_to_batch_nd(image({2, 4}), {2, 3}, {{0, 0}, {0, 0}});
  };
  c["space_to_batch_nd negative"] = [](In) {
    space_to_batch_nd(image({2, 4}), Operand({2}), {{-2, 0}});
  };
  c["space_to_batch_nd zero"] = [](In) {
    space_to_batch_nd(image({2, 4}), Operand({0}), {{0, 0}});
  };
  c["space_to_batch_nd float"] = [](In) {
    space_to_batch_nd(image({2, 4}), Operand({0.5}), {{0, 0}});
  };
  c["space_to_batch"] = [](In) { space_to_batch(image({2, 4, 4, 3}), {{0, 0}, {0, 0}}, 2); };
  c["batch_to_space_nd"] = [](In) {
    batch_to_space_nd(image({12, 2, 3, 2}), {2, 3}, {{1, 0}, {2, 4}}, {.name = "k"});
  };
  c["batch_to_space_nd batch"] = [](In) {
    batch_to_space_nd(image({11, 2, 3, 2}), {2, 3}, {{1, 0}, {2, 4}});
  };
  c["batch_to_space_nd crops"] = [](In) {
    batch_to_space_nd(image({12, 2, 3, 2}), {2, 3}, {{3, 2}, {2, 4}});
  };
  c["batch_to_space"] = [](In) { batch_to_space(image({4, 4, 4, 3}), {{0, 0}, {0, 1}}, 2); };
  c["space_to_depth"] = [](In) { space_to_depth(image({None, 4, 4, 3}), 2); };
  c["space_to_depth indivisible"] = [](In) { space_to_depth(image({1, 4, 5, 3}), 2); };
  c["space_to_depth block"] = [](In) { space_to_depth(image({1, 4, 4, 3}), 1); };
  c["space_to_depth rank"] = [](In) { space_to_depth(image({4, 4, 3}), 2); };
  c["depth_to_space"] = [](In) { depth_to_space(image({1, 4, 4, 8}), 2, {.name = "k"}); };
  c["depth_to_space channels"] = [](In) { depth_to_space(image({1, 4, 4, 6}), 2); };
}

void add_normalization(Cases& c) {
  const auto norm = [](const nn::FusedBatchNormOptions& options, Shape x = {2, 3, 3, 4},
                       Shape scale = {4}) {
    const Tensor images = image(std::move(x));
    const Tensor factor = image(std::move(scale));
    nn::fused_batch_norm(images, factor, image({4}), options);
  };
  c["fused_batch_norm no mean"] = [=](In) { norm({.is_training = false}); };
  c["fused_batch_norm part"] = [=](In) { norm({.exponential_avg_factor = 0.5F}); };
  c["fused_batch_norm scale"] = [=](In) { norm({}, {2, 3, 3, 4}, {3}); };
  c["fused_batch_norm mean"] = [=](In t) {
    norm({.mean = t.b, .variance = t.b, .is_training = false});
  };
  c["fused_batch_norm rank"] = [=](In) { norm({}, {2, 4}); };
  c["fused_batch_norm format"] = [=](In) { norm({.data_format = "NHC"}); };
  c["fused_batch_norm dtype"] = [](In t) {
    nn::fused_batch_norm(placeholder(int32, {.shape = {1, 1, 1, 3}}), t.b, t.b);
  };
  c["weighted_moments"] = [](In t) { nn::weighted_moments(t.x, {0}, t.y); };
  c["weighted_moments value"] = [](In t) {
    nn::weighted_moments(t.x, {1}, Operand({{1}, {2}}), {.name = "k", .keepdims = true});
  };
  c["sufficient_statistics"] = [](In t) { nn::sufficient_statistics(t.x, {0, 1}); };
  c["sufficient_statistics shift"] = [](In t) {
    nn::sufficient_statistics(t.x, {1}, {.shift = 0.5, .keepdims = true});
  };
  c["sufficient_statistics unknown"] = [](In t) { nn::sufficient_statistics(t.u, {0}); };
  c["sufficient_statistics unknown negative"] = [](In t) {
    nn::sufficient_statistics(t.u, {-2, 1});
  };
  c["normalize_moments"] = [](In t) { nn::normalize_moments(t.b, t.b, t.b, None); };
  c["normalize_moments shift"] = [](In t) {
    nn::normalize_moments(t.b, t.b, t.b, 0.5, {.name = "k"});
  };
}

}  // namespace

void add_convolution_cases(Cases& cases) {
  add_conv2d(cases);
  add_depthwise(cases);
  add_convolution(cases);
  add_pool(cases);
  add_blocks(cases);
  add_normalization(cases);
}

}  // namespace towerflow::testing

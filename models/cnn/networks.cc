#include "models/cnn/cnn.h"

namespace towerflow::models::cnn {
namespace {

void trivial(ConvNetBuilder& net) {
  net.affine(1);
  net.affine(4096);
}

void lenet5(ConvNetBuilder& net) {
  net.conv(32, 5);
  net.max_pool(2, 2);
  net.conv(64, 5);
  net.max_pool(2, 2);
  net.affine(512);
}

void two_dropped_layers(ConvNetBuilder& net) {
  for (int i = 0; i < 2; ++i) {
    net.affine(4096);
    net.dropout();
  }
}

void alexnet(ConvNetBuilder& net) {
  net.conv(64, 11, {.stride = 4, .padding = "VALID"});
  net.max_pool(3, 2);
  net.conv(192, 5);
  net.max_pool(3, 2);
  net.conv(384, 3);
  net.conv(384, 3);
  net.conv(256, 3);
  net.max_pool(3, 2);
  two_dropped_layers(net);
}

void vgg16(ConvNetBuilder& net) {
  for (const auto& [filters, convs] : {std::pair(64, 2), {128, 2}, {256, 3}, {512, 3}, {512, 3}}) {
    for (int i = 0; i < convs; ++i) net.conv(filters, 3);
    net.max_pool(2, 2);
  }
  two_dropped_layers(net);
}

/// The first version: the stride is that of the first convolution.
void bottleneck(ConvNetBuilder& net, int depth, int inner, int stride) {
  const auto scope = tf::variable_scope(net.next_name("resnet_v1"));
  const Tensor input = net.top;
  Tensor shortcut = input;
  if (input.shape().size(3) != depth) {
    shortcut = net.conv(depth, 1, {.stride = stride, .relu = false, .batch_norm = true});
  }
  net.top = input;
  net.conv(inner, 1, {.stride = stride, .batch_norm = true});
  net.conv(inner, 3, {.batch_norm = true});
  net.conv(depth, 1, {.relu = false, .batch_norm = true});
  net.top = tf::nn::relu(shortcut + net.top);
}

void resnet50(ConvNetBuilder& net) {
  net.conv(64, 7, {.stride = 2, .padding = "SAME_RESNET", .batch_norm = true});
  net.max_pool(3, 2, "SAME");
  int stride = 1;
  for (const auto& [inner, units] : {std::pair(64, 3), {128, 4}, {256, 6}, {512, 3}}) {
    for (int i = 0; i < units; ++i) bottleneck(net, 4 * inner, inner, i == 0 ? stride : 1);
    stride = 2;
  }
  net.spatial_mean();
}

}  // namespace

const Network kTrivial{"trivial", "two fully connected layers", 227, 32, 0.005, trivial};
const Network kLenet5{"lenet5", "two convolutions", 28, 32, 0.005, lenet5};
const Network kAlexnet{"alexnet", "AlexNet: five convolutions", 227, 512, 0.005, alexnet};
const Network kVgg16{"vgg16", "VGG: thirteen convolutions", 224, 64, 0.005, vgg16};
// The rate for a batch of 256, as many images as tf_cnn_benchmarks scales it to.
const Network kResnet50{"resnet50", "ResNet of 50 layers", 224, 64, 0.032, resnet50};

Tensor inference(const Network& network, const Tensor& images, bool training) {
  const auto scope = tf::variable_scope("cg");
  ConvNetBuilder net(images, training);
  network.layers(net);
  return net.affine(static_cast<int>(kClasses), /*relu=*/false);
}

}  // namespace towerflow::models::cnn

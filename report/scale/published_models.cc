#include "report/scale/published_models.h"

namespace towerflow::report {
namespace {

/// A list of layers that grows from the input on.
class LayerList {
 public:
  /// Adds a convolution with square results of `size`.
  void conv(int height, int width, int from, int to, int size) {
    const double elements = 1.0 * height * width * from * to;
    layers_.push_back({elements, elements * size * size});
  }
  void dense(int from, int to) {
    const double elements = 1.0 * from * to;
    layers_.push_back({elements, elements});
  }
  std::vector<ProfiledLayer> take() { return std::move(layers_); }

 private:
  std::vector<ProfiledLayer> layers_;
};

/// The blocks of Inception v3 by the size of their results.
void inception_35(LayerList& list, int from, int pooled) {
  list.conv(1, 1, from, 64, 35);
  list.conv(1, 1, from, 48, 35);
  list.conv(5, 5, 48, 64, 35);
  list.conv(1, 1, from, 64, 35);
  list.conv(3, 3, 64, 96, 35);
  list.conv(3, 3, 96, 96, 35);
  list.conv(1, 1, from, pooled, 35);
}

void inception_17(LayerList& list, int narrow) {
  list.conv(1, 1, 768, 192, 17);
  list.conv(1, 1, 768, narrow, 17);
  list.conv(1, 7, narrow, narrow, 17);
  list.conv(7, 1, narrow, 192, 17);
  list.conv(1, 1, 768, narrow, 17);
  for (int i = 0; i < 3; ++i) list.conv(7, 1, narrow, narrow, 17);
  list.conv(1, 7, narrow, 192, 17);
  list.conv(1, 1, 768, 192, 17);
}

void inception_8(LayerList& list, int from) {
  list.conv(1, 1, from, 320, 8);
  list.conv(1, 1, from, 384, 8);
  list.conv(1, 3, 384, 384, 8);
  list.conv(3, 1, 384, 384, 8);
  list.conv(1, 1, from, 448, 8);
  list.conv(3, 3, 448, 384, 8);
  list.conv(1, 3, 384, 384, 8);
  list.conv(3, 1, 384, 384, 8);
  list.conv(1, 1, from, 192, 8);
}

}  // namespace

std::vector<ProfiledLayer> alexnet_layers() {
  LayerList list;
  list.conv(11, 11, 3, 64, 55);
  list.conv(5, 5, 64, 192, 27);
  list.conv(3, 3, 192, 384, 13);
  list.conv(3, 3, 384, 384, 13);
  list.conv(3, 3, 384, 256, 13);
  list.dense(256 * 6 * 6, 4096);
  list.dense(4096, 4096);
  list.dense(4096, 1001);
  return list.take();
}

std::vector<ProfiledLayer> vgg16_layers() {
  LayerList list;
  const std::vector<std::vector<int>> widths{
      {64, 64}, {128, 128}, {256, 256, 256}, {512, 512, 512}, {512, 512, 512}};
  int from = 3, size = 224;
  for (const auto& group : widths) {
    for (const int to : group) {
      list.conv(3, 3, from, to, size);
      from = to;
    }
    size /= 2;
  }
  list.dense(512 * 7 * 7, 4096);
  list.dense(4096, 4096);
  list.dense(4096, 1001);
  return list.take();
}

std::vector<ProfiledLayer> inception3_layers() {
  LayerList list;
  list.conv(3, 3, 3, 32, 149);
  list.conv(3, 3, 32, 32, 147);
  list.conv(3, 3, 32, 64, 147);
  list.conv(1, 1, 64, 80, 73);
  list.conv(3, 3, 80, 192, 71);
  inception_35(list, 192, 32);
  inception_35(list, 256, 64);
  inception_35(list, 288, 64);
  list.conv(3, 3, 288, 384, 17);
  list.conv(1, 1, 288, 64, 35);
  list.conv(3, 3, 64, 96, 35);
  list.conv(3, 3, 96, 96, 17);
  for (const int narrow : {128, 160, 160, 192}) inception_17(list, narrow);
  list.conv(1, 1, 768, 192, 17);
  list.conv(3, 3, 192, 320, 8);
  list.conv(1, 1, 768, 192, 17);
  list.conv(1, 7, 192, 192, 17);
  list.conv(7, 1, 192, 192, 17);
  list.conv(3, 3, 192, 192, 8);
  inception_8(list, 1280);
  inception_8(list, 2048);
  list.dense(2048, 1001);
  return list.take();
}

std::vector<ProfiledLayer> resnet_layers(const std::vector<int>& blocks) {
  LayerList list;
  list.conv(7, 7, 3, 64, 112);
  int from = 64, width = 64, size = 56;
  for (const int count : blocks) {
    for (int block = 0; block < count; ++block) {
      if (block == 0) list.conv(1, 1, from, 4 * width, size);  // the way around the block
      list.conv(1, 1, from, width, size);
      list.conv(3, 3, width, width, size);
      list.conv(1, 1, width, 4 * width, size);
      from = 4 * width;
    }
    width *= 2;
    size /= 2;
  }
  list.dense(from, 1001);
  return list.take();
}

}  // namespace towerflow::report

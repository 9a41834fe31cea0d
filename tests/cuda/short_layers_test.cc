// Kernels of layers and images of 16-bit numbers give what those of float32 give of the same
// numbers.
#include <doctest/doctest.h>

#include "tests/cuda/short_numbers.h"

using namespace towerflow::cuda;
using testing::check_like;
using testing::check_short;
using testing::Computed;
using testing::kOfFloats;
using testing::launch_for;
using testing::Operands;
using i64 = std::int64_t;
using Values = std::vector<double>;

namespace {

void append(Values& all, const Values& more) { all.insert(all.end(), more.begin(), more.end()); }

/// Windows of 3 x 2 over [2, 7, 5, 8], stride 2 and 1, with a border.
device::PoolShape pool_shape() {
  return {.batch = 2,
          .channels = 8,
          .rows = {.input = 7, .window = 3, .stride = 2, .output = 4, .pad_before = 1},
          .columns = {.input = 5, .window = 2, .stride = 1, .output = 5, .pad_before = 0}};
}
constexpr std::size_t kImages = 2 * 7 * 5 * 8, kPooled = 2 * 4 * 5 * 8;
using Index = std::uint16_t;

template <class T>
const Index* places_of_largest(Operands<T>& memory, const T* x) {
  auto* index = memory.template allocate<Index>(kPooled);
  T* const none = nullptr;
  memory.run(memory.name("MaxPool"), launch_for(kPooled), x, none, index, pool_shape(), 0);
  return index;
}

/// `packed` threads take 16 bytes of channels.
auto max_pools(int packed) {
  return [=]<class T>(Operands<T>& memory) {
    const auto shape = pool_shape();
    const T* x = memory.numbers(kImages, 1);
    T *y = memory.results(kPooled), *dx = memory.results(kImages);
    Index* const no_index = nullptr;
    memory.run(memory.name("MaxPool"), launch_for(kPooled), x, y, no_index, shape, packed);
    Values all = memory.values(y, kPooled);
    const Index* index = places_of_largest(memory, x);
    append(all, memory.values(index, kPooled));
    const T *dy = memory.numbers(kPooled, 2), *relu = memory.numbers(kImages, 3);
    memory.run(memory.name("MaxPoolGrad"), launch_for(kImages), index, dy, dx, shape, packed);
    append(all, memory.values(dx, kImages));
    memory.run(memory.name("MaxPoolReluGrad"), launch_for(kImages), index, dy, relu, dx, shape,
               packed);
    append(all, memory.values(dx, kImages));
    memory.run(memory.name("MaxPoolGradGrad"), launch_for(kPooled), index, relu, y, shape);
    append(all, memory.values(y, kPooled));
    return all;
  };
}

template <class Place>
auto max_pool_argmax() {
  return []<class T>(Operands<T>& memory) {
    const T* x = memory.numbers(kImages, 1);
    const Index* index = places_of_largest(memory, x);
    T* y = memory.results(kPooled);
    auto* places = memory.template allocate<Place>(kPooled);
    memory.run(memory.name("MaxPoolArgmax") + "_" + testing::type_name<Place>(),
               launch_for(kPooled), x, index, y, places, 1, pool_shape());
    Values all = memory.values(y, kPooled);
    append(all, memory.values(places, kPooled));
    return all;
  };
}

auto average_pools(int packed) {
  return [=]<class T>(Operands<T>& memory) {
    T *y = memory.results(kPooled), *dx = memory.results(kImages);
    memory.run(memory.name("AvgPool"), launch_for(kPooled), memory.numbers(kImages, 1), y,
               pool_shape(), packed);
    Values all = memory.values(y, kPooled);
    memory.run(memory.name("AvgPoolGrad"), launch_for(kImages), memory.numbers(kPooled, 2), dx,
               pool_shape(), packed);
    append(all, memory.values(dx, kImages));
    return all;
  };
}

/// Of [3, 16, inner]; inner is 1 if channels come last.
constexpr int kChannels = 16;
device::ChannelShape channels_of(std::int64_t inner) {
  return {.outer = 24 / inner, .channels = kChannels, .inner = inner};
}
constexpr std::size_t kNormed = 24 * kChannels;

auto batch_norm_sums(std::int64_t inner) {
  return [=]<class T>(Operands<T>& memory) {
    const auto shape = channels_of(inner);
    const T *x = memory.numbers(kNormed, 1), *dy = memory.numbers(kNormed, 2);
    float* shift = memory.template allocate<float>(kChannels);
    memory.run(memory.name("BatchNormShift"), launch_for(kChannels), x, shift, shape);
    Values all = memory.values(shift, kChannels);
    double* sums = memory.template allocate<double>(2 * kChannels);
    const host::Launch tiles{dim3(inner == 1 ? 1 : kChannels), dim3(256), 0};
    const float* from = shift;
    memory.run(memory.name("BatchNormSums"), tiles, x, from, sums, shape);
    append(all, memory.values(sums, 2 * kChannels));
    memory.run(memory.name("BatchNormGradSums"), tiles, dy, x, from, sums, shape);
    append(all, memory.values(sums, 2 * kChannels));
    return all;
  };
}

auto batch_norm(std::int64_t inner, int packed) {
  return [=]<class T>(Operands<T>& memory) {
    const auto shape = channels_of(inner);
    const T *x = memory.numbers(kNormed, 1), *dy = memory.numbers(kNormed, 2);
    T* y = memory.results(kNormed);
    const auto floats = [&](std::size_t n, unsigned seed) {
      return static_cast<const float*>(memory.upload(testing::numbers<float>(n, -1, 1, seed)));
    };
    const float *mean = floats(kChannels, 1), *factor = floats(kChannels, 2),
                *offset = floats(kChannels, 3), *params = floats(4 * kChannels, 4);
    memory.run(memory.name("BatchNormApply"), launch_for(kNormed), x, mean, factor, offset, y,
               shape, packed);
    Values all = memory.values(y, kNormed);
    memory.run(memory.name("BatchNormGradApply"), launch_for(kNormed), dy, x, params, y, shape,
               packed);
    append(all, memory.values(y, kNormed));
    return all;
  };
}

/// [2, 6, 5, 3] with 2 filters of 3 x 2 for each channel, stride 2 and 1.
device::DepthwiseShape depthwise_shape() {
  return {.batch = 2,
          .channels = 3,
          .multiplier = 2,
          .rows = {.input = 6, .filter = 3, .stride = 2, .output = 3, .pad_before = 1},
          .columns = {.input = 5, .filter = 2, .output = 4}};
}
constexpr std::size_t kDeepImages = 2 * 6 * 5 * 3, kDeepResults = 2 * 3 * 4 * 6,
                      kFilter = 3 * 2 * 6;

auto depthwise() {
  return []<class T>(Operands<T>& memory) {
    const auto shape = depthwise_shape();
    const T *x = memory.numbers(kDeepImages, 1), *filter = memory.numbers(kFilter, 2),
            *dy = memory.numbers(kDeepResults, 3);
    T *y = memory.results(kDeepResults), *dx = memory.results(kDeepImages);
    memory.run(memory.name("DepthwiseConv"), launch_for(kDeepResults), x, filter, y, shape);
    Values all = memory.values(y, kDeepResults);
    memory.run(memory.name("DepthwiseConvGradInput"), launch_for(kDeepImages), dy, filter, dx,
               shape);
    append(all, memory.values(dx, kDeepImages));
    return all;
  };
}
auto depthwise_filter_grad() {
  return []<class T>(Operands<T>& memory) {
    auto* df = memory.template allocate<Computed<T>>(kFilter);
    memory.run(memory.name("DepthwiseConvGradFilter"), {dim3(1, 6, 1), dim3(256), 0},
               memory.numbers(kDeepImages, 1), memory.numbers(kDeepResults, 3), df,
               depthwise_shape());
    return memory.values(df, kFilter);
  };
}

/// Two parts of [2, 5, 6, 3], one of which lies partly outside.
auto crops() {
  return []<class T>(Operands<T>& memory) {
    const device::CropShape shape{.images = 2,
                                  .height = 5,
                                  .width = 6,
                                  .channels = 3,
                                  .boxes = 2,
                                  .crop_height = 4,
                                  .crop_width = 3,
                                  .outside = 7};
    constexpr std::size_t kCrops = 2 * 4 * 3 * 3;
    const T* x = memory.numbers(2 * 5 * 6 * 3, 1, 32, 64);
    const float* boxes =
        memory.upload(std::vector<float>{0.1F, 0.2F, 0.7F, 0.9F, -0.2F, 0.5F, 0.8F, 1.1F});
    const int* images = memory.upload(std::vector<int>{1, 0});
    auto* error = memory.upload(std::vector<device::DataError>{{}});
    float* y = memory.template allocate<float>(kCrops);
    memory.run(memory.name("CropAndResize"), launch_for(kCrops), x, boxes, images, y, error, shape);
    Values all = memory.values(y, kCrops);
    const float* dy = memory.upload(testing::numbers<float>(kCrops));
    float* dboxes = memory.template allocate<float>(8);
    memory.run(memory.name("CropAndResizeGradBoxes"), {dim3(2), dim3(256), 0}, dy, x, boxes, images,
               dboxes, error, shape);
    append(all, memory.values(dboxes, 8));
    return all;
  };
}

auto mirror_pad_grad() {
  return []<class T>(Operands<T>& memory) {
    device::MirrorShape shape;
    shape.rank = 2;
    shape.mode = device::PadShape::symmetric;
    shape.inner[0] = device::Divisor::of(3);
    shape.inner[1] = device::Divisor::of(4);
    shape.before[0] = 1;
    shape.before[1] = 2;
    shape.padded[0] = 6;
    shape.padded[1] = 9;
    shape.strides[0] = 9;
    shape.strides[1] = 1;
    T* dx = memory.results(12);
    memory.run(memory.name("MirrorPadGrad"), launch_for(12), memory.numbers(54, 1), dx, i64(12),
               shape);
    return memory.values(dx, 12);
  };
}

/// Images [1, 2, 3, 2] to [1, 1, 2, 2].
auto resample() {
  return []<class T>(Operands<T>& memory) {
    device::Resampled s{.images = 1, .height = 2, .width = 3, .channels = 2};
    s.new_height = 1;
    s.new_width = 2;
    s.rows = {memory.upload(std::vector<std::int32_t>{0, 2}),
              memory.upload(std::vector<std::int32_t>{0, 1}),
              memory.upload(std::vector<float>{0.25F, 0.75F})};
    s.columns = {memory.upload(std::vector<std::int32_t>{0, 2, 3}),
                 memory.upload(std::vector<std::int32_t>{0, 1, 2}),
                 memory.upload(std::vector<float>{0.5F, 0.5F, 1.0F})};
    float* y = memory.template allocate<float>(4);
    memory.run(memory.name("Resample") + "_float32", launch_for(4), memory.numbers(12, 1), y, s);
    return memory.values(y, 4);
  };
}

}  // namespace

TEST_SUITE("cuda kernels of short numbers") {
  TEST_CASE("pools, in packs and alone") {
    for (const int packed : {0, 1}) {
      CAPTURE(packed);
      check_short("MaxPool", max_pools(packed));
      check_short("AvgPool", average_pools(packed));
    }
    check_short("MaxPoolArgmax", max_pool_argmax<std::int32_t>(), {}, false);
    check_short("MaxPoolArgmax", max_pool_argmax<i64>(), {}, false);
  }

  TEST_CASE("batch normalisation, channels last and first") {
    for (const std::int64_t inner : {1, 8}) {
      CAPTURE(inner);
      check_short("BatchNormSums", batch_norm_sums(inner), {}, false);
      for (const int packed : {0, 1}) check_short("BatchNormApply", batch_norm(inner, packed));
    }
  }

  TEST_CASE("depthwise convolutions") {
    check_short("DepthwiseConv", depthwise());
    check_short("DepthwiseConvGradFilter", depthwise_filter_grad(), {}, false);
  }

  TEST_CASE("images: crops, borders, resampling") {
    check_like<float, __half, double, std::int32_t, i64>("CropAndResize", crops(), kOfFloats,
                                                         false);
    check_short("MirrorPadGrad", mirror_pad_grad());
    check_like<float, __half>("Resample", resample(), {}, false);
  }
}

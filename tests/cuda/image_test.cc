// Images: resizing by taps, crops and their gradients, depthwise convolutions. The gradients are
// checked against loops that scatter, where the kernels gather.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "cuda/device/arguments.h"
#include "tests/cuda/close.h"
#include "tests/cuda/device_memory.h"

using namespace towerflow::cuda;
using device::CropShape;
using device::DepthwiseShape;
using device::Resampled;
using testing::check_values;
using testing::DeviceMemory;
using testing::launch_for;
using testing::numbers;
using Ints = std::vector<std::int32_t>;

namespace {

std::size_t at4(int a, int b, int c, int d, int size_b, int size_c, int size_d) {
  return static_cast<std::size_t>(((a * size_b + b) * size_c + c) * size_d + d);
}

/// How an axis is resampled, on the host.
struct HostTaps {
  Ints first{0}, index{};
  std::vector<float> weight{};
  void add(std::initializer_list<std::pair<int, float>> taps) {
    for (const auto& [from, part] : taps) {
      index.push_back(from);
      weight.push_back(part);
    }
    first.push_back(static_cast<int>(index.size()));
  }
  Resampled::Taps upload(DeviceMemory& memory) const {
    return {memory.upload(first), memory.upload(index), memory.upload(weight)};
  }
};

template <class In, class Out>
void check_resample(const std::string& kernel) {
  CAPTURE(kernel);
  DeviceMemory memory;
  HostTaps rows, columns;
  rows.add({{0, 1.0F}});
  rows.add({});  // a row that nothing contributes to
  rows.add({{0, 0.25F}, {2, 0.75F}});
  rows.add({{1, 0.5F}, {2, -0.25F}, {3, 0.75F}});
  for (int i = 0; i < 6; ++i)
    columns.add({{i / 2, 0.5F}, {i / 2 + 1, 0.25F * static_cast<float>(i)}});
  Resampled s{2, 4, 5, 3, 4, 6, rows.upload(memory), columns.upload(memory)};
  const auto values = numbers<In>(2 * 4 * 5 * 3, 0, 100);
  const In* x = memory.upload(values);
  Out* y = memory.allocate<Out>(2 * 4 * 6 * 3);
  memory.run("Resample_" + kernel, launch_for(144), x, y, s);
  check_values(memory.download(y, 144), [&](std::size_t i) {
    const std::size_t c = i % 3, column = i / 3 % 6, row = i / 18 % 4, image = i / 72;
    double sum = 0;
    for (int k = rows.first[row]; k < rows.first[row + 1]; ++k) {
      for (int j = columns.first[column]; j < columns.first[column + 1]; ++j) {
        const auto v = static_cast<std::size_t>(k), u = static_cast<std::size_t>(j);
        const auto h = static_cast<std::size_t>(rows.index[v]),
                   w = static_cast<std::size_t>(columns.index[u]);
        sum += double{rows.weight[v]} * columns.weight[u] *
               static_cast<double>(values[((image * 4 + h) * 5 + w) * 3 + c]);
      }
    }
    return sum;
  });
}

/// The place of a crop's row or column, with the float arithmetic of TensorFlow.
struct Place {
  float share = 0;
  bool inside;
  int before = 0, after = 0, closest = 0;
  Place(float first, float last, int size, int crop_size, int i) {
    const auto span = static_cast<float>(size - 1);
    const float place =
        crop_size > 1 ? first * span + static_cast<float>(i) * ((last - first) * span /
                                                                static_cast<float>(crop_size - 1))
                      : 0.5F * (first + last) * span;
    inside = place >= 0 && place <= span;
    before = static_cast<int>(std::floor(place));
    after = static_cast<int>(std::ceil(place));
    closest = static_cast<int>(std::round(place));
    share = place - std::floor(place);
  }
};

/// Calls f(element of dy, element of x, share) for all that crops take of images.
template <class F>
void for_crops(const CropShape& s, const std::vector<float>& boxes, const Ints& images, F f) {
  for (int b = 0; b < s.boxes; ++b) {
    const auto box = static_cast<std::size_t>(4 * b);
    for (int v = 0; v < s.crop_height; ++v) {
      for (int u = 0; u < s.crop_width; ++u) {
        const Place at(boxes[box], boxes[box + 2], s.height, s.crop_height, v);
        const Place to(boxes[box + 1], boxes[box + 3], s.width, s.crop_width, u);
        for (int c = 0; c < s.channels; ++c) {
          const std::size_t from = at4(b, v, u, c, s.crop_height, s.crop_width, s.channels);
          if (!at.inside || !to.inside) {
            f(from, std::size_t{0}, -1.0);
            continue;
          }
          const auto tap = [&](int h, int w, double share) {
            f(from, at4(images[box / 4], h, w, c, s.height, s.width, s.channels), share);
          };
          if (s.nearest != 0) {
            tap(at.closest, to.closest, 1);
            continue;
          }
          const double down = double{at.share}, across = double{to.share};
          tap(at.before, to.before, (1 - down) * (1 - across));
          tap(at.before, to.after, (1 - down) * across);
          tap(at.after, to.before, down * (1 - across));
          tap(at.after, to.after, down * across);
        }
      }
    }
  }
}

const std::vector<float> kBoxes{0,     0,    1,    1,      //
                                0.2F,  0.1F, 0.9F, 0.65F,  //
                                0.8F,  0.9F, 0.1F, 0.2F,   // flipped
                                -0.3F, 0.2F, 0.7F, 1.4F};  // partly outside
const Ints kBoxImages{1, 0, 1, 1};

CropShape crop_shape(int crop_height, int crop_width, int nearest) {
  return {2, 7, 6, 3, 4, crop_height, crop_width, nearest, -5.5F};
}

void check_crops(int crop_height, int crop_width, int nearest) {
  CAPTURE(crop_height);
  CAPTURE(nearest);
  const CropShape s = crop_shape(crop_height, crop_width, nearest);
  DeviceMemory memory;
  const auto values = numbers<float>(2 * 7 * 6 * 3);
  const auto size = static_cast<std::size_t>(4 * crop_height * crop_width * 3);
  const auto slopes = numbers<float>(size, -1, 1, 7);
  const float *x = memory.upload(values), *boxes = memory.upload(kBoxes),
              *dy = memory.upload(slopes);
  const int* images = memory.upload(kBoxImages);
  auto* error = memory.upload(std::vector<device::DataError>{{}});
  float* y = memory.allocate<float>(size);
  memory.run("CropAndResize_float32", launch_for(size), x, boxes, images, y, error, s);
  std::vector<double> wanted(size, 0), wanted_dx(values.size(), 0);
  for_crops(s, kBoxes, kBoxImages, [&](std::size_t to, std::size_t from, double share) {
    if (share < 0) {
      wanted[to] = double{s.outside};
      return;
    }
    wanted[to] += share * double{values[from]};
    wanted_dx[from] += share * double{slopes[to]};
  });
  check_values(memory.download(y, size), [&](std::size_t i) { return wanted[i]; });
  float* dx = memory.allocate<float>(values.size());
  memory.run("CropAndResizeGradImage_float32", launch_for(values.size()), dy, boxes, images, dx,
             error, s);
  check_values(memory.download(dx, values.size()), [&](std::size_t i) { return wanted_dx[i]; });
  CHECK(memory.download(error, 1)[0].found == 0);
}

/// Calls f(element of x, element of the filter, element of y) for all products of a convolution.
template <class F>
void for_products(const DepthwiseShape& s, F f) {
  const int results = s.channels * s.multiplier;
  for (int b = 0; b < s.batch; ++b) {
    for (int p = 0; p < s.rows.output; ++p) {
      for (int q = 0; q < s.columns.output; ++q) {
        for (int r = 0; r < s.rows.filter; ++r) {
          for (int t = 0; t < s.columns.filter; ++t) {
            const int h = p * s.rows.stride - s.rows.pad_before + r * s.rows.dilation;
            const int w = q * s.columns.stride - s.columns.pad_before + t * s.columns.dilation;
            if (h < 0 || h >= s.rows.input || w < 0 || w >= s.columns.input) continue;
            for (int c = 0; c < results; ++c) {
              f(at4(b, h, w, c / s.multiplier, s.rows.input, s.columns.input, s.channels),
                at4(r, t, 0, c, s.columns.filter, 1, results),
                at4(b, p, q, c, s.rows.output, s.columns.output, results));
            }
          }
        }
      }
    }
  }
}

template <class T>
void check_depthwise(const std::string& dtype, const DepthwiseShape& s, unsigned parts) {
  CAPTURE(dtype);
  const auto sizes = [](int a, int b, int c, int d) {
    return static_cast<std::size_t>(a * b * c * d);
  };
  const int results = s.channels * s.multiplier;
  const std::size_t inputs = sizes(s.batch, s.rows.input, s.columns.input, s.channels),
                    weights = sizes(s.rows.filter, s.columns.filter, 1, results),
                    outputs = sizes(s.batch, s.rows.output, s.columns.output, results);
  const auto xs = numbers<T>(inputs), filter = numbers<T>(weights, -1, 1, 2),
             dys = numbers<T>(outputs, -1, 1, 3);
  DeviceMemory memory;
  const T *x = memory.upload(xs), *f = memory.upload(filter), *dy = memory.upload(dys);
  T *y = memory.allocate<T>(outputs), *dx = memory.allocate<T>(inputs),
    *df = memory.allocate<T>(parts * weights);
  memory.run("DepthwiseConv_" + dtype, launch_for(outputs), x, f, y, s);
  memory.run("DepthwiseConvGradInput_" + dtype, launch_for(inputs), dy, f, dx, s);
  const auto tiles = static_cast<unsigned>((results + 255) / 256);
  const auto places = static_cast<unsigned>(s.rows.filter * s.columns.filter);
  memory.run("DepthwiseConvGradFilter_" + dtype, {dim3(tiles, places, parts), dim3(256), 0}, x, dy,
             df, s);
  std::vector<double> wanted(outputs, 0), wanted_dx(inputs, 0), wanted_df(weights, 0);
  for_products(s, [&](std::size_t i, std::size_t w, std::size_t o) {
    wanted[o] += static_cast<double>(xs[i]) * static_cast<double>(filter[w]);
    wanted_dx[i] += static_cast<double>(dys[o]) * static_cast<double>(filter[w]);
    wanted_df[w] += static_cast<double>(xs[i]) * static_cast<double>(dys[o]);
  });
  check_values(memory.download(y, outputs), [&](std::size_t i) { return wanted[i]; });
  check_values(memory.download(dx, inputs), [&](std::size_t i) { return wanted_dx[i]; });
  const auto got = memory.download(df, parts * weights);
  std::vector<T> sum(weights, T(0));
  for (std::size_t i = 0; i < got.size(); ++i) sum[i % weights] += got[i];
  check_values(sum, [&](std::size_t i) { return wanted_df[i]; });
}

}  // namespace

TEST_SUITE("cuda images") {
  TEST_CASE("images are resampled by the taps of both axes") {
    check_resample<float, float>("float32_float32");
    check_resample<double, float>("float64_float32");
    check_resample<std::uint8_t, float>("uint8_float32");
    check_resample<std::int32_t, float>("int32_float32");
    check_resample<float, double>("float32_float64");
    check_resample<double, double>("float64_float64");
  }

  TEST_CASE("images are resized to the nearest pixels") {
    DeviceMemory memory;
    std::vector<std::uint16_t> values(2 * 3 * 4 * 5);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint16_t>(i * 7);
    const Ints rows{0, 0, 2}, columns{3, 1};
    Resampled s{2, 3, 4, 5, 3, 2, {}, {}};
    s.rows.index = memory.upload(rows);
    s.columns.index = memory.upload(columns);
    auto* y = memory.allocate<std::uint16_t>(60);
    memory.run("ResizeNearest_2", launch_for(60), static_cast<const void*>(memory.upload(values)),
               static_cast<void*>(y), s);
    check_values(memory.download(y, 60), [&](std::size_t i) {
      const auto row = static_cast<std::size_t>(rows[i / 10 % 3]),
                 column = static_cast<std::size_t>(columns[i / 5 % 2]);
      return values[((i / 30 * 3 + row) * 4 + column) * 5 + i % 5];
    });
  }

  TEST_CASE("crops and their gradients for images") {
    check_crops(5, 4, 0);
    check_crops(1, 3, 0);
    check_crops(9, 1, 0);
    check_crops(4, 5, 1);
  }

  TEST_CASE("a bad box or image of a crop is an error and shows what is outside") {
    DeviceMemory memory;
    const CropShape s = crop_shape(2, 2, 0);
    const float* x = memory.upload(numbers<float>(2 * 7 * 6 * 3));
    auto boxes = kBoxes;
    auto* error = memory.upload(std::vector<device::DataError>{{}});
    float* y = memory.allocate<float>(48);
    memory.run("CropAndResize_float32", launch_for(48), x,
               static_cast<const float*>(memory.upload(boxes)),
               static_cast<const int*>(memory.upload(Ints{1, 0, 2, 1})), y, error, s);
    device::DataError found = memory.download(error, 1)[0];
    CHECK(found.found == 1);
    CHECK(found.value() == 2);
    CHECK(found.position() == 2);
    CHECK(memory.download(y, 48)[2 * 12] == -5.5F);
    boxes[5] = NAN;
    error = memory.upload(std::vector<device::DataError>{{}});
    memory.run("CropAndResize_float32", launch_for(48), x,
               static_cast<const float*>(memory.upload(boxes)),
               static_cast<const int*>(memory.upload(kBoxImages)), y, error, s);
    found = memory.download(error, 1)[0];
    CHECK(found.value() == device::kBoxNotFinite);
    CHECK(found.position() == 1);
  }

  TEST_CASE("the gradient of crops for boxes is that of the values") {
    // Away from pixels' centres the crops are smooth: differences of values give the slopes.
    const CropShape s = crop_shape(5, 4, 0);
    const std::vector<float> boxes{0.11F, 0.13F, 0.87F, 0.71F, 0.21F, 0.17F, 0.91F, 0.66F,
                                   0.81F, 0.87F, 0.09F, 0.23F, -0.3F, 0.23F, 0.71F, 1.43F};
    const auto values = numbers<double>(2 * 7 * 6 * 3);
    const auto slopes = numbers<float>(4 * 5 * 4 * 3, -1, 1, 7);
    DeviceMemory memory;
    const double* x = memory.upload(values);
    auto* error = memory.upload(std::vector<device::DataError>{{}});
    float* dboxes = memory.allocate<float>(16);
    memory.run("CropAndResizeGradBoxes_float64", {dim3(3), dim3(256), 0},
               static_cast<const float*>(memory.upload(slopes)), x,
               static_cast<const float*>(memory.upload(boxes)),
               static_cast<const int*>(memory.upload(kBoxImages)), dboxes, error, s);
    const auto loss = [&](const std::vector<float>& moved) {
      double sum = 0;
      for_crops(s, moved, kBoxImages, [&](std::size_t to, std::size_t from, double share) {
        if (share >= 0) sum += share * values[from] * double{slopes[to]};
      });
      return sum;
    };
    check_values(
        memory.download(dboxes, 16),
        [&](std::size_t i) {
          auto more = boxes, less = boxes;
          more[i] += 1e-3F;
          less[i] -= 1e-3F;
          return (loss(more) - loss(less)) / (double{more[i]} - double{less[i]});
        },
        2e-2);
  }

  TEST_CASE("depthwise convolutions: strides, dilation, padding, several filters a channel") {
    check_depthwise<float>("float32", {2, 5, 2, {9, 3, 2, 1, 5, 1}, {8, 2, 1, 2, 6, 0}}, 1);
    check_depthwise<float>("float32", {1, 300, 1, {4, 3, 1, 1, 4, 1}, {5, 3, 1, 1, 5, 1}}, 3);
    check_depthwise<double>("float64", {3, 1, 3, {6, 4, 3, 1, 2, 2}, {6, 1, 2, 1, 3, 0}}, 2);
  }

  TEST_CASE("a depthwise convolution of 16-bit numbers adds up floats") {
    DeviceMemory memory;
    const DepthwiseShape s{1, 1, 1, {1, 1, 1, 1, 1, 0}, {3, 3, 1, 1, 1, 0}};
    const auto* x = memory.upload(std::vector<std::uint16_t>{0x3c00, 0x1000, 0x1000});
    const auto* f = memory.upload(std::vector<std::uint16_t>(3, 0x3c00));
    auto* y = memory.allocate<std::uint16_t>(1);
    memory.run("DepthwiseConv_float16", launch_for(1), x, f, y, s);
    CHECK(memory.download(y, 1)[0] == 0x3c01);
  }
}

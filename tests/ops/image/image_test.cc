// What the cases of images cannot express: errors of a run, successive draws, infinity.
#include <doctest/doctest.h>

#include <array>
#include <limits>

#include "tests/ops/cases/image_samples.h"
#include "tests/support/eager.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

using testing::numbers;
using testing::value_of;

std::string from_hex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

/// Returns the message of the error of a run.
template <class E>
std::string error_of(const Tensor& tensor) {
  try {
    value_of(tensor);
  } catch (const E& error) {
    return error.message();
  }
  return "none";
}

std::string invalid(const Tensor& tensor) { return error_of<errors::InvalidArgumentError>(tensor); }

}  // namespace

TEST_CASE("images: data that cannot be decoded") {
  Graph graph;
  const auto guard = graph.as_default();
  CHECK(invalid(image::decode_jpeg("")) == "Input is empty.");
  CHECK(invalid(image::decode_image("abc")).starts_with("Unknown image file format"));
  for (const char* other : {"GIF89a", "BM123456", "RIFF1234WEBPVP8 "}) {
    CHECK(error_of<errors::UnimplementedError>(image::decode_image(other))
              .starts_with("The image is a"));
  }
  const std::string jpeg = from_hex(testing::kJpegColour), png = from_hex(testing::kPngColour);
  CHECK(invalid(image::decode_jpeg(jpeg.substr(0, 300))).starts_with("Invalid JPEG data: "));
  CHECK(invalid(image::decode_jpeg(jpeg.substr(0, 20))).starts_with("Invalid JPEG data: "));
  CHECK(invalid(image::extract_jpeg_shape("abc")).starts_with("Invalid JPEG data: "));
  CHECK(invalid(image::decode_png(png.substr(0, 60))) ==
        "Invalid PNG data: the data end too early");
  std::string damaged = png;
  damaged[20] = static_cast<char>(damaged[20] ^ 1);
  CHECK(invalid(image::decode_png(damaged)) == "Invalid PNG data: IHDR: CRC error");
  CHECK(invalid(image::decode_jpeg(jpeg, {.channels = 4})) == "JPEG does not support 4 channels");
  CHECK(invalid(image::decode_jpeg(jpeg, {.channels = 2})) ==
        "channels must be 0, 1, 3 or 4 but got 2");
  CHECK(invalid(image::decode_jpeg(jpeg, {.ratio = 3})) == "ratio must be 1, 2, 4, or 8, got 3");
  CHECK(invalid(image::decode_jpeg(jpeg, {.dct_method = "FAST"})).starts_with("dct_method"));
}

TEST_CASE("images: a result of another shape than the graph promises") {
  Graph graph;
  const auto guard = graph.as_default();
  Tensor decoded = image::decode_png(from_hex(testing::kPngColour));
  decoded.set_shape({3, 4, 3});
  CHECK(value_of(decoded).shape() == Shape{3, 4, 3});
  Tensor wrong = image::decode_png(from_hex(testing::kPngColour));
  wrong.set_shape({3, 4, 1});
  CHECK(invalid(wrong) != "none");
}

TEST_CASE("images: what cannot be encoded") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto blank = [](const Shape& shape) { return zeros(shape, {.dtype = uint8}); };
  CHECK(invalid(image::encode_jpeg(blank({2, 2, 2}))).starts_with("image must have 1 or 3"));
  CHECK(invalid(image::encode_jpeg(blank({2, 2, 3}), {.quality = 101})).starts_with("quality"));
  CHECK(invalid(image::encode_jpeg(blank({2, 2, 3}), {.format = "grayscale"}))
            .starts_with("format grayscale expects 1"));
  CHECK(invalid(image::encode_png(blank({2, 2, 5}))).starts_with("image must have 1, 2, 3, or 4"));
  CHECK(invalid(image::encode_png(blank({2, 2, 1}), 10)).starts_with("compression"));
  using errors::InternalError;
  CHECK(error_of<InternalError>(image::encode_jpeg(blank({0, 2, 3}))).starts_with("JPEG encoding"));
  CHECK(error_of<InternalError>(image::encode_png(blank({0, 2, 3}))).starts_with("PNG encoding"));
  CHECK(error_of<InternalError>(image::encode_jpeg(blank({1, 70000, 1})))
            .starts_with("JPEG encoding"));
}

TEST_CASE("images: psnr of one image of a rank that only the run knows") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor a = placeholder(float32), b = placeholder(float32);
  const Tensor y = image::psnr(a, b, 2.0);
  Session session;
  const Array zeros = Array::zeros(float32, {2, 2, 1}), line = Array::zeros(float32, {2, 2});
  CHECK(session.run(y, {{a, zeros}, {b, {{{1.0}, {1.0}}, {{1.0}, {1.0}}}}}).item<float>() ==
        doctest::Approx(6.0206));  // 10 log10(2 * 2 / 1)
  CHECK_THROWS_AS(session.run(y, {{a, line}, {b, line}}), errors::InvalidArgumentError);
}

TEST_CASE("images: sizes and boxes that only the run refuses") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = ones({1, 4, 5, 1});
  CHECK(invalid(image::resize_bilinear(x, {0, 3})).starts_with("output dimensions"));
  CHECK(invalid(image::resize_area(x, {-2, 3})).starts_with("output dimensions"));
  CHECK(
      invalid(image::resize_bicubic(x, {2, 3}, {.align_corners = true, .half_pixel_centers = true}))
          .starts_with("If half_pixel_centers"));
  CHECK(invalid(image::resize_bilinear(ones({1, 0, 5, 1}), {2, 3})).starts_with("resized images"));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto crop = [&](double end, int at) {
    return image::crop_and_resize(x, {{0.0, 0.0, 1.0, end}}, {at}, {2, 2});
  };
  CHECK(error_of<errors::OutOfRangeError>(crop(1, 1)).starts_with("box_index has values"));
  CHECK(error_of<errors::OutOfRangeError>(crop(1, -1)).starts_with("box_index has values"));
  CHECK(invalid(crop(nan, 0)).starts_with("Boxes contains"));
  CHECK(
      invalid(image::crop_and_resize(x, {{0.0, 0.0, 1.0, 1.0}}, {0}, {2, 0})).starts_with("crop"));
  const auto draw = [&](const Tensor& image, const Operand& boxes) {
    return invalid(image::draw_bounding_boxes(image, boxes));
  };
  const Operand box = {{{0.0, 0.0, 1.0, 1.0}}};
  CHECK(draw(ones({4, 5, 3}), box).starts_with("the rank of the images"));
  CHECK(draw(x, {{0.0, 0.0, 1.0, 1.0}}).starts_with("boxes must have"));
  CHECK(draw(ones({2, 4, 5, 1}), box).starts_with("the batch sizes"));
  CHECK(draw(ones({1, 4, 5, 2}), box).starts_with("images must have"));
  const auto suppress = [](int most, double overlap) {
    return image::non_max_suppression({{0.0, 0.0, 1.0, 1.0}}, {1.0}, most, overlap);
  };
  CHECK(invalid(suppress(1, 2)) == "iou_threshold must be in [0, 1]");
  CHECK(invalid(suppress(-1, 0.5)).starts_with("max_output_size"));
  const auto sample = [](float corner, std::array<float, 2> area) {
    return image::sample_distorted_bounding_box({5, 6, 3}, {{{0.0F, 0.0F, corner, 1.0F}}},
                                                {.seed = 1, .area_range = area})
        .begin;
  };
  CHECK(invalid(sample(1.5F, {0.1F, 1.0F})).starts_with("All bounding box coordinates"));
  CHECK(invalid(sample(1, {0.1F, 1.5F})).starts_with("area_range"));
}

TEST_CASE("images: infinity stays where it is") {
  Graph graph;
  const auto guard = graph.as_default();
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor x = reshape(constant({1.0, infinity}), {1, 1, 2, 1});
  CHECK(numbers(image::resize_bilinear(x, {2, 2})) ==
        std::vector<double>{1, infinity, 1, infinity});
}

// The numbers are TensorFlow's.
TEST_CASE("images: each run draws the next box") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto box = image::sample_distorted_bounding_box(
      {110, 95, 3}, {{{0.1, 0.2, 0.5, 0.6}, {0.4, 0.3, 0.9, 0.8}}}, {.seed = 3, .seed2 = 4});
  const Tensor both = concat({box.begin, box.size}, 0);
  Session session(graph);
  CHECK(numbers(session.run(both)) == std::vector<double>{41, 44, 0, 35, 45, -1});
  CHECK(numbers(session.run(both)) == std::vector<double>{14, 21, 0, 42, 48, -1});
  CHECK(numbers(session.run(both)) == std::vector<double>{31, 1, 0, 61, 79, -1});
}

}  // namespace towerflow

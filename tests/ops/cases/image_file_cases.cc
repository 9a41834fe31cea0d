// Files of images.
#include <fmt/format.h>

#include "tests/ops/cases/families.h"
#include "tests/ops/cases/image_samples.h"
#include "towerflow/tf.h"

namespace towerflow::testing {
namespace {

std::string from_hex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

void add_decoding_cases(std::vector<OpCase>& cases) {
  using Decode = std::function<Tensor(const std::string&)>;
  const auto decode = [&](const std::string& name, const char* digits, Decode call,
                          const std::string& python) {
    cases.push_back({.name = name,
                     .call = [bytes = from_hex(digits),
                              call = std::move(call)](In) { return CaseResults(call(bytes)); },
                     .python = fmt::format("(lambda s: {})(bytes.fromhex('{}'))", python, digits),
                     .dtypes = {DType::float32},
                     .gradients = CaseGradients::none});
  };
  const auto jpeg = [&](const char* name, const char* digits, image::DecodeJpegOptions options,
                        const char* python) {
    decode(
        fmt::format("DecodeJpeg {}", name), digits,
        [options](const std::string& s) { return image::decode_jpeg(s, options); },
        fmt::format("tf.image.decode_jpeg(s{})", python));
  };
  jpeg("of colour", kJpegColour, {}, "");
  jpeg("to grey", kJpegColour, {.channels = 1}, ", channels=1");
  jpeg("of grey", kJpegGrey, {}, "");
  jpeg("of grey to colour", kJpegGrey, {.channels = 3}, ", channels=3");
  jpeg("progressive", kJpegProgressive, {}, "");
  jpeg("of CMYK", kJpegCmyk, {}, "");
  jpeg("accurate", kJpegColour, {.dct_method = "INTEGER_ACCURATE"},
       ", dct_method='INTEGER_ACCURATE'");
  jpeg("of half the size", kJpegColour, {.ratio = 2, .fancy_upscaling = false},
       ", ratio=2, fancy_upscaling=False");
  jpeg("of a PNG", kPngColour, {}, "");
  const std::string cut(kJpegProgressive, 900);  // the end of the first scan
  jpeg("truncated", cut.c_str(), {.try_recover_truncated = true, .acceptable_fraction = 0.5},
       ", try_recover_truncated=True, acceptable_fraction=0.5");

  const auto png = [&](const char* name, const char* digits, image::DecodePngOptions options,
                       const char* python) {
    decode(
        fmt::format("DecodePng {}", name), digits,
        [options](const std::string& s) { return image::decode_png(s, options); },
        fmt::format("tf.image.decode_png(s{})", python));
  };
  png("of colour", kPngColour, {}, "");
  png("to grey", kPngColour, {.channels = 1}, ", channels=1");
  png("with opacity", kPngColour, {.channels = 4}, ", channels=4");
  png("of grey with opacity", kPngGreyAlpha, {}, "");
  png("without opacity", kPngGreyAlpha, {.channels = 1}, ", channels=1");
  png("of grey to colour", kPngGreyAlpha, {.channels = 3}, ", channels=3");
  png("of a palette", kPngPalette, {}, "");
  png("of a palette without opacity", kPngPalette, {.channels = 3}, ", channels=3");
  png("of one bit", kPngOneBit, {}, "");
  png("of one bit with opacity", kPngOneBit, {.channels = 4}, ", channels=4");
  png("of 16 bits", kPngDeep, {.dtype = DType::uint16}, ", dtype=tf.uint16");
  png("of 16 bits to 8", kPngDeep, {}, "");
  png("of 8 bits to 16", kPngGreyAlpha, {.dtype = DType::uint16}, ", dtype=tf.uint16");
  png("of 16 bits to grey", kPngDeep, {.channels = 1, .dtype = DType::uint16},
      ", channels=1, dtype=tf.uint16");
  png("interlaced", kPngInterlaced, {}, "");
  png("interlaced to 16 bits", kPngInterlaced, {.dtype = DType::uint16}, ", dtype=tf.uint16");
  png("of a JPEG", kJpegGrey, {}, "");
  png("of a JPEG to 16 bits", kJpegGrey, {.dtype = DType::uint16}, ", dtype=tf.uint16");

  const auto any = [&](const char* name, const char* digits, image::DecodeImageOptions options,
                       const char* python) {
    decode(
        fmt::format("DecodeImage {}", name), digits,
        [options](const std::string& s) { return image::decode_image(s, options); },
        fmt::format("tf.image.decode_image(s{})", python));
  };
  any("of a JPEG", kJpegColour, {}, "");
  any("of a JPEG to floats", kJpegGrey, {.dtype = DType::float32}, ", dtype=tf.float32");
  any("of a PNG to floats", kPngColour, {.dtype = DType::float32}, ", dtype=tf.float32");
  any("of a PNG to integers", kPngDeep,
      {.channels = 3, .dtype = DType::int32, .expand_animations = false},
      ", channels=3, dtype=tf.int32, expand_animations=False");
  any("to doubles", kPngColour, {.dtype = DType::float64, .expand_animations = false},
      ", dtype=tf.float64, expand_animations=False");

  decode(
      "ExtractJpegShape", kJpegColour,
      [](const std::string& s) { return image::extract_jpeg_shape(s); },
      "tf.image.extract_jpeg_shape(s)");
  decode(
      "ExtractJpegShape of CMYK", kJpegCmyk,
      [](const std::string& s) {
        return image::extract_jpeg_shape(s, {.output_type = DType::int64});
      },
      "tf.image.extract_jpeg_shape(s, output_type=tf.int64)");
}

void add_encoding_cases(std::vector<OpCase>& cases) {
  const auto encode = [&](const char* name, Shape shape, auto call, const char* python) {
    cases.push_back({.name = name,
                     .inputs = {random_input(std::move(shape), 0, 256)},
                     .call = [call](In t) { return CaseResults(call(t.x)); },
                     .python = python,
                     .dtypes = {DType::uint8},
                     .gradients = CaseGradients::none});
  };
  encode(
      "EncodeJpeg", {9, 11, 3}, [](const Tensor& x) { return image::encode_jpeg(x); },
      "tf.image.encode_jpeg(x)");
  encode(
      "EncodeJpeg grey", {9, 11, 1},
      [](const Tensor& x) { return image::encode_jpeg(x, {.format = "grayscale", .quality = 30}); },
      "tf.image.encode_jpeg(x, format='grayscale', quality=30)");
  encode(
      "EncodeJpeg progressive", {17, 6, 3},
      [](const Tensor& x) {
        return image::encode_jpeg(x, {.quality = 75,
                                      .progressive = true,
                                      .optimize_size = true,
                                      .chroma_downsampling = false,
                                      .density_unit = "cm",
                                      .x_density = 100,
                                      .y_density = 90,
                                      .xmp_metadata = "some words"});
      },
      "tf.image.encode_jpeg(x, quality=75, progressive=True, optimize_size=True, "
      "chroma_downsampling=False, density_unit='cm', x_density=100, y_density=90, "
      "xmp_metadata='some words')");
  encode(
      "EncodePng", {5, 4, 3}, [](const Tensor& x) { return image::encode_png(x); },
      "tf.image.encode_png(x)");
  encode(
      "EncodePng of several images", {2, 3, 4, 2},
      [](const Tensor& x) { return image::encode_png(x, 9); },
      "tf.image.encode_png(x, compression=9)");
  encode(
      "EncodePng of 16 bits", {3, 4, 1},
      [](const Tensor& x) {
        return image::encode_png(image::convert_image_dtype(x, DType::uint16), 0);
      },
      "tf.image.encode_png(tf.image.convert_image_dtype(x, tf.uint16), compression=0)");
}

}  // namespace

void add_image_file_cases(std::vector<OpCase>& cases) {
  add_decoding_cases(cases);
  add_encoding_cases(cases);
}

}  // namespace towerflow::testing

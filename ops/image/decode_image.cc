#include "ops/image/decode_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/family.h"
#include "ops/image/convert_dtype.h"
#include "ops/image/jpeg_codec.h"
#include "ops/image/png_codec.h"

namespace towerflow::image {
namespace {

struct DecodeJpegAttrs {
  std::int64_t channels = 0;
  std::int64_t ratio = 1;
  bool fancy_upscaling = true;
  bool try_recover_truncated = false;
  float acceptable_fraction = 1;
  std::string dct_method{};
  static constexpr auto fields =
      std::tuple{attr::field("channels", &DecodeJpegAttrs::channels),
                 attr::field("ratio", &DecodeJpegAttrs::ratio),
                 attr::field("fancy_upscaling", &DecodeJpegAttrs::fancy_upscaling),
                 attr::field("try_recover_truncated", &DecodeJpegAttrs::try_recover_truncated),
                 attr::field("acceptable_fraction", &DecodeJpegAttrs::acceptable_fraction),
                 attr::field("dct_method", &DecodeJpegAttrs::dct_method)};
};

struct DecodePngAttrs {
  std::int64_t channels = 0;
  DType dtype = DType::uint8;
  static constexpr auto fields = std::tuple{attr::field("channels", &DecodePngAttrs::channels),
                                            attr::field("dtype", &DecodePngAttrs::dtype)};
};

struct DecodeImageAttrs {
  std::int64_t channels = 0;
  DType dtype = DType::uint8;
  bool expand_animations = true;
  static constexpr auto fields =
      std::tuple{attr::field("channels", &DecodeImageAttrs::channels),
                 attr::field("dtype", &DecodeImageAttrs::dtype),
                 attr::field("expand_animations", &DecodeImageAttrs::expand_animations)};
};

struct ExtractJpegShapeAttrs {
  DType output_type = DType::int32;
  static constexpr auto fields =
      std::tuple{attr::field("output_type", &ExtractJpegShapeAttrs::output_type)};
};

void require_encoded_scalar(const InferenceContext& context) {
  const Shape& contents = context.shape(0);
  if (contents.has_rank() && contents.rank() != 0) {
    context.fail(fmt::format("Shape must be rank 0 but is rank {}: an encoded image is one string",
                             contents.rank()));
  }
}

void add_decoded_output(InferenceContext& context, std::int64_t channels, DType dtype) {
  require_encoded_scalar(context);
  if (channels < 0) {
    context.fail(fmt::format("channels must be non-negative, got {}", channels));
  }
  const Dim last = channels == 0 ? Dim(std::nullopt) : Dim(channels);
  context.add_output(dtype, Shape(std::vector<Dim>{None, None, last}));
}

enum class ImageFormat { jpeg, png, gif, bmp, webp, jpeg_xl, unknown };

/// Tells the format by the first bytes.
ImageFormat format_of(std::string_view bytes) {
  using namespace std::string_view_literals;
  const auto begins = [bytes](std::string_view magic) { return bytes.starts_with(magic); };
  if (begins("\xff\xd8\xff"sv)) return ImageFormat::jpeg;
  if (begins("\x89PNG\r\n\x1a\n"sv)) return ImageFormat::png;
  if (begins("GIF8"sv)) return ImageFormat::gif;
  if (begins("BM"sv)) return ImageFormat::bmp;
  if (begins("RIFF"sv) && bytes.size() > 12 && bytes.substr(8, 4) == "WEBP"sv)
    return ImageFormat::webp;
  if (begins("\xff\x0a"sv) || begins("\0\0\0\x0cJXL \r\n\x87\n"sv)) return ImageFormat::jpeg_xl;
  return ImageFormat::unknown;
}

[[noreturn]] void refuse_format(ImageFormat format) {
  if (format == ImageFormat::unknown) {
    throw errors::InvalidArgumentError("Unknown image file format. One of JPEG, PNG required.");
  }
  const char* name = format == ImageFormat::gif    ? "GIF"
                     : format == ImageFormat::bmp  ? "BMP"
                     : format == ImageFormat::webp ? "WebP"
                                                   : "JPEG XL";
  throw errors::UnimplementedError(
      fmt::format("The image is a {}, which cannot be decoded", name),
      {.hint = "JPEG and PNG can be; convert the image to one of them"});
}

/// What the kernels of all decoders are prepared with.
struct Decoding {
  JpegDecoding jpeg;
  DType dtype = DType::uint8;
  Shape declared;
};

/// Makes numbers of `from` bytes, which lie at the end of the memory of `count` floats, into floats
/// from 0 to 1. A float never covers a number that has not been read.
template <class From>
void spread_pixels(std::byte* memory, std::int64_t count) {
  const std::byte* source = memory + count * static_cast<std::int64_t>(4 - sizeof(From));
  constexpr auto kScale = static_cast<float>(1.0 / std::numeric_limits<From>::max());
  for (std::int64_t i = 0; i < count; ++i) {
    From number = 0;
    std::memcpy(&number, source + i * static_cast<std::int64_t>(sizeof(From)), sizeof(From));
    const float pixel = static_cast<float>(number) * kScale;
    std::memcpy(memory + i * 4, &pixel, sizeof(pixel));
  }
}

/// Makes bytes in the second half of the memory of `count` numbers of 16 bits into such numbers.
void widen_pixels(std::byte* memory, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto number =
        static_cast<std::uint16_t>(std::to_integer<unsigned>(memory[count + i]) << 8);
    std::memcpy(memory + 2 * i, &number, sizeof(number));
  }
}

/// Decodes into the memory of output 0. Numbers that are smaller than the result's are decoded into
/// the end of that memory.
void decode_pixels(const Decoding& how, const LaunchArgs& args) {
  const std::string& bytes = *args.input<std::string>(0);
  if (bytes.empty()) throw errors::InvalidArgumentError("Input is empty.");
  const ImageFormat format = format_of(bytes);
  const std::size_t size = dtype_size(how.dtype);
  std::byte* memory = nullptr;
  std::int64_t count = 0;
  const auto allocate = [&](std::size_t decoded_size) {
    return [&, decoded_size](const ImageSize& image) -> void* {
      count = image.elements();
      memory = static_cast<std::byte*>(
          args.output_memory(0, Shape{image.height, image.width, image.channels}, how.declared));
      return memory + static_cast<std::size_t>(count) * (size - decoded_size);
    };
  };
  if (format == ImageFormat::jpeg) {
    if (how.jpeg.channels == 4)
      throw errors::InvalidArgumentError("JPEG does not support 4 channels");
    decode_jpeg_bytes(bytes, how.jpeg, allocate(1));
    if (how.dtype == DType::float32) spread_pixels<std::uint8_t>(memory, count);
    if (how.dtype == DType::uint16) widen_pixels(memory, count);
  } else if (format == ImageFormat::png) {
    const int bits = how.dtype == DType::uint8 ? 8 : 16;
    decode_png_bytes(bytes, how.jpeg.channels, bits, allocate(static_cast<std::size_t>(bits / 8)));
    if (how.dtype == DType::float32) spread_pixels<std::uint16_t>(memory, count);
  } else {
    refuse_format(format);
  }
}

/// Runs `decode`, and adds to an error where the picture was read.
template <class Decode>
void with_origin(const LaunchArgs& args, const Decode& decode) {
  try {
    decode();
  } catch (const errors::OpError& error) {
    const std::string place = args.run->resources.origin_text(*args.input<std::string>(0));
    if (place.empty()) throw;
    ErrorDetail detail = error.detail();
    detail.hint += (detail.hint.empty() ? "" : "; ") + place;
    errors::raise(error.code(), error.message(), detail);
  }
}

std::unique_ptr<PreparedKernel> decoding_kernel(const KernelRequest& request, Decoding how) {
  if (request.inputs[0].shape.rank() != 0) {
    throw errors::InvalidArgumentError(
        fmt::format("contents must be scalar but got shape {}", request.inputs[0].shape.text()));
  }
  const std::int64_t channels = how.jpeg.channels;
  if (channels != 0 && channels != 1 && channels != 3 && channels != 4) {
    throw errors::InvalidArgumentError(
        fmt::format("channels must be 0, 1, 3 or 4 but got {}", channels));
  }
  how.declared = request.outputs[0].shape;
  return function_kernel(
      [how](const LaunchArgs& args) { with_origin(args, [&] { decode_pixels(how, args); }); });
}

std::unique_ptr<PreparedKernel> decode_jpeg_kernel(const KernelRequest& request) {
  const auto& attrs = request.attributes<DecodeJpegAttrs>();
  if (attrs.ratio != 1 && attrs.ratio != 2 && attrs.ratio != 4 && attrs.ratio != 8) {
    throw errors::InvalidArgumentError(
        fmt::format("ratio must be 1, 2, 4, or 8, got {}", attrs.ratio));
  }
  if (!attrs.dct_method.empty() && attrs.dct_method != "INTEGER_FAST" &&
      attrs.dct_method != "INTEGER_ACCURATE") {
    throw errors::InvalidArgumentError(
        fmt::format("dct_method must be one of '', 'INTEGER_FAST', 'INTEGER_ACCURATE', got '{}'",
                    attrs.dct_method));
  }
  return decoding_kernel(request,
                         {.jpeg = {.channels = attrs.channels,
                                   .ratio = attrs.ratio,
                                   .fancy_upscaling = attrs.fancy_upscaling,
                                   .try_recover_truncated = attrs.try_recover_truncated,
                                   .acceptable_fraction = attrs.acceptable_fraction,
                                   .accurate_dct = attrs.dct_method == "INTEGER_ACCURATE"}});
}

template <class A>
std::unique_ptr<PreparedKernel> decode_typed_kernel(const KernelRequest& request) {
  const auto& attrs = request.attributes<A>();
  return decoding_kernel(request, {.jpeg = {.channels = attrs.channels}, .dtype = attrs.dtype});
}

std::unique_ptr<PreparedKernel> jpeg_shape_kernel(const KernelRequest& request) {
  if (request.inputs[0].shape.rank() != 0) {
    throw errors::InvalidArgumentError(
        fmt::format("contents must be scalar but got shape {}", request.inputs[0].shape.text()));
  }
  return function_kernel([dtype = request.outputs[0].dtype](const LaunchArgs& args) {
    ImageSize size;
    with_origin(args, [&] { size = jpeg_size(*args.input<std::string>(0)); });
    const std::int64_t sizes[] = {size.height, size.width, size.channels};
    if (dtype == DType::int64)
      std::copy_n(sizes, 3, args.output<std::int64_t>(0));
    else
      std::copy_n(sizes, 3, args.output<std::int32_t>(0));
  });
}

void require_option_dtype(DType dtype, std::initializer_list<DType> allowed, const char* option,
                          const char* op, Site site) {
  if (std::find(allowed.begin(), allowed.end(), dtype) != allowed.end()) return;
  std::string names;
  for (const DType one : allowed) names += std::string(names.empty() ? "" : ", ") + dtype_name(one);
  throw TypeError(fmt::format("Value passed to parameter '{}' has DataType {} not in list of "
                              "allowed values: {}",
                              option, dtype_name(dtype), names),
                  {.site = site, .op = op});
}

}  // namespace

static void register_decode_image_ops(OpRegistry& registry) {
  const NoGradient none{"the bytes of a string are not differentiable"};
  registry.add({.name = "DecodeJpeg",
                .inputs = {"contents: string"},
                .outputs = {"image: uint8"},
                .attrs = attributes<DecodeJpegAttrs>(),
                .shape =
                    [](InferenceContext& context) {
                      add_decoded_output(context, context.attrs<DecodeJpegAttrs>().channels,
                                         DType::uint8);
                    },
                .gradient = none});
  registry.add({.name = "DecodePng",
                .inputs = {"contents: string"},
                .outputs = {"image: dtype"},
                .attrs = attributes<DecodePngAttrs>(),
                .shape =
                    [](InferenceContext& context) {
                      const auto& attrs = context.attrs<DecodePngAttrs>();
                      add_decoded_output(context, attrs.channels, attrs.dtype);
                    },
                .gradient = none});
  registry.add({.name = "DecodeImage",
                .inputs = {"contents: string"},
                .outputs = {"image: dtype"},
                .attrs = attributes<DecodeImageAttrs>(),
                .shape =
                    [](InferenceContext& context) {
                      const auto& attrs = context.attrs<DecodeImageAttrs>();
                      if (!attrs.expand_animations)
                        return add_decoded_output(context, attrs.channels, attrs.dtype);
                      require_encoded_scalar(context);
                      context.add_output(attrs.dtype, Shape::unknown());
                    },
                .gradient = none});
  registry.add({.name = "ExtractJpegShape",
                .inputs = {"contents: string"},
                .outputs = {"image_shape: output_type"},
                .attrs = attributes<ExtractJpegShapeAttrs>(),
                .shape =
                    [](InferenceContext& context) {
                      require_encoded_scalar(context);
                      context.add_output(context.attrs<ExtractJpegShapeAttrs>().output_type,
                                         Shape{3});
                    },
                .gradient = none});
}

static void register_decode_image_kernels(KernelTable& table) {
  const auto writes = [](std::vector<DType> dtypes) {
    return [allowed = std::move(dtypes)](const KernelRequest& request) {
      return std::find(allowed.begin(), allowed.end(), request.outputs[0].dtype) != allowed.end();
    };
  };
  table.add({.op = "DecodeJpeg", .label = "library", .accepts = {}, .prepare = decode_jpeg_kernel});
  table.add({.op = "DecodePng",
             .label = "library",
             .accepts = writes({DType::uint8, DType::uint16}),
             .prepare = decode_typed_kernel<DecodePngAttrs>});
  table.add({.op = "DecodeImage",
             .label = "library",
             .accepts = writes({DType::uint8, DType::uint16, DType::float32}),
             .prepare = decode_typed_kernel<DecodeImageAttrs>});
  table.add({.op = "ExtractJpegShape",
             .label = "library",
             .accepts = writes({DType::int32, DType::int64}),
             .prepare = jpeg_shape_kernel});
}

Tensor decode_jpeg(const Operand& contents, DecodeJpegOptions options, Site site) {
  return OpBuilder("DecodeJpeg", options.name, site, {&contents})
      .input(contents, "contents", DType::string)
      .attrs(DecodeJpegAttrs{options.channels, options.ratio, options.fancy_upscaling,
                             options.try_recover_truncated,
                             static_cast<float>(options.acceptable_fraction), options.dct_method})
      .output();
}

Tensor decode_png(const Operand& contents, DecodePngOptions options, Site site) {
  require_option_dtype(options.dtype, {DType::uint8, DType::uint16}, "dtype", "DecodePng", site);
  return OpBuilder("DecodePng", options.name, site, {&contents})
      .input(contents, "contents", DType::string)
      .attrs(DecodePngAttrs{options.channels, options.dtype})
      .output();
}

Tensor decode_image(const Operand& contents, DecodeImageOptions options, Site site) {
  Graph& graph = graph_of(contents);
  const NameScope scope(graph, options.name.empty() ? "decode_image" : options.name, site);
  const DType dtype = options.dtype;
  const bool direct = dtype == DType::float32 || dtype == DType::uint8 || dtype == DType::uint16;
  Tensor image = OpBuilder("DecodeImage", "", site, {&contents})
                     .input(contents, "contents", DType::string)
                     .attrs(DecodeImageAttrs{options.channels, direct ? dtype : DType::uint16,
                                             options.expand_animations})
                     .output();
  if (!direct) image = convert_image_dtype(image, dtype, {}, site);
  if (!options.expand_animations) {
    const Dim channels = options.channels == 0 ? Dim(std::nullopt) : Dim(options.channels);
    image.set_shape(Shape(std::vector<Dim>{None, None, channels}), site);
  }
  return image;
}

Tensor extract_jpeg_shape(const Operand& contents, ExtractJpegShapeOptions options, Site site) {
  require_option_dtype(options.output_type, {DType::int32, DType::int64}, "output_type",
                       "ExtractJpegShape", site);
  return OpBuilder("ExtractJpegShape", options.name, site, {&contents})
      .input(contents, "contents", DType::string)
      .attrs(ExtractJpegShapeAttrs{options.output_type})
      .output();
}

}  // namespace towerflow::image

namespace towerflow {
OpFamily decode_image_family() {
  return {.ops = image::register_decode_image_ops, .kernels = image::register_decode_image_kernels};
}
}  // namespace towerflow

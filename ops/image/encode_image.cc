#include "ops/image/encode_image.h"

#include <fmt/format.h>

#include <limits>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/family.h"
#include "ops/image/jpeg_codec.h"
#include "ops/image/png_codec.h"

namespace towerflow::image {
namespace {

struct EncodeJpegAttrs {
  std::string format{};
  std::int64_t quality = 95;
  bool progressive = false;
  bool optimize_size = false;
  bool chroma_downsampling = true;
  std::string density_unit = "in";
  std::int64_t x_density = 300;
  std::int64_t y_density = 300;
  std::string xmp_metadata{};
  static constexpr auto fields =
      std::tuple{attr::field("format", &EncodeJpegAttrs::format),
                 attr::field("quality", &EncodeJpegAttrs::quality),
                 attr::field("progressive", &EncodeJpegAttrs::progressive),
                 attr::field("optimize_size", &EncodeJpegAttrs::optimize_size),
                 attr::field("chroma_downsampling", &EncodeJpegAttrs::chroma_downsampling),
                 attr::field("density_unit", &EncodeJpegAttrs::density_unit),
                 attr::field("x_density", &EncodeJpegAttrs::x_density),
                 attr::field("y_density", &EncodeJpegAttrs::y_density),
                 attr::field("xmp_metadata", &EncodeJpegAttrs::xmp_metadata)};
};

struct EncodePngAttrs {
  std::int64_t compression = -1;
  static constexpr auto fields =
      std::tuple{attr::field("compression", &EncodePngAttrs::compression)};
};

void encode_jpeg_shape(InferenceContext& context) {
  const Shape& image = context.shape(0);
  if (context.dtype(0) != DType::uint8) {
    context.fail_type(fmt::format("a JPEG is made of uint8, not {}", dtype_name(context.dtype(0))));
  }
  if (image.has_rank() && image.rank() != 3) {
    context.fail(
        fmt::format("Shape must be rank 3 but is rank {}: an image is [height, width, "
                    "channels]",
                    image.rank()));
  }
  context.add_output(DType::string, Shape{});
}

void encode_png_shape(InferenceContext& context) {
  const Shape& image = context.shape(0);
  const DType dtype = context.dtype(0);
  if (dtype != DType::uint8 && dtype != DType::uint16) {
    context.fail_type(
        fmt::format("Value passed to parameter 'image' has DataType {} not in list "
                    "of allowed values: uint8, uint16",
                    dtype_name(dtype)));
  }
  if (!image.has_rank()) return context.add_output(DType::string, Shape::unknown());
  if (image.rank() < 3) {
    context.fail(
        fmt::format("Shape must be at least rank 3 but is rank {}: images are [.., "
                    "height, width, channels]",
                    image.rank()));
  }
  context.add_output(DType::string,
                     Shape(std::vector<Dim>(image.dims().begin(), image.dims().end() - 3)));
}

/// Returns the last three sizes of images to encode. Throws InvalidArgumentError for more channels
/// or elements than an encoder takes.
ImageSize encoded_size(const Shape& shape, std::int64_t most_channels) {
  const std::size_t first = shape.rank() - 3;
  const ImageSize size{shape.size(first), shape.size(first + 1), shape.size(first + 2)};
  if (shape.elements() >= std::numeric_limits<std::int32_t>::max()) {
    throw errors::InvalidArgumentError(
        fmt::format("Cannot encode images of 2^31 elements or more: {}", shape.text()));
  }
  if (size.channels < 1 || size.channels > most_channels ||
      (most_channels == 3 && size.channels == 2)) {
    throw errors::InvalidArgumentError(fmt::format("image must have {} channels, got {}",
                                                   most_channels == 3 ? "1 or 3" : "1, 2, 3, or 4",
                                                   shape.text()));
  }
  return size;
}

void require_pixels(const ImageSize& size, const char* format) {
  if (size.height > 0 && size.width > 0) return;
  throw errors::InternalError(
      fmt::format("{} encoding failed: an image of shape [{}, {}, {}] has no pixels", format,
                  size.height, size.width, size.channels));
}

std::unique_ptr<PreparedKernel> encode_jpeg_kernel(const KernelRequest& request) {
  const auto& attrs = request.attributes<EncodeJpegAttrs>();
  if (attrs.quality < 0 || attrs.quality > 100) {
    throw errors::InvalidArgumentError(
        fmt::format("quality must be in [0,100], got {}", attrs.quality));
  }
  const Shape& shape = request.inputs[0].shape;
  if (shape.rank() != 3) {
    throw errors::InvalidArgumentError(
        fmt::format("image must be 3-dimensional, got shape {}", shape.text()));
  }
  const ImageSize size = encoded_size(shape, 3);
  const std::int64_t expected = attrs.format == "grayscale" ? 1 : attrs.format == "rgb" ? 3 : 0;
  if (expected != 0 && size.channels != expected) {
    throw errors::InvalidArgumentError(
        fmt::format("format {} expects {} channels, got {}", attrs.format, expected, shape.text()));
  }
  return function_kernel(
      [size, how = JpegEncoding{.quality = static_cast<int>(attrs.quality),
                                .progressive = attrs.progressive,
                                .optimize_size = attrs.optimize_size,
                                .chroma_downsampling = attrs.chroma_downsampling,
                                .per_inch = attrs.density_unit == "in",
                                .x_density = static_cast<int>(attrs.x_density),
                                .y_density = static_cast<int>(attrs.y_density),
                                .xmp_metadata = attrs.xmp_metadata}](const LaunchArgs& args) {
        require_pixels(size, "JPEG");
        *args.output<std::string>(0) = encode_jpeg_bytes(args.input<std::uint8_t>(0), size, how);
      });
}

std::unique_ptr<PreparedKernel> encode_png_kernel(const KernelRequest& request) {
  const std::int64_t compression = request.attributes<EncodePngAttrs>().compression;
  if (compression < -1 || compression > 9) {
    throw errors::InvalidArgumentError(
        fmt::format("compression should be in [-1,9], got {}", compression));
  }
  const Shape& shape = request.inputs[0].shape;
  if (shape.rank() < 3) {
    throw errors::InvalidArgumentError(
        fmt::format("images must be at least rank 3, got shape {}", shape.text()));
  }
  const ImageSize size = encoded_size(shape, 4);
  const int bits = request.inputs[0].dtype == DType::uint8 ? 8 : 16;
  const std::int64_t images = request.outputs[0].shape.elements();
  return function_kernel([=](const LaunchArgs& args) {
    if (images > 0) require_pixels(size, "PNG");
    for (std::int64_t i = 0; i < images; ++i) {
      const std::byte* pixels = args.input<std::byte>(0) + i * size.elements() * (bits / 8);
      args.output<std::string>(0)[i] =
          encode_png_bytes(pixels, size, bits, static_cast<int>(compression));
    }
  });
}

void require_choice(const std::string& value, std::initializer_list<const char*> allowed,
                    const char* option, Site site) {
  std::string names;
  for (const char* one : allowed) {
    if (value == one) return;
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", one);
  }
  throw ValueError(fmt::format("Value for attr '{}' of '{}' is not in the list of allowed values: "
                               "{}",
                               option, value, names),
                   {.site = site, .op = "EncodeJpeg"});
}

}  // namespace

static void register_encode_image_ops(OpRegistry& registry) {
  const NoGradient none{"a string is not differentiable"};
  registry.add({.name = "EncodeJpeg",
                .inputs = {"image: uint8"},
                .outputs = {"contents: string"},
                .attrs = attributes<EncodeJpegAttrs>(),
                .shape = encode_jpeg_shape,
                .gradient = none});
  registry.add({.name = "EncodePng",
                .inputs = {"image: T"},
                .outputs = {"contents: string"},
                .attrs = attributes<EncodePngAttrs>(),
                .shape = encode_png_shape,
                .gradient = none});
}

static void register_encode_image_kernels(KernelTable& table) {
  table.add({.op = "EncodeJpeg", .label = "library", .accepts = {}, .prepare = encode_jpeg_kernel});
  table.add({.op = "EncodePng", .label = "library", .accepts = {}, .prepare = encode_png_kernel});
}

Tensor encode_jpeg(const Operand& image, EncodeJpegOptions options, Site site) {
  OpBuilder builder("EncodeJpeg", options.name, site, {&image});
  builder.input(image, "image", DType::uint8);
  require_choice(options.format, {"", "grayscale", "rgb"}, "format", site);
  require_choice(options.density_unit, {"in", "cm"}, "density_unit", site);
  return builder
      .attrs(EncodeJpegAttrs{options.format, options.quality, options.progressive,
                             options.optimize_size, options.chroma_downsampling,
                             options.density_unit, options.x_density, options.y_density,
                             options.xmp_metadata})
      .output();
}

Tensor encode_png(const Operand& image, int compression, EncodePngOptions options, Site site) {
  Graph& graph = graph_of(image);
  const Tensor pixels = convert_operand(graph, image, "Const", std::nullopt);
  return OpBuilder("EncodePng", options.name, site, {})
      .input(pixels, "image")
      .attrs(EncodePngAttrs{compression})
      .output();
}

}  // namespace towerflow::image

namespace towerflow {
OpFamily encode_image_family() {
  return {.ops = image::register_encode_image_ops, .kernels = image::register_encode_image_kernels};
}
}  // namespace towerflow

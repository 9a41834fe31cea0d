// JPEG and PNG images.
#include <zlib.h>

#include <cstdint>
#include <vector>

#include "core/graph/error.h"
#include "data/byte_order.h"
#include "ops/image/jpeg_codec.h"
#include "ops/image/png_codec.h"
#include "tests/fuzz/target.h"

namespace towerflow::fuzz {
namespace {

using image::ImageSize;

/// Larger images are refused, since they would make a search slow.
constexpr std::int64_t kMostElements = 1 << 20;

/// Memory for the pixels of a decoder.
struct Pixels {
  void* allocate(const ImageSize& found, std::size_t bytes) {
    require(found.height > 0 && found.width > 0 && found.channels > 0 && found.channels <= 4,
            "a decoded image has pixels");
    require(found.height * found.width < image::kMaxPixels, "a decoded image is not too large");
    if (found.elements() > kMostElements) throw errors::InvalidArgumentError("too large");
    size = found;
    memory.assign(static_cast<std::size_t>(found.elements()) * bytes, 0);
    return memory.data();
  }
  ImageSize size;
  std::vector<std::uint8_t> memory;
};

/// Returns whether the data could be decoded.
bool read_jpeg(std::string_view bytes) {
  ImageSize size;
  if (!succeeds([&] { size = image::jpeg_size(bytes); })) return false;
  if (size.elements() > kMostElements) return false;
  bool decoded = false;
  for (const bool recover : {false, true}) {
    const image::JpegDecoding how{.channels = bytes.size() % 2 == 0 ? 0 : 3,
                                  .try_recover_truncated = recover,
                                  .acceptable_fraction = 0.5F};
    Pixels pixels;
    decoded = succeeds([&] {
      image::decode_jpeg_bytes(bytes, how,
                               [&](const ImageSize& found) { return pixels.allocate(found, 1); });
    });
    require(!decoded || (pixels.size.height == size.height && pixels.size.width == size.width),
            "a JPEG has the size of its header");
    if (decoded)
      require(!image::encode_jpeg_bytes(pixels.memory.data(), pixels.size, {}).empty(),
              "a decoded image can be encoded");
  }
  return decoded;
}

bool read_png(std::string_view bytes) {
  for (const int bits : {8, 16}) {
    Pixels pixels;
    const auto channels = static_cast<std::int64_t>(bytes.size() % 5);
    const bool decoded = succeeds([&] {
      image::decode_png_bytes(bytes, channels, bits, [&](const ImageSize& found) {
        return pixels.allocate(found, static_cast<std::size_t>(bits / 8));
      });
    });
    if (!decoded) return false;
    const std::vector<std::uint8_t> first = pixels.memory;
    const std::string again =
        image::encode_png_bytes(first.data(), pixels.size, bits, bits == 8 ? 1 : 0);
    image::decode_png_bytes(again, 0, bits, [&](const ImageSize& found) {
      return pixels.allocate(found, static_cast<std::size_t>(bits / 8));
    });
    require(pixels.memory == first, "an encoded image has the same pixels");
  }
  return true;
}

void read_image(std::string_view bytes) {
  const bool is_jpeg = read_jpeg(bytes), is_png = read_png(bytes);
  require(!is_jpeg || !is_png, "an image has one format");
  if (!is_jpeg && !is_png) throw errors::InvalidArgumentError("neither a JPEG nor a PNG");
}

constexpr std::size_t kSignatureBytes = 8;
constexpr std::size_t kChunkBytes = 12;  // length, type and checksum

/// Corrects the checksum of each chunk of a PNG up to the first whose length is wrong.
void fix_chunks(std::string& bytes) {
  std::size_t at = kSignatureBytes;
  while (at + kChunkBytes <= bytes.size()) {
    const auto whole = std::as_writable_bytes(std::span(bytes));
    const std::size_t length = data::load_big<std::uint32_t>(whole.subspan(at));
    if (length > bytes.size() - at - kChunkBytes) return;
    const auto* checked = reinterpret_cast<const Bytef*>(bytes.data() + at + 4);
    const auto crc = static_cast<std::uint32_t>(crc32(0, checked, static_cast<uInt>(length + 4)));
    for (std::size_t i = 0; i < 4; ++i)
      bytes[at + 8 + length + i] = static_cast<char>(crc >> (24 - 8 * i));
    at += kChunkBytes + length;
  }
}

void mutate_image(std::string& bytes, std::size_t most, Random& random, const Mutate& plain) {
  plain(bytes, most);
  if (bytes.starts_with("\x89PNG") && random() % 4 != 0) fix_chunks(bytes);
}

}  // namespace

const Target kImage{"image", read_image, mutate_image};

}  // namespace towerflow::fuzz

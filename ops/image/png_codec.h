#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ops/image/codec.h"

namespace towerflow::image {

/// Decodes a PNG to numbers of 8 or 16 bits. Numbers of another size are converted. `channels` is 0
/// for those of the file, 1, 2, 3 or 4. Throws InvalidArgumentError for invalid data.
void decode_png_bytes(std::string_view bytes, std::int64_t channels, int bits,
                      const AllocatePixels& allocate);

/// Encodes an image of 1 to 4 channels of 8 or 16 bits. `compression` is zlib's level, -1 for its
/// default. Throws InternalError if the library refuses its size.
std::string encode_png_bytes(const void* pixels, const ImageSize& size, int bits, int compression);

}  // namespace towerflow::image

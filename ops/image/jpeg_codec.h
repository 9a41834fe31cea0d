#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ops/image/codec.h"

namespace towerflow::image {

/// How a JPEG is decoded.
struct JpegDecoding {
  std::int64_t channels = 0;  ///< 0 for those of the file, 1 or 3
  std::int64_t ratio = 1;     ///< divisor of the size: 1, 2, 4 or 8
  bool fancy_upscaling = true;
  bool try_recover_truncated = false;
  float acceptable_fraction = 1;  ///< the part of the rows that must be readable
  bool accurate_dct = false;
};

/// Decodes a JPEG to bytes. CMYK becomes RGB. Throws InvalidArgumentError for invalid data.
void decode_jpeg_bytes(std::string_view bytes, const JpegDecoding& how,
                       const AllocatePixels& allocate);

/// Returns the size of a JPEG, read from its header. Throws InvalidArgumentError for invalid data.
ImageSize jpeg_size(std::string_view bytes);

/// How a JPEG is encoded.
struct JpegEncoding {
  int quality = 95;
  bool progressive = false;
  bool optimize_size = false;
  bool chroma_downsampling = true;
  bool per_inch = true;  ///< whether densities are pixels per inch, otherwise per centimetre
  int x_density = 300;
  int y_density = 300;
  std::string xmp_metadata{};
};

/// Encodes an image of 1 or 3 channels. Throws InternalError if the library refuses its size.
std::string encode_jpeg_bytes(const std::uint8_t* pixels, const ImageSize& size,
                              const JpegEncoding& how);

}  // namespace towerflow::image

#pragma once

#include <cstdint>
#include <functional>

namespace towerflow::image {

/// The size of an image in memory: rows of pixels of `channels` numbers.
struct ImageSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;

  std::int64_t elements() const { return height * width * channels; }
};

/// Decoders refuse images with this many pixels, as TensorFlow does.
inline constexpr std::int64_t kMaxPixels = std::int64_t{1} << 29;

/// Returns memory for the pixels of a decoder, which calls it once it knows the size.
using AllocatePixels = std::function<void*(const ImageSize& size)>;

}  // namespace towerflow::image

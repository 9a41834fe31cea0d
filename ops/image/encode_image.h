#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow::image {

struct EncodeJpegOptions {
  std::string format{};      ///< "grayscale" or "rgb"; "" for that of the number of channels
  int quality = 95;          ///< from 0 to 100
  bool progressive = false;  ///< whether the file shows the whole image coarsely first
  bool optimize_size = false;
  bool chroma_downsampling = true;  ///< whether colour is stored at half the resolution
  std::string density_unit = "in";  ///< of the densities, pixels per "in" or "cm"
  int x_density = 300;
  int y_density = 300;
  std::string xmp_metadata{};  ///< kept in the header, unless empty
  std::string name{};
};

/// Encodes an image as a JPEG.
///
/// shapes   image [height, width, 1 or 3] -> []      dtypes  image uint8 -> string
/// grads    none: a string is not differentiable
/// errors   ValueError: not three dimensions, an unknown format or unit; TypeError: another dtype;
///          at run time InvalidArgumentError: quality or channels; InternalError: an image without
///          pixels, or larger than the format allows
/// source   tf.image.encode_jpeg, tf.io.encode_jpeg
Tensor encode_jpeg(const Operand& image, EncodeJpegOptions options = {},
                   Site site = Site::current());

struct EncodePngOptions {
  ByName by_name = ByName();
  std::string name{};
};

/// Encodes images as PNGs. `compression` is from 0 to 9, or -1 for zlib's default.
///
/// shapes   image [.., height, width, 1 to 4] -> [..]      dtypes  image uint8, uint16 -> string
/// grads    none: a string is not differentiable
/// errors   ValueError: less than three dimensions; TypeError: another dtype; at run time
///          InvalidArgumentError: compression or channels; InternalError: an image without pixels
/// source   tf.image.encode_png, tf.io.encode_png
Tensor encode_png(const Operand& image, int compression = -1, EncodePngOptions options = {},
                  Site site = Site::current());
inline Tensor encode_png(const Operand& image, EncodePngOptions options,
                         Site site = Site::current()) {
  return encode_png(image, -1, options, site);
}

}  // namespace towerflow::image

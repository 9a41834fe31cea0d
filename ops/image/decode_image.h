#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow::image {

struct DecodeJpegOptions {
  int channels = 0;                    ///< 1 for grey, 3 for RGB, 0 for those of the file
  int ratio = 1;                       ///< makes the image smaller by 1, 2, 4 or 8
  bool fancy_upscaling = true;         ///< whether colour is interpolated between its samples
  bool try_recover_truncated = false;  ///< whether missing data at the end are made up
  double acceptable_fraction = 1;      ///< the part of the rows that must be there
  std::string dct_method{};  ///< "INTEGER_FAST", which is the default, or "INTEGER_ACCURATE"
  std::string name{};
};

/// Decodes a JPEG. As in TensorFlow, the data may also be a PNG.
///
/// shapes   contents [] -> [height, width, channels], known at run time
/// dtypes   contents string -> uint8      grads  none: bytes of a string
/// errors   ValueError: contents is no scalar, a negative number of channels; at run time
///          InvalidArgumentError: invalid data or options, an image of 2^29 numbers or more;
///          UnimplementedError: GIF, BMP, WebP, JPEG XL
/// source   tf.image.decode_jpeg, tf.io.decode_jpeg
Tensor decode_jpeg(const Operand& contents, DecodeJpegOptions options = {},
                   Site site = Site::current());

struct DecodePngOptions {
  int channels = 0;  ///< 1 for grey, 3 for RGB, 4 for RGB with opacity, 0 for those of the file
  DType dtype = DType::uint8;  ///< uint8 or uint16
  std::string name{};
};

/// Decodes a PNG. As in TensorFlow, the data may also be a JPEG.
///
/// shapes   contents [] -> [height, width, channels], known at run time
/// dtypes   contents string -> uint8, uint16      grads  none: bytes of a string
/// errors   as decode_jpeg; TypeError: another dtype
/// source   tf.image.decode_png, tf.io.decode_png
Tensor decode_png(const Operand& contents, DecodePngOptions options = {},
                  Site site = Site::current());

struct DecodeImageOptions {
  int channels = 0;
  DType dtype = DType::uint8;  ///< a number type; floating-point results are from 0 to 1
  std::string name{};
  bool expand_animations = true;  ///< false: the result is known to have three dimensions
};

/// Decodes a JPEG or a PNG, whichever the data are. For dtypes other than uint8, uint16 and
/// float32, the image is decoded as uint16 and converted by `convert_image_dtype`.
///
/// shapes   contents [] -> [height, width, channels], known at run time
/// dtypes   contents string -> numbers      grads  none: bytes of a string
/// errors   as decode_jpeg
/// source   tf.image.decode_image, tf.io.decode_image
Tensor decode_image(const Operand& contents, DecodeImageOptions options = {},
                    Site site = Site::current());

struct ExtractJpegShapeOptions {
  DType output_type = DType::int32;  ///< int32 or int64
  std::string name{};
};

/// Returns the height, width and channels of a JPEG, which is not decoded.
///
/// shapes   contents [] -> [3]      dtypes  contents string -> int32, int64
/// grads    none: bytes of a string
/// errors   ValueError: contents is no scalar; TypeError: another output type; at run time
///          InvalidArgumentError: invalid data
/// source   tf.image.extract_jpeg_shape, tf.io.extract_jpeg_shape
Tensor extract_jpeg_shape(const Operand& contents, ExtractJpegShapeOptions options = {},
                          Site site = Site::current());

}  // namespace towerflow::image

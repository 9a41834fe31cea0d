#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct DecodeRawOptions {
  bool little_endian = true;
  std::string name{};
};

/// Reinterprets the bytes of strings as numbers.
///
/// shapes   bytes [d...] -> [d..., n]; all strings have the same length, n numbers
/// dtypes   float32, float64, integers of up to 64 bits
/// grads    none: bytes are not differentiable
/// errors   InvalidArgumentError: strings of different lengths, a length that is not a multiple
///          of the number's size or that contradicts `set_shape`
/// source   tf.decode_raw
Tensor decode_raw(const Operand& bytes, DType out_type, DecodeRawOptions options = {},
                  Site site = Site::current());

}  // namespace towerflow

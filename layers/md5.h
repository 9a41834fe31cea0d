#pragma once

#include <cstdint>
#include <string_view>

namespace towerflow::layers {

/// Returns the first four bytes of the MD5 sum (RFC 1321) of a text, the first one highest.
/// TensorFlow derives the seeds of a cell's parts from it.
std::uint32_t md5_prefix(std::string_view text);

}  // namespace towerflow::layers

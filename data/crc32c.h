#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace towerflow {

/// Extends `crc`, the CRC-32C (Castagnoli, RFC 3720 appendix B.4) of the bytes so far, 0 for none,
/// by `bytes`. Uses the SSE4.2 instruction if the processor has it, tables otherwise.
std::uint32_t crc32c_extend(std::uint32_t crc, std::span<const std::byte> bytes) noexcept;

inline std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept {
  return crc32c_extend(0, bytes);
}

/// The form in which TFRecord files and checkpoint tables store a CRC: rotated, plus a constant,
/// since the CRC of data that contains its own CRCs would be weak.
constexpr std::uint32_t masked_crc(std::uint32_t crc) noexcept {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

constexpr std::uint32_t unmasked_crc(std::uint32_t masked) noexcept {
  const std::uint32_t rotated = masked - 0xa282ead8U;
  return (rotated >> 17) | (rotated << 15);
}

/// `crc32c_extend` with tables only, for processors without the instruction; the result is the
/// same.
std::uint32_t crc32c_extend_by_table(std::uint32_t crc, std::span<const std::byte> bytes) noexcept;

}  // namespace towerflow

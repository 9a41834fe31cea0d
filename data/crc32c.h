#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace towerflow {

/// CRC-32C (Castagnoli, RFC 3720 appendix B.4) of bytes that follow others whose CRC is `crc`; 0
/// before the first. Uses the SSE4.2 instruction where the processor has it, a table elsewhere.
std::uint32_t crc32c_extend(std::uint32_t crc, std::span<const std::byte> bytes) noexcept;

inline std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept {
  return crc32c_extend(0, bytes);
}

/// The form in which TFRecord files and checkpoint tables store a CRC: the CRC of data that holds
/// CRCs of itself would be weak, so it is rotated and a constant added.
constexpr std::uint32_t masked_crc(std::uint32_t crc) noexcept {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

constexpr std::uint32_t unmasked_crc(std::uint32_t masked) noexcept {
  const std::uint32_t rotated = masked - 0xa282ead8U;
  return (rotated >> 17) | (rotated << 15);
}

/// `crc32c_extend` by tables alone; the same value, for processors without the instruction.
std::uint32_t crc32c_extend_by_table(std::uint32_t crc, std::span<const std::byte> bytes) noexcept;

}  // namespace towerflow

#include "data/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace towerflow {
namespace {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// tables[k][b]: the effect of byte b on the CRC if k zero bytes follow it, so that eight bytes take
// eight independent look-ups ("slicing by 8", Kounavis and Berry 2005).
constexpr Tables make_tables() {
  constexpr std::uint32_t kReversedPolynomial = 0x82f63b78U;
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) ? kReversedPolynomial : 0U);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < tables.size(); ++k)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xffU];
    }
  return tables;
}

constexpr Tables kTables = make_tables();

std::uint64_t load64(const std::byte* from) {
  std::uint64_t value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

std::uint32_t step(std::uint32_t crc, std::byte byte) {
  return (crc >> 8) ^ kTables[0][(crc ^ static_cast<std::uint32_t>(byte)) & 0xffU];
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t extend_by_instruction(
    std::uint32_t crc, std::span<const std::byte> bytes) {
  std::uint64_t state = ~crc;
  while (bytes.size() >= 8) {
    state = _mm_crc32_u64(state, load64(bytes.data()));
    bytes = bytes.subspan(8);
  }
  std::uint32_t rest = static_cast<std::uint32_t>(state);
  for (const std::byte byte : bytes) rest = _mm_crc32_u8(rest, static_cast<unsigned char>(byte));
  return ~rest;
}
#endif

}  // namespace

std::uint32_t crc32c_extend_by_table(std::uint32_t crc, std::span<const std::byte> bytes) noexcept {
  crc = ~crc;
  while (bytes.size() >= 8) {
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      const std::uint32_t mixed = i < 4 ? (crc >> (8 * i)) & 0xffU : 0U;
      next ^= kTables[7 - i][mixed ^ static_cast<std::uint32_t>(bytes[i])];
    }
    crc = next;
    bytes = bytes.subspan(8);
  }
  for (const std::byte byte : bytes) crc = step(crc, byte);
  return ~crc;
}

std::uint32_t crc32c_extend(std::uint32_t crc, std::span<const std::byte> bytes) noexcept {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) return extend_by_instruction(crc, bytes);
#endif
  return crc32c_extend_by_table(crc, bytes);
}

}  // namespace towerflow

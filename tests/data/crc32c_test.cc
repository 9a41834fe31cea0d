#include "data/crc32c.h"

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <vector>

#include "data/file.h"

namespace towerflow {

TEST_CASE("crc32c: the vectors of RFC 3720 B.4") {
  std::vector<std::byte> bytes(32, std::byte{0});
  CHECK(crc32c(bytes) == 0x8a9136aaU);
  CHECK(crc32c_extend_by_table(0, bytes) == 0x8a9136aaU);
  bytes.assign(32, std::byte{0xff});
  CHECK(crc32c(bytes) == 0x62a8ab43U);
  CHECK(crc32c_extend_by_table(0, bytes) == 0x62a8ab43U);
  for (unsigned i = 0; i < 32; ++i) bytes[i] = static_cast<std::byte>(i);
  CHECK(crc32c(bytes) == 0x46dd794eU);
  CHECK(crc32c_extend_by_table(0, bytes) == 0x46dd794eU);
  for (unsigned i = 0; i < 32; ++i) bytes[i] = static_cast<std::byte>(31 - i);
  CHECK(crc32c(bytes) == 0x113fdb5cU);
  CHECK(crc32c(bytes_of("123456789")) == 0xe3069283U);
  CHECK(crc32c({}) == 0U);
}

TEST_CASE("crc32c: instruction and table agree at every length and alignment, in pieces") {
  std::vector<std::byte> bytes(200);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 + 11);
  const std::span<const std::byte> all(bytes);
  for (std::size_t start = 0; start < 9; ++start)
    for (std::size_t length = 0; length + start <= 80; ++length) {
      const auto part = all.subspan(start, length);
      const std::uint32_t whole = crc32c(part);
      REQUIRE(whole == crc32c_extend_by_table(0, part));
      const std::size_t cut = length / 3;
      REQUIRE(whole == crc32c_extend(crc32c(part.first(cut)), part.subspan(cut)));
      REQUIRE(whole == crc32c_extend_by_table(crc32c(part.first(cut)), part.subspan(cut)));
    }
}

TEST_CASE("crc32c: mask") {
  // The data checksum of an empty record in a TFRecord file.
  CHECK(masked_crc(0U) == 0xa282ead8U);
  for (const std::uint32_t crc : {0U, 1U, 0xe3069283U, 0xffffffffU, 0x80000000U}) {
    CHECK(unmasked_crc(masked_crc(crc)) == crc);
    CHECK(masked_crc(crc) != crc);
  }
}

}  // namespace towerflow

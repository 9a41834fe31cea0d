#include "layers/md5.h"

#include <array>
#include <bit>
#include <cmath>
#include <string>

namespace towerflow::layers {
namespace {

using Md5State = std::array<std::uint32_t, 4>;

/// The constant of a round: the fraction of |sin(round + 1)|.
std::uint32_t md5_constant(int round) {
  return static_cast<std::uint32_t>(std::floor(std::abs(std::sin(round + 1.0)) * 4294967296.0));
}

std::uint32_t little_endian(const char* bytes) {
  std::uint32_t word = 0;
  for (int i = 3; i >= 0; --i) word = word << 8 | static_cast<unsigned char>(bytes[i]);
  return word;
}

void add_md5_block(Md5State& state, const char* block) {
  static constexpr std::array<std::array<int, 4>, 4> kShifts{
      {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};
  auto [a, b, c, d] = state;
  for (int i = 0; i < 64; ++i) {
    std::uint32_t mixed = 0;
    int word = i;
    if (i < 16) {
      mixed = (b & c) | (~b & d);
    } else if (i < 32) {
      mixed = (d & b) | (~d & c);
      word = (5 * i + 1) % 16;
    } else if (i < 48) {
      mixed = b ^ c ^ d;
      word = (3 * i + 5) % 16;
    } else {
      mixed = c ^ (b | ~d);
      word = 7 * i % 16;
    }
    const std::uint32_t sum = a + mixed + md5_constant(i) + little_endian(block + 4 * word);
    const int shift = kShifts[static_cast<std::size_t>(i / 16)][static_cast<std::size_t>(i % 4)];
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, shift);
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d};
}

}  // namespace

std::uint32_t md5_prefix(std::string_view text) {
  Md5State state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  std::string message(text);
  message += '\x80';
  while (message.size() % 64 != 56) message += '\0';
  const std::uint64_t bits = std::uint64_t{text.size()} * 8;
  for (int i = 0; i < 8; ++i) message += static_cast<char>(bits >> (8 * i));
  for (std::size_t at = 0; at < message.size(); at += 64) add_md5_block(state, &message[at]);
  std::uint32_t prefix = 0;  // the first word is written lowest byte first
  for (int i = 0; i < 4; ++i) prefix = prefix << 8 | ((state[0] >> (8 * i)) & 0xFF);
  return prefix;
}

}  // namespace towerflow::layers

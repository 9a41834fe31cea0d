#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

/// Readers of the files in golden/, whose format is documented in make_golden.py.
namespace golden {

/// Returns the lines of a golden file as streams. Throws if there are none.
inline std::vector<std::istringstream> lines(const std::string& name) {
  std::ifstream file("tests/ops/random/golden/" + name);
  std::vector<std::istringstream> result;
  for (std::string line; std::getline(file, line);) result.emplace_back(line);
  if (result.empty()) throw std::runtime_error("no golden file " + name);
  return result;
}

/// Reads the rest of a line as elements given by their bits in hexadecimal.
template <class T>
std::vector<T> read_bits(std::istream& line) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  std::vector<T> result;
  for (Bits bits; line >> std::hex >> bits;) result.push_back(std::bit_cast<T>(bits));
  return result;
}

/// Returns FNV-1a 64 over the bytes of `data`.
template <class T>
std::uint64_t hash(const std::vector<T>& data) {
  std::uint64_t value = 0xcbf29ce484222325U;
  for (const std::byte byte : std::as_bytes(std::span(data)))
    value = (value ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3U;
  return value;
}

/// Returns the number of floating-point steps between two finite numbers of any sign.
template <class T>
std::uint64_t ulps_apart(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  const auto place = [](T x) -> std::int64_t {
    const std::int64_t bits = std::bit_cast<Bits>(x);
    return bits >= 0 ? bits : std::int64_t{std::numeric_limits<Bits>::min()} - bits;
  };
  const auto pa = static_cast<std::uint64_t>(place(a));
  const auto pb = static_cast<std::uint64_t>(place(b));
  return place(a) > place(b) ? pa - pb : pb - pa;
}

}  // namespace golden

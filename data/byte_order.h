#pragma once

#include <concepts>
#include <cstddef>
#include <span>

namespace towerflow::data {

/// Reads the first sizeof(T) of `bytes` as an unsigned number, least significant byte first.
template <std::unsigned_integral T>
constexpr T load_little(std::span<const std::byte> bytes) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value | static_cast<T>(static_cast<T>(bytes[i]) << (8 * i)));
  return value;
}

/// The same with the most significant byte first.
template <std::unsigned_integral T>
constexpr T load_big(std::span<const std::byte> bytes) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value =
        static_cast<T>(value | static_cast<T>(static_cast<T>(bytes[sizeof(T) - 1 - i]) << (8 * i)));
  return value;
}

template <std::unsigned_integral T>
constexpr void store_little(std::span<std::byte> bytes, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
}

}  // namespace towerflow::data

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace towerflow::random {

/// The counter-based generator Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
/// 1, 2, 3", SC 2011), keyed like TensorFlow's, so that equal seeds give equal bits.
///
/// A value type: a copy continues the same stream independently. Each draw yields 128 bits and
/// advances the 128-bit counter by one; `skip` advances it without drawing, in constant time.
class Philox {
 public:
  /// Four 32-bit numbers, in the order in which they are consumed.
  using Block = std::array<std::uint32_t, 4>;

  /// `key` is the 64-bit key; `stream` becomes the upper half of the counter, whose lower half
  /// starts at 0. TensorFlow's ops pass their attributes `seed` and `seed2`.
  constexpr Philox(std::uint64_t key, std::uint64_t stream) noexcept : key_(key), high_(stream) {}

  constexpr std::uint64_t key() const noexcept { return key_; }
  constexpr std::uint64_t counter_low() const noexcept { return low_; }
  constexpr std::uint64_t counter_high() const noexcept { return high_; }

  /// Advances by `count` blocks.
  constexpr void skip(std::uint64_t count) noexcept {
    low_ += count;
    if (low_ < count) ++high_;
  }

  /// Returns the block at the current counter and advances by one.
  constexpr Block operator()() noexcept {
    Block x = {static_cast<std::uint32_t>(low_), static_cast<std::uint32_t>(low_ >> 32),
               static_cast<std::uint32_t>(high_), static_cast<std::uint32_t>(high_ >> 32)};
    auto k0 = static_cast<std::uint32_t>(key_);
    auto k1 = static_cast<std::uint32_t>(key_ >> 32);
    for (int round = 0; round < kRounds; ++round) {
      const std::uint64_t p0 = std::uint64_t{kMultiplier0} * x[0];
      const std::uint64_t p1 = std::uint64_t{kMultiplier1} * x[2];
      x = {static_cast<std::uint32_t>(p1 >> 32) ^ x[1] ^ k0, static_cast<std::uint32_t>(p1),
           static_cast<std::uint32_t>(p0 >> 32) ^ x[3] ^ k1, static_cast<std::uint32_t>(p0)};
      k0 += kWeyl0;
      k1 += kWeyl1;
    }
    skip(1);
    return x;
  }

  /// The constants of the paper.
  static constexpr int kRounds = 10;
  static constexpr std::uint32_t kMultiplier0 = 0xD2511F53;
  static constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57;
  static constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
  static constexpr std::uint32_t kWeyl1 = 0xBB67AE85;

 private:
  std::uint64_t key_;
  std::uint64_t low_ = 0;
  std::uint64_t high_;
};

/// Hands out the words of successive blocks one at a time, as shuffling needs them.
class PhiloxWords {
 public:
  explicit PhiloxWords(const Philox& generator) noexcept : generator_(generator) {}

  std::uint32_t operator()() noexcept {
    if (used_ == block_.size()) {
      block_ = generator_();
      used_ = 0;
    }
    return block_[used_++];
  }

 private:
  Philox generator_;
  Philox::Block block_{};
  std::size_t used_ = 4;
};

/// Computes the blocks of kLanes counters at once: word w of lane i is `out[w][i]`, drawn `first +
/// i * stride` blocks after `base`. Laid out by word so that compilers vectorise the rounds. The
/// result is bitwise that of `skip` followed by a draw.
template <int kLanes>
void philox_lanes(const Philox& base, std::uint64_t first, std::uint64_t stride,
                  std::uint32_t (&out)[4][kLanes]) noexcept {
  for (int i = 0; i < kLanes; ++i) {
    const std::uint64_t distance = first + static_cast<std::uint64_t>(i) * stride;
    const std::uint64_t low = base.counter_low() + distance;
    const std::uint64_t high = base.counter_high() + (low < distance ? 1 : 0);
    out[0][i] = static_cast<std::uint32_t>(low);
    out[1][i] = static_cast<std::uint32_t>(low >> 32);
    out[2][i] = static_cast<std::uint32_t>(high);
    out[3][i] = static_cast<std::uint32_t>(high >> 32);
  }
  auto k0 = static_cast<std::uint32_t>(base.key());
  auto k1 = static_cast<std::uint32_t>(base.key() >> 32);
  for (int round = 0; round < Philox::kRounds; ++round) {
    for (int i = 0; i < kLanes; ++i) {
      const std::uint64_t p0 = std::uint64_t{Philox::kMultiplier0} * out[0][i];
      const std::uint64_t p1 = std::uint64_t{Philox::kMultiplier1} * out[2][i];
      out[0][i] = static_cast<std::uint32_t>(p1 >> 32) ^ out[1][i] ^ k0;
      out[1][i] = static_cast<std::uint32_t>(p1);
      out[2][i] = static_cast<std::uint32_t>(p0 >> 32) ^ out[3][i] ^ k1;
      out[3][i] = static_cast<std::uint32_t>(p0);
    }
    k0 += Philox::kWeyl0;
    k1 += Philox::kWeyl1;
  }
}

}  // namespace towerflow::random

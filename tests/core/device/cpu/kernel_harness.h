#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "core/device/cpu/cpu_kernel.h"

/// Runs kernels on guarded memory, for tests.
namespace towerflow::testing {

/// A buffer with sentinel bytes before and after, at 64-byte alignment plus `shift`.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t bytes, std::size_t shift = 0) : bytes_(bytes) {
    storage_.assign(bytes + 2 * kGuard + 64, kSentinel);
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    begin_ = (address + kGuard + 63) / 64 * 64 - address + shift;
  }
  std::byte* data() { return storage_.data() + begin_; }
  std::size_t bytes() const { return bytes_; }
  /// Returns whether no byte outside the buffer was written.
  bool intact() const {
    const auto sentinel = [](std::byte b) { return b == kSentinel; };
    const auto first = storage_.begin() + static_cast<std::ptrdiff_t>(begin_);
    return std::all_of(storage_.begin(), first, sentinel) &&
           std::all_of(first + static_cast<std::ptrdiff_t>(bytes_), storage_.end(), sentinel);
  }

 private:
  static constexpr std::size_t kGuard = 256;
  static constexpr std::byte kSentinel{0xA5};
  std::size_t bytes_;
  std::size_t begin_ = 0;
  std::vector<std::byte> storage_;
};

enum class SliceOrder { forward, backward };

/// Runs `kernel` and returns its outputs of `output_sizes[i]` elements. Checks that nothing outside
/// outputs and workspace is written. Both start filled with bytes 0xFF, which are NaN as floats.
template <class T = float>
std::vector<std::vector<T>> run_guarded(const CpuKernel& kernel,
                                        const std::vector<std::vector<T>>& inputs,
                                        const std::vector<std::size_t>& output_sizes,
                                        SliceOrder order = SliceOrder::forward) {
  std::vector<const void*> in;
  for (const auto& input : inputs) in.push_back(input.data());
  std::vector<GuardedMemory> outputs;
  for (const std::size_t size : output_sizes) outputs.emplace_back(size * sizeof(T));
  std::vector<void*> out;
  for (GuardedMemory& output : outputs) {
    std::memset(output.data(), 0xFF, output.bytes());
    out.push_back(output.data());
  }
  GuardedMemory workspace(kernel.workspace_bytes());
  std::memset(workspace.data(), 0xFF, workspace.bytes());
  for (int phase = 0; phase < kernel.phases(); ++phase) {
    const int slices = kernel.slices(phase);
    for (int i = 0; i < slices; ++i)
      kernel.run(phase, order == SliceOrder::forward ? i : slices - 1 - i, in.data(), out.data(),
                 workspace.data());
  }
  CHECK(workspace.intact());
  std::vector<std::vector<T>> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    CHECK(outputs[i].intact());
    results.emplace_back(output_sizes[i]);
    if (output_sizes[i] > 0)
      std::memcpy(results.back().data(), outputs[i].data(), outputs[i].bytes());
  }
  return results;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// Returns values in -1 .. 1 whose mantissas use many bits.
inline std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<float> values(count);
  for (float& value : values)
    value = static_cast<float>(static_cast<double>(engine()) / 2147483648.0 - 1.0);
  return values;
}

/// Returns the largest |a - b| / max(|b|, floor), or NaN if exactly one of a pair is NaN.
inline double largest_error(const std::vector<float>& a, const std::vector<double>& b,
                            double floor) {
  double worst = 0.0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (std::isnan(b[i]) != std::isnan(static_cast<double>(a[i]))) return std::nan("");
    if (std::isnan(b[i])) continue;
    const double error = std::abs(static_cast<double>(a[i]) - b[i]);
    if (std::isnan(error)) return error;
    worst = std::max(worst, error / std::max(std::abs(b[i]), floor));
  }
  return a.size() == b.size() ? worst : std::nan("");
}

}  // namespace towerflow::testing

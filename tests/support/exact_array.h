#pragma once

#include <array>
#include <cstdint>

#include "core/graph/array.h"

namespace towerflow::test {

/// Arrays that Python can reproduce bit for bit: tests/golden/README.md, "Generated arrays".

/// Returns h(stream, index), based on SplitMix64's output function.
std::uint64_t exact_hash(std::uint64_t stream, std::uint64_t index);

/// The distribution of a generated array's elements.
enum class ExactKind {
  uniform,   ///< multiples of 2^(exponent-23) in [-2^exponent, 2^exponent)
  positive,  ///< multiples of 2^(exponent-24) in (0, 2^exponent]
};

struct ExactOptions {
  int exponent = 0;
  ExactKind kind = ExactKind::uniform;
  DType dtype = DType::float32;
};

/// Returns an array whose element i, in row-major order, is made from h(stream, i).
Array exact_array(std::uint64_t stream, const Shape& shape, ExactOptions options = {});

/// Returns an array whose element i is h(stream, i) mod `modulo`.
Array exact_integers(std::uint64_t stream, const Shape& shape, std::uint64_t modulo,
                     DType dtype = DType::int32);

/// A small record of a large tensor: tests/golden/README.md, "A summary".
struct Summary {
  static constexpr std::size_t kProjections = 16;
  static constexpr std::size_t kProbes = 24;
  double norm = 0;  ///< square root of the sum of squares
  double sum = 0;
  std::array<double, kProjections> projections{};  ///< on vectors of +1 and -1
  std::array<double, kProbes> probes{};            ///< some elements, to locate differences
};

/// Summarizes a non-empty float32 or float64 tensor.
Summary summarize(const Array& tensor);

/// Estimates |ours - theirs| / |theirs|, nearly always within a factor of 2. Returns 0 if both are
/// zero, infinity if only theirs is zero, NaN if ours contains a NaN.
double distance(const Summary& ours, const Summary& theirs);

}  // namespace towerflow::test

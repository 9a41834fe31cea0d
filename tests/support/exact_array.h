#pragma once

#include <array>
#include <cstdint>

#include "core/graph/array.h"

namespace towerflow::test {

/// Arrays that Python computes bit for bit too: tests/golden/README.md, "Generated arrays".

/// h(stream, index), from SplitMix64's output function.
std::uint64_t exact_hash(std::uint64_t stream, std::uint64_t index);

/// What the elements of a generated array are.
enum class ExactKind {
  uniform,   ///< multiples of 2^(exponent-23) in [-2^exponent, 2^exponent)
  positive,  ///< multiples of 2^(exponent-24) in (0, 2^exponent]
};

struct ExactOptions {
  int exponent = 0;
  ExactKind kind = ExactKind::uniform;
  DType dtype = DType::float32;
};

/// Element i, in row-major order, comes from h(stream, i).
Array exact_array(std::uint64_t stream, const Shape& shape, ExactOptions options = {});

/// Element i is h(stream, i) mod `modulo`.
Array exact_integers(std::uint64_t stream, const Shape& shape, std::uint64_t modulo,
                     DType dtype = DType::int32);

/// A small record of a large tensor: tests/golden/README.md, "A summary".
struct Summary {
  static constexpr std::size_t kProjections = 16;
  static constexpr std::size_t kProbes = 24;
  double norm = 0;  ///< root of the sum of squares
  double sum = 0;
  std::array<double, kProjections> projections{};  ///< on vectors of +1 and -1
  std::array<double, kProbes> probes{};            ///< some elements, to say where to look
};

/// Of a float32 or float64 tensor that is not empty.
Summary summarize(const Array& tensor);

/// Estimates |ours - theirs| / |theirs|, within a factor of 2 nearly always; 0 when both are zero,
/// infinite when theirs alone is zero, NaN when ours holds a NaN.
double distance(const Summary& ours, const Summary& theirs);

}  // namespace towerflow::test

#include "tests/support/exact_array.h"

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace towerflow::test {
namespace {

constexpr std::uint64_t kSignStream = 98, kProbeStream = 99;

std::uint64_t splitmix64(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

/// Returns an array of `dtype` whose element i is `make(h(stream, i))`.
template <class F>
Array filled(std::uint64_t stream, const Shape& shape, DType dtype, F&& make) {
  Array array(dtype, shape);
  const std::int64_t count = array.elements();
  const bool numeric = dispatch_dtype(dtype, [&]<class T>() {
    T* out = array.data<T>();
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] = static_cast<T>(make(exact_hash(stream, static_cast<std::uint64_t>(i))));
    }
  });
  if (!numeric) throw std::invalid_argument("generated arrays hold numbers");
  return array;
}

template <class T>
Summary summary_of(const Array& tensor) {
  Summary made;
  const std::span<const T> x = tensor.flat<T>();
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto value = static_cast<double>(x[i]);
    squares += value * value;
    made.sum += value;
    const std::uint64_t signs = exact_hash(kSignStream, i);
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (std::size_t k = 0; k < Summary::kProjections; ++k) {
      // Uses bit k as the sign without an unpredictable branch, since tensors may be large.
      made.projections[k] += std::bit_cast<double>(bits ^ (signs >> k << 63));
    }
  }
  made.norm = std::sqrt(squares);
  for (std::size_t j = 0; j < Summary::kProbes; ++j) {
    made.probes[j] = static_cast<double>(x[exact_hash(kProbeStream, j) % x.size()]);
  }
  return made;
}

}  // namespace

std::uint64_t exact_hash(std::uint64_t stream, std::uint64_t index) {
  return splitmix64(splitmix64(stream) + index);
}

Array exact_array(std::uint64_t stream, const Shape& shape, ExactOptions options) {
  if (options.kind == ExactKind::positive) {
    return filled(stream, shape, options.dtype, [&](std::uint64_t h) {
      return std::ldexp(static_cast<double>((h >> 40) + 1), options.exponent - 24);
    });
  }
  return filled(stream, shape, options.dtype, [&](std::uint64_t h) {
    return std::ldexp(static_cast<double>(h >> 40) - 8388608.0, options.exponent - 23);
  });
}

Array exact_integers(std::uint64_t stream, const Shape& shape, std::uint64_t modulo, DType dtype) {
  if (modulo == 0) throw std::invalid_argument("a remainder by 0");
  return filled(stream, shape, dtype, [&](std::uint64_t h) { return h % modulo; });
}

Summary summarize(const Array& tensor) {
  if (tensor.elements() == 0) throw std::invalid_argument("a summary of nothing");
  if (tensor.dtype() == DType::int64) return summary_of<std::int64_t>(tensor);
  return tensor.dtype() == DType::float64 ? summary_of<double>(tensor) : summary_of<float>(tensor);
}

double distance(const Summary& ours, const Summary& theirs) {
  double squares = 0;
  for (std::size_t k = 0; k < Summary::kProjections; ++k) {
    const double off = ours.projections[k] - theirs.projections[k];
    squares += off * off;
  }
  const double difference = std::sqrt(squares / static_cast<double>(Summary::kProjections));
  if (theirs.norm != 0 || std::isnan(difference)) return difference / theirs.norm;
  return ours.norm == 0 ? 0 : std::numeric_limits<double>::infinity();
}

}  // namespace towerflow::test

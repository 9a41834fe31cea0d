// The modes of comparing the values of a run: README.md, "Comparing values".
#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "tests/golden/compare.h"

namespace towerflow::golden {
namespace {

double number_of(const Json& value) {
  if (!value.is_string()) return value.get<double>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  return value == "inf" ? kInfinity : -kInfinity;
}

/// Returns a float's index among all floats, so that neighbours differ by 1; both zeros have 0.
template <class Integer, class Float>
double float_index(Float value) {
  const auto bits = std::bit_cast<Integer>(value);
  constexpr Integer kLowest = std::numeric_limits<Integer>::min();
  return static_cast<double>(bits < 0 ? kLowest - bits : bits);
}

bool same_bits(double a, double b, bool narrow) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (narrow) {
    const auto x = static_cast<float>(a), y = static_cast<float>(b);
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  }
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

double ulps_apart(double a, double b, bool narrow) {
  if (std::isnan(a) && std::isnan(b)) return 0;
  if (narrow) {
    return std::abs(float_index<std::int32_t>(static_cast<float>(a)) -
                    float_index<std::int32_t>(static_cast<float>(b)));
  }
  return std::abs(float_index<std::int64_t>(a) - float_index<std::int64_t>(b));
}

std::string compare_close(const Json& expected, const Json& got) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double theirs = number_of(expected[i]), ours = number_of(got[i]);
    if (!std::isfinite(theirs) || !std::isfinite(ours)) {
      if (theirs == ours || (std::isnan(theirs) && std::isnan(ours))) continue;
      return fmt::format("element {} is {}, not {}", i, ours, theirs);
    }
    difference += (ours - theirs) * (ours - theirs);
    norm += theirs * theirs;
  }
  const double distance = std::sqrt(difference);
  const double limit = norm == 0 ? 1e-30 : 1e-5 * std::sqrt(norm);
  if (distance <= limit) return "";
  return fmt::format("distance {:.3g} of norm {:.3g}", distance, std::sqrt(norm));
}

}  // namespace

std::string compare_arrays(const Json& expected, const Json& got, const std::string& mode) {
  if (expected.is_null() || got.is_null()) {
    return expected.is_null() == got.is_null() ? "" : "one has no value";
  }
  if (expected["dtype"] != got["dtype"]) return "dtype";
  if (expected["shape"] != got["shape"]) return "shape";
  if (mode == "shape") return "";
  const Json &theirs = expected["values"], &ours = got["values"];
  if (theirs.size() != ours.size()) return "number of values";
  const bool narrow = expected["dtype"] == "float32";
  if (!narrow && expected["dtype"] != "float64") return theirs == ours ? "" : "values";
  if (mode == "close") return compare_close(theirs, ours);
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const double a = number_of(theirs[i]), b = number_of(ours[i]);
    const bool agree = mode == "exact" ? same_bits(a, b, narrow) : ulps_apart(a, b, narrow) <= 2;
    if (!agree) return fmt::format("element {} is {}, not {}", i, b, a);
  }
  return "";
}

}  // namespace towerflow::golden

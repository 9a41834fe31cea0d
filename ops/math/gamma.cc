// Derivatives of the logarithm of the gamma function.
#include "ops/math/gamma.h"

#include <cmath>
#include <limits>

namespace towerflow::special {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Euler and Maclaurin's coefficients: (2 k)! / B_2k.
constexpr double kMaclaurin[] = {12.0,
                                 -720.0,
                                 30240.0,
                                 -1209600.0,
                                 47900160.0,
                                 -1.8924375803183791606e9,
                                 7.47242496e10,
                                 -2.950130727918164224e12,
                                 1.1646782814350067249e14,
                                 -4.5979787224074726105e15,
                                 1.8152105401943546773e17,
                                 -7.1661652561756670113e18};

/// a^-x, without std::pow for the small whole powers of polygamma functions.
double inverse_power(double a, double x) {
  constexpr double kLargest = 8;
  if (x > kLargest || std::floor(x) != x) return std::pow(a, -x);
  double power = a;
  for (int i = 1; i < static_cast<int>(x); ++i) power *= a;
  return 1 / power;
}

}  // namespace

double digamma(double x) {
  if (!(x > 0)) {
    if (std::isnan(x) || std::isinf(x) || std::floor(x) == x) return kNan;
    return digamma(1 - x) - kPi / std::tan(kPi * x);
  }
  if (std::isinf(x)) return x;
  double shift = 0;
  for (; x < 10; ++x) shift += 1 / x;
  // The asymptotic series: log x - 1 / 2x - the sum of B_2k / (2 k x^2k).
  const double z = 1 / (x * x);
  double series = 8.33333333333333333333e-2;
  series = series * z - 2.10927960927960927961e-2;
  series = series * z + 7.57575757575757575758e-3;
  series = series * z - 4.16666666666666666667e-3;
  series = series * z + 3.96825396825396825397e-3;
  series = series * z - 8.33333333333333333333e-3;
  series = series * z + 8.33333333333333333333e-2;
  return std::log(x) - 0.5 / x - series * z - shift;
}

double hurwitz_zeta(double x, double q) {
  if (std::isnan(x) || std::isnan(q)) return kNan;
  if (x > 1 && std::isinf(q) && q > 0) return 0;
  if (x == 1) return std::numeric_limits<double>::infinity();
  if (x < 1) return kNan;
  if (q <= 0) {
    if (std::floor(q) == q) {
      const bool even = std::floor(x) == x && std::fmod(x, 2) == 0;
      return even ? std::numeric_limits<double>::infinity() : kNan;
    }
    if (std::floor(x) != x) return kNan;
  }
  constexpr double kEnough = std::numeric_limits<double>::epsilon() / 2;
  double sum = inverse_power(q, x), a = q, term = 0;
  for (int i = 0; i < 9 || a <= 9; ++i) {
    a += 1;
    term = inverse_power(a, x);
    sum += term;
    if (std::fabs(term / sum) < kEnough) return sum;
  }
  sum += term * a / (x - 1) - 0.5 * term;
  double factor = 1;
  for (int k = 0; k < 12; ++k) {
    factor *= x + 2 * k;
    term /= a;
    const double more = factor * term / kMaclaurin[k];
    sum += more;
    if (std::fabs(more / sum) < kEnough) return sum;
    factor *= x + 2 * k + 1;
    term /= a;
  }
  return sum;
}

double polygamma(double n, double x) {
  if (std::floor(n) != n || n < 0) return kNan;
  if (n == 0) return digamma(x);
  const double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  return sign * std::tgamma(n + 1) * hurwitz_zeta(n + 1, x);
}

}  // namespace towerflow::special

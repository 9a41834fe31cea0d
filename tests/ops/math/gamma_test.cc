// Derivatives of the logarithm of the gamma function at their ends, with TensorFlow's values.
#include <doctest/doctest.h>

#include <cmath>

#include "ops/math/gamma.h"

namespace towerflow {

TEST_CASE("polygamma at infinity, at 0 and between the poles") {
  CHECK(special::polygamma(0, INFINITY) == INFINITY);
  CHECK(std::isnan(special::polygamma(0, -INFINITY)));
  CHECK(special::polygamma(1, INFINITY) == 0);
  CHECK(special::polygamma(1, -INFINITY) == INFINITY);
  CHECK(special::polygamma(1, 0) == INFINITY);
  CHECK(special::polygamma(1, -1.5) == doctest::Approx(9.379247).epsilon(1e-6));
  CHECK(special::polygamma(2, INFINITY) == 0);
  CHECK(std::isnan(special::polygamma(2, 0)));
  CHECK(special::polygamma(2, -1.5) == doctest::Approx(-0.23620442).epsilon(1e-6));
}

TEST_CASE("the Hurwitz zeta function of whole and other powers") {
  CHECK(special::hurwitz_zeta(2, 1) == doctest::Approx(M_PI * M_PI / 6).epsilon(1e-14));
  CHECK(special::hurwitz_zeta(9, 1) == doctest::Approx(1.0020083928260822).epsilon(1e-14));
  CHECK(special::hurwitz_zeta(1.5, 1) == doctest::Approx(2.6123753486854883).epsilon(1e-13));
  CHECK(special::hurwitz_zeta(1.5, INFINITY) == 0);
  CHECK(special::hurwitz_zeta(1, 3) == INFINITY);
  CHECK(std::isnan(special::hurwitz_zeta(0.5, 3)));
}

}  // namespace towerflow

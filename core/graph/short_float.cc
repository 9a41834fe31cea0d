#include "core/graph/short_float.h"

#include <charconv>
#include <cmath>
#include <iterator>

namespace towerflow {

float with_fewest_digits(DType dtype, std::uint16_t bits) {
  float number = 0;
  widen(dtype, &bits, &number, 1);
  constexpr int kMost = 5;  // significant digits that tell numbers of 11 bits apart
  for (int digits = 1; digits < kMost && std::isfinite(number); ++digits) {
    char text[32];
    const auto end =
        std::to_chars(text, std::end(text), number, std::chars_format::scientific, digits - 1).ptr;
    float rounded = 0;
    std::uint16_t back = 0;
    std::from_chars(text, end, rounded);
    narrow(dtype, &rounded, &back, 1);
    if (back == bits) return rounded;
  }
  return number;
}

Array widened(const Array& array) {
  Array wide(DType::float32, array.shape());
  widen(array.dtype(), static_cast<const std::uint16_t*>(array.raw()), wide.data<float>(),
        array.elements());
  return wide;
}

Array narrowed(const Array& array, DType dtype) {
  Array rounded(dtype, array.shape());
  narrow(dtype, array.data<float>(), static_cast<std::uint16_t*>(rounded.raw()), array.elements());
  return rounded;
}

}  // namespace towerflow

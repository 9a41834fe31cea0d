#include "core/graph/short_float.h"

namespace towerflow {

Array widened(const Array& array) {
  Array wide(DType::float32, array.shape());
  widen(array.dtype(), static_cast<const std::uint16_t*>(array.raw()), wide.data<float>(),
        array.elements());
  return wide;
}

Array narrowed(const Array& array, DType dtype) {
  Array narrow_ones(dtype, array.shape());
  narrow(dtype, array.data<float>(), static_cast<std::uint16_t*>(narrow_ones.raw()),
         array.elements());
  return narrow_ones;
}

}  // namespace towerflow

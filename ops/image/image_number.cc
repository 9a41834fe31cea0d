#include "ops/image/image_number.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/array/shape_of.h"
#include "ops/array/stack.h"
#include "ops/data_flow/assert.h"
#include "ops/math/binary.h"
#include "ops/math/unary.h"

namespace towerflow::image {

ImageNumber::ImageNumber(const Operand& argument, const char* name, Site site) {
  if (const Tensor* tensor = argument.tensor()) {
    tensor_ = *tensor;
    is_tensor_ = true;
    return;
  }
  const Array array = argument.array() != nullptr    ? *argument.array()
                      : argument.nested() != nullptr ? to_array(*argument.nested())
                                                     : Array();
  if (array.elements() != 1 || !is_integer(array.dtype())) {
    throw TypeError(fmt::format("{} must be an integer or a tensor of one", name), {.site = site});
  }
  const Array wide = cast_elements(array, DType::int64);
  value_ = wide.flat<std::int64_t>()[0];
}

Operand ImageNumber::operand(Site site) const {
  return is_tensor_ ? Operand(tensor_, site) : Operand(value_, site);
}

Dim ImageNumber::dim() const { return is_tensor_ ? Dim(std::nullopt) : Dim(value_); }

ImageNumber added(const ImageNumber& a, const ImageNumber& b, Site site) {
  if (!a.is_tensor() && !b.is_tensor()) return a.value() + b.value();
  return ImageNumber(a.operand(site) + b.operand(site));
}

ImageNumber subtracted(const ImageNumber& a, const ImageNumber& b, Site site) {
  if (!a.is_tensor() && !b.is_tensor()) return a.value() - b.value();
  return ImageNumber(a.operand(site) - b.operand(site));
}

ImageNumber negated(const ImageNumber& a, Site site) {
  if (!a.is_tensor()) return -a.value();
  return ImageNumber(negative(a.tensor(), {}, site));
}

ImageNumber halved(const ImageNumber& a, Site site) {
  if (!a.is_tensor()) return (a.value() - (a.value() < 0 ? 1 : 0)) / 2;
  return ImageNumber(floordiv(a.tensor(), 2, {}, site));
}

ImageNumber larger(const ImageNumber& a, const ImageNumber& b, Site site) {
  if (!a.is_tensor() && !b.is_tensor()) return std::max(a.value(), b.value());
  return ImageNumber(maximum(a.operand(site), b.operand(site), {}, site));
}

ImageNumber smaller(const ImageNumber& a, const ImageNumber& b, Site site) {
  if (!a.is_tensor() && !b.is_tensor()) return std::min(a.value(), b.value());
  return ImageNumber(minimum(a.operand(site), b.operand(site), {}, site));
}

void require_number(const ImageNumber& a, Comparison comparison, const ImageNumber& b,
                    const char* message, std::vector<Operation>& checks, Site site) {
  if (!a.is_tensor() && !b.is_tensor()) {
    const bool holds = comparison == Comparison::greater         ? a.value() > b.value()
                       : comparison == Comparison::greater_equal ? a.value() >= b.value()
                                                                 : a.value() == b.value();
    if (!holds) {
      throw ValueError(fmt::format("{} ({} and {})", message, a.value(), b.value()),
                       {.site = site});
    }
    return;
  }
  const Operand left = a.operand(site), right = b.operand(site);
  const Tensor holds = comparison == Comparison::greater         ? left > right
                       : comparison == Comparison::greater_equal ? left >= right
                                                                 : equal(left, right, {}, site);
  checks.push_back(Assert(holds, {Operand(message, site)}, {}, site));
}

std::vector<ImageNumber> image_dimensions(const Tensor& image, Site site) {
  const Shape& known = image.shape();
  std::vector<Tensor> parts;
  if (!known.fully_known())
    parts = unstack(shape(image, {}, site), static_cast<int>(known.rank()), {}, site);
  std::vector<ImageNumber> sizes;
  for (std::size_t i = 0; i < known.rank(); ++i) {
    if (known[i].known())
      sizes.emplace_back(known[i].size());
    else
      sizes.emplace_back(parts[i]);
  }
  return sizes;
}

Tensor stacked(const std::vector<ImageNumber>& numbers, Site site) {
  std::vector<Operand> operands;
  operands.reserve(numbers.size());
  for (const ImageNumber& number : numbers) operands.push_back(number.operand(site));
  return stack(OperandList(std::move(operands)), {}, site);
}

}  // namespace towerflow::image

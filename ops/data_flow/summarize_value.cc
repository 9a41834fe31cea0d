#include "ops/data_flow/summarize_value.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "core/graph/short_float.h"

namespace towerflow {
namespace {

/// Returns a number in the fewest of two lengths that gives the same number back.
template <class T>
std::string floating_text(T value) {
  constexpr int kShort = std::numeric_limits<T>::digits10;
  if (std::isnan(value)) return "nan";
  const std::string text = fmt::format("{:.{}g}", value, kShort);
  const double back = std::strtod(text.c_str(), nullptr);
  if (static_cast<T>(back) == value || std::isinf(value)) return text;
  return fmt::format("{:.{}g}", value, std::numeric_limits<T>::max_digits10);
}

std::string summarized_element(DType dtype, const void* data, std::int64_t index) {
  if (dtype == DType::string) return static_cast<const std::string*>(data)[index];
  std::string text = "?";
  if (is_short_float(dtype)) {
    float value = 0;
    widen(dtype, static_cast<const std::uint16_t*>(data) + index, &value, 1);
    return floating_text(value);
  }
  dispatch_dtype(dtype, [&]<class T>() {
    const T value = static_cast<const T*>(data)[index];
    if constexpr (std::is_floating_point_v<T>)
      text = floating_text(value);
    else
      text = fmt::format("{}", static_cast<std::int64_t>(value));
  });
  return text;
}

/// Writes dimension after dimension of a tensor.
struct SummarizedValue {
  DType dtype;
  const std::vector<std::int64_t>& sizes;
  const void* data;
  std::int64_t limit;
  std::int64_t written = 0;
  std::string text{};

  void add_dimension(std::size_t axis) {
    if (written >= limit) return;
    const std::int64_t size = sizes[axis];
    if (axis + 1 == sizes.size()) {
      for (std::int64_t i = 0; i < size; ++i) {
        if (written >= limit) {
          if (axis != 0) text += "...";
          return;
        }
        if (i > 0) text += " ";
        text += summarized_element(dtype, data, written++);
      }
      return;
    }
    for (std::int64_t i = 0; i < size && written < limit; ++i) {
      text += "[";
      add_dimension(axis + 1);
      text += "]";
    }
  }
};

}  // namespace

std::string summarize_value(DType dtype, const Shape& shape, const void* data, std::int64_t limit) {
  const std::int64_t count = shape.elements();
  const std::int64_t shown = limit < 0 ? count : std::min(limit, count);
  const std::vector<std::int64_t> sizes = shape.sizes();
  SummarizedValue summary{dtype, sizes, data, shown};
  if (!sizes.empty()) {
    summary.add_dimension(0);
  } else if (shown > 0) {
    summary.text = summarized_element(dtype, data, 0);
  }
  return summary.text + (shown < count ? "..." : "");
}

}  // namespace towerflow

#pragma once

#include <array>
#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/arguments.h"
#include "core/graph/dtype.h"
#include "core/graph/shape.h"
#include "core/graph/site.h"
#include "ops/window.h"

namespace towerflow {
class InferenceContext;
}

namespace towerflow::nn::types {

/// Order of the dimensions of a batch of images.
enum class DataFormat : std::uint8_t { nhwc, nchw };

/// Sizes or strides of a window: one number for height and width, two numbers, or four in the order
/// of the data format.
class Extents {
 public:
  template <std::same_as<int> T>
  Extents(T both) : values_{both} {}  // NOLINT: 2
  template <std::same_as<std::vector<int>> T>
  Extents(T values) : values_(std::move(values)) {}  // NOLINT
  template <class = void>
  Extents(const std::initializer_list<int>& values) : values_(values) {}  // NOLINT: {1, 2, 2, 1}

  // Twin constructors, which keep options from being taken for extents: see arguments.h.
  explicit Extents(int both) : values_{both} {}
  explicit Extents(std::vector<int> values) : values_(std::move(values)) {}
  template <class Item = int>
  Extents(const TwinList<Item>& values) = delete;
  template <class Item = int>
  explicit Extents(TwinList<Item>&& values) : values_(values) {}

  const std::vector<int>& values() const { return values_; }

 private:
  std::vector<int> values_;
};

/// Positions of the dimensions of an image batch, by format.
struct ImageAxes {
  std::size_t rows, columns, channels;
};

}  // namespace towerflow::nn::types

namespace towerflow {

template <>
inline constexpr std::array<const char*, 2> kAttrNames<nn::DataFormat>{"NHWC", "NCHW"};

}  // namespace towerflow

namespace towerflow::nn {

ImageAxes image_axes(DataFormat format);

/// Returns the format that a text seems to mean; the text need not be valid.
DataFormat likely_format(const std::string& text);
/// Parses "NHWC" or "NCHW". Throws a ValueError that names `op` for anything else.
DataFormat parse_data_format(const char* op, const std::string& text, Site site);

/// Parses "SAME" or "VALID". Throws a ValueError that names `op` for anything else.
Padding parse_padding(const char* op, std::string_view text, Site site);

/// Returns four sizes in the order of the format. Throws ValueError for another number of values,
/// calling them `what` ("strides").
std::array<int, 4> expand_extents(const char* what, const Extents& extents, DataFormat format,
                                  Site site);

/// Returns the height or width of the result of sliding a window, for shape rules. `window` may be
/// unknown. Fails for stride < 1 and for a VALID window larger than the input.
Dim window_output(const InferenceContext& context, Dim input, Dim window, int stride,
                  Padding padding);

/// Fails unless the input's rank is `rank` or unknown.
void require_rank(const InferenceContext& context, std::size_t input, std::size_t rank);

/// Fails with a TypeError unless the dtype is one of `allowed`.
void require_dtype(const InferenceContext& context, std::size_t input, const char* argument,
                   std::initializer_list<DType> allowed);

/// Fails with `message` followed by the input shapes.
[[noreturn]] void fail_with_shapes(const InferenceContext& context, const std::string& message);

/// float32, float64 and the integers: TensorFlow's real numbers, except the types that C++ lacks.
inline constexpr std::initializer_list<DType> kRealNumbers = {
    DType::float32, DType::float64, DType::int32,  DType::uint8,  DType::int16,
    DType::int8,    DType::int64,   DType::uint16, DType::uint32, DType::uint64};
inline constexpr std::initializer_list<DType> kFloats = {DType::float32, DType::float64};

}  // namespace towerflow::nn

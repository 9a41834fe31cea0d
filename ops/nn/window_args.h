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

/// Padding of windows: "SAME", "VALID", or the numbers of elements before and after each of the
/// four dimensions, {{0, 0}, {1, 1}, {2, 0}, {0, 0}}.
class WindowPadding {
 public:
  using Numbers = std::vector<std::vector<int>>;

  template <TextValue T>
  WindowPadding(const T& text) : text_(text) {}  // NOLINT: "SAME"
  template <std::same_as<Numbers> T>
  WindowPadding(T numbers) : numbers_(std::move(numbers)) {}  // NOLINT
  template <class = void>
  WindowPadding(const std::initializer_list<std::vector<int>>& numbers)  // NOLINT
      : numbers_(numbers) {}

  // Twin constructors, which keep options from being taken for a padding: see arguments.h.
  explicit WindowPadding(const char* text) : text_(text) {}
  explicit WindowPadding(const std::string& text) : text_(text) {}
  explicit WindowPadding(Numbers numbers) : numbers_(std::move(numbers)) {}
  template <class Item = std::vector<int>>
  WindowPadding(const TwinList<Item>& numbers) = delete;
  template <class Item = std::vector<int>>
  explicit WindowPadding(TwinList<Item>&& numbers) : numbers_(numbers) {}

  /// Returns "" if numbers are given.
  const std::string& text() const { return text_; }
  const Numbers& numbers() const { return numbers_; }

 private:
  std::string text_;
  Numbers numbers_;
};

/// A padding as attributes store it.
struct ParsedPadding {
  Padding padding = Padding::valid;
  std::vector<std::int64_t> numbers{};  ///< before and after each dimension, if they are explicit

  /// Returns the numbers of a dimension; zeros unless they are explicit.
  AxisPadding at(std::size_t axis) const {
    if (padding != Padding::explicit_numbers) return {};
    return {numbers.at(2 * axis), numbers.at(2 * axis + 1)};
  }
  bool operator==(const ParsedPadding&) const = default;
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
/// Checks the form of explicit numbers, which TensorFlow does before it takes a name for the node.
void check_explicit_padding(const WindowPadding& padding, Site site);
/// Parses a padding in either form. Throws a ValueError that names `op` for an unknown text.
ParsedPadding parse_padding(const char* op, const WindowPadding& padding, Site site);

/// Returns four sizes in the order of the format. Throws ValueError for another number of values,
/// calling them `what` ("strides").
std::array<int, 4> expand_extents(const char* what, const Extents& extents, DataFormat format,
                                  Site site);

/// Returns the height or width of the result of sliding a window, for shape rules. `window` may be
/// unknown. Fails for a stride or dilation < 1 and for a window larger than the input, unless its
/// padding is SAME.
Dim window_output(const InferenceContext& context, Dim input, Dim window, int stride,
                  Padding padding, int dilation = 1, AxisPadding numbers = {});
/// Fails if explicit numbers are not those of `rank` dimensions, are negative, or pad one of the
/// dimensions in `unpadded`.
void check_padding_numbers(const InferenceContext& context, const ParsedPadding& padding,
                           std::size_t rank, std::initializer_list<std::size_t> unpadded);

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

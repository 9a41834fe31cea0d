// NumPy's array2string with its defaults: 8 digits, lines of 75 characters, and only the first and
// last three elements of each dimension if there are more than 1000 elements.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <ostream>

#include "core/graph/short_float.h"

namespace towerflow {
namespace {

constexpr std::int64_t kSummarised = 1000, kEdge = 3;
constexpr std::size_t kLine = 75;
constexpr int kDigits = 8;

template <std::floating_point T>
std::string digits(T value, std::chars_format format) {
  char buffer[512];
  const auto digits_after_point = [](const std::string& text) {
    const std::size_t point = text.find('.'), end = std::min(text.find('e'), text.size());
    return point == std::string::npos ? std::size_t{0} : end - point - 1;
  };
  std::string text(buffer, std::to_chars(buffer, std::end(buffer), value, format).ptr);
  if (digits_after_point(text) > kDigits) {
    text.assign(buffer, std::to_chars(buffer, std::end(buffer), value, format, kDigits).ptr);
  }
  std::string exponent;
  if (const std::size_t e = text.find('e'); e != std::string::npos) {
    exponent = text.substr(e);
    text.resize(e);
  }
  if (text.find('.') == std::string::npos) text += '.';
  text.resize(text.find_last_not_of('0') + 1);
  return text + exponent;
}

using Words = std::vector<std::string>;

void align_right(Words& words) {
  std::size_t width = 0;
  for (const std::string& word : words) width = std::max(width, word.size());
  for (std::string& word : words) word.insert(0, width - word.size(), ' ');
}

template <std::floating_point T>
Words words_of(const std::vector<T>& values) {
  T largest = 0, smallest = std::numeric_limits<T>::max();
  for (const T value : values) {
    if (!std::isfinite(value) || value == 0) continue;
    largest = std::max(largest, std::abs(value));
    smallest = std::min(smallest, std::abs(value));
  }
  const bool exponents =
      largest > 0 && (largest >= T(1e8) || smallest < T(1e-4) || largest / smallest > T(1000));
  const auto format = exponents ? std::chars_format::scientific : std::chars_format::fixed;
  // Align the decimal points: pad fractions on the right, with zeros if exponents follow and with
  // spaces otherwise, then pad all words on the left.
  Words words;
  std::size_t behind = 0, exponent = 0;
  for (const T value : values) {
    words.push_back(std::isfinite(value) ? digits(value, format)
                    : std::isnan(value)  ? "nan"
                    : value < 0          ? "-inf"
                                         : "inf");
    if (!std::isfinite(value)) continue;
    const std::string& word = words.back();
    const std::size_t end = std::min(word.find('e'), word.size());
    behind = std::max(behind, end - word.find('.') - 1);
    exponent = std::max(exponent, word.size() - end);
  }
  for (std::string& word : words) {
    const std::size_t point = word.find('.');
    if (point == std::string::npos) continue;
    const std::size_t end = std::min(word.find('e'), word.size());
    if (exponents && word.size() - end < exponent) {
      word.insert(end + 2, exponent - (word.size() - end), '0');
    }
    word.insert(end, behind - (end - point - 1), exponents ? '0' : ' ');
  }
  align_right(words);
  return words;
}

template <std::integral T>
Words words_of(const std::vector<T>& values) {
  Words words;
  for (const T value : values) {
    words.push_back(std::is_same_v<T, bool> ? (value ? "True" : "False")
                                            : std::to_string(static_cast<long long>(value)));
  }
  align_right(words);
  return words;
}

/// Arranges words in rows, and rows in brackets.
class Printer {
 public:
  Printer(const Shape& shape, bool summarised, const Words& words)
      : sizes_(shape.sizes()), summarised_(summarised), words_(words) {}

  std::string rows(std::size_t axis, std::size_t width) {
    const std::string indent(axis + 1, ' ');
    const bool inner = axis + 1 == sizes_.size();
    std::string text, line = indent;
    const auto append_word = [&](const std::string& word, bool last) {
      if (!inner) {
        text += indent + word + (last ? "" : std::string(sizes_.size() - axis - 1, '\n'));
        return;
      }
      if (line.size() + word.size() > width - 1 && line.size() > indent.size()) {
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        line = indent;
      }
      line += word + (last ? "" : " ");
    };
    const bool cut = summarised_ && sizes_[axis] > 2 * kEdge;
    for (std::int64_t i = 0; i < sizes_[axis]; ++i) {
      if (cut && i == kEdge) {
        append_word("...", false);
        i = sizes_[axis] - kEdge;
      }
      append_word(inner ? words_[next_++] : rows(axis + 1, width - 1), i + 1 == sizes_[axis]);
    }
    if (inner) text += line;
    return "[" + text.substr(indent.size()) + "]";
  }

 private:
  std::vector<std::int64_t> sizes_;
  bool summarised_;
  const Words& words_;
  std::size_t next_ = 0;
};

/// Appends to `places` the offsets of the elements that are printed, in order.
void append_shown_offsets(const std::vector<std::int64_t>& sizes, bool summarised, std::size_t axis,
                          std::int64_t at, std::vector<std::int64_t>& places) {
  if (axis == sizes.size()) return places.push_back(at);
  for (std::int64_t i = 0; i < sizes[axis]; ++i) {
    if (summarised && sizes[axis] > 2 * kEdge && i == kEdge) i = sizes[axis] - kEdge;
    append_shown_offsets(sizes, summarised, axis + 1, at * sizes[axis] + i, places);
  }
}

}  // namespace

std::ostream& types::operator<<(std::ostream& out, const Array& array) {
  if (array.empty()) return out << "None";  // what sess.run(operation) returns
  if (array.elements() == 0) return out << "[]";
  const bool summarised = array.elements() > kSummarised;
  std::vector<std::int64_t> places;
  append_shown_offsets(array.shape().sizes(), summarised, 0, 0, places);
  Words words;
  if (array.dtype() == DType::string) {
    for (const std::int64_t place : places) {
      words.push_back(fmt::format("'{}'", array.data<std::string>()[place]));
    }
  } else if (is_short_float(array.dtype())) {
    const auto* bits = static_cast<const std::uint16_t*>(array.raw());
    std::vector<float> values;
    for (const std::int64_t place : places) {
      values.push_back(with_fewest_digits(array.dtype(), bits[place]));
    }
    words = words_of(values);
  } else if (!dispatch_dtype(array.dtype(), [&]<class T>() {
               std::vector<T> values;
               for (const std::int64_t place : places) values.push_back(array.data<T>()[place]);
               words = words_of(values);
             })) {
    return out << array.text();
  }
  if (array.shape().rank() > 0)
    return out << Printer(array.shape(), summarised, words).rows(0, kLine);
  // A scalar is not aligned: 1.0, 1e+20.
  std::string word = words[0];
  if (word.back() == '.') word += '0';
  if (const std::size_t bare = word.find(".e"); bare != std::string::npos) word.erase(bare, 1);
  return out << word;
}

}  // namespace towerflow

#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow::data::types {

/// How the components of an element are arranged: one tensor, a tuple of parts, or a dictionary.
struct Structure {
  enum class Kind { tensor, tuple, dict };
  Kind kind = Kind::tensor;
  std::vector<Structure> parts{};
  std::vector<std::string> keys{};  ///< of a dictionary, in alphabetical order

  /// Returns the number of tensors.
  std::size_t size() const;
  bool operator==(const Structure&) const = default;
};

/// The structure of the elements of a dataset, with the dtype and shape of each component. The
/// components of a dictionary are in the order of its keys.
struct ElementSpec {
  Structure structure{};
  std::vector<DType> dtypes{};
  std::vector<Shape> shapes{};

  /// Returns the specification of a tuple of tensors; of a single tensor if there is one dtype.
  static ElementSpec of(std::vector<DType> dtypes, std::vector<Shape> shapes);
  /// Returns "(int64 (), {image: float32 (28, 28)})".
  std::string text() const;
  bool operator==(const ElementSpec&) const = default;
};

/// An element of a dataset: a tensor, a tuple of elements, or a dictionary of elements.
///
/// It is made from a tensor or anything that converts to one, from a std::tuple, std::pair or
/// std::array, and from a std::map. A function that is called with an element can take an Element,
/// a Tensor if it is a single one, or one parameter for each part of a tuple.
class Element {
 public:
  template <class T>
  requires(!std::same_as<T, Element> && OperandValue<T>)
      Element(const T& value, Site site = Site::current())  // NOLINT: a tensor or a number
      : Element(Leaf(), Operand(value, site)) {}
  template <std::same_as<Array> T>
  Element(const T& value, Site site = Site::current())  // NOLINT
      : Element(Leaf(), Operand(value, site)) {}
  template <std::same_as<Operand> T>
  Element(const T& operand) : Element(Leaf(), operand) {}  // NOLINT
  template <class = void>
  Element(const std::initializer_list<Nested>& items, Site site = Site::current())  // NOLINT
      : Element(Leaf(), Operand(Nested(items), site)) {}
  template <class... T>
  Element(const std::tuple<T...>& parts, Site site = Site::current())  // NOLINT
      : Element(std::apply(
            [&](const T&... part) { return std::vector<Element>{made(part, site)...}; }, parts)) {}
  template <class T, class U>
  Element(const std::pair<T, U>& parts, Site site = Site::current())  // NOLINT
      : Element(std::vector<Element>{made(parts.first, site), made(parts.second, site)}) {}
  template <class T, std::size_t N>
  Element(const std::array<T, N>& parts, Site site = Site::current())  // NOLINT
      : Element([&] {
          std::vector<Element> list;
          for (const T& part : parts) list.push_back(made(part, site));
          return list;
        }()) {}
  template <class T>
  Element(const std::map<std::string, T>& parts, Site site = Site::current())  // NOLINT
      : Element([&] {
          std::vector<std::pair<std::string, Element>> list;
          for (const auto& [key, part] : parts) list.emplace_back(key, made(part, site));
          return list;
        }()) {}

  // Twins, which keep options from being taken for an element; see core/graph/arguments.h.
  explicit Element(bool value, Site site = Site::current());
  explicit Element(int value, Site site = Site::current());
  explicit Element(std::int64_t value, Site site = Site::current());
  explicit Element(float value, Site site = Site::current());
  explicit Element(double value, Site site = Site::current());
  explicit Element(const char* text, Site site = Site::current());
  explicit Element(const std::string& text, Site site = Site::current());
  explicit Element(const Tensor& tensor, Site site = Site::current());
  template <class Item = Nested>
  Element(const TwinList<Item>& items, Site site = Site::current()) = delete;

  /// Returns an element of this structure whose tensors are `tensors`, in order.
  static Element of(const Structure& structure, const std::vector<Tensor>& tensors);

  Structure structure() const;
  /// Returns the number of parts; 1 for a tensor.
  std::size_t size() const { return kind_ == Structure::Kind::tensor ? 1 : parts_.size(); }
  /// Returns part `index` of a tuple. Throws ValueError if there is none.
  const Element& operator[](int index) const;
  /// Returns the part of a dictionary. Throws KeyError if there is none.
  const Element& operator[](const std::string& key) const;
  /// Returns the tensor. Throws ValueError for a tuple or a dictionary.
  operator Tensor() const;  // NOLINT: TensorFlow returns the tensor itself
  /// Returns the tensors of a tuple. Throws ValueError unless there are exactly N.
  template <std::size_t N>
  std::array<Tensor, N> unpack() const {
    check_parts(N);
    std::array<Tensor, N> tensors;
    for (std::size_t i = 0; i < N; ++i) tensors[i] = parts_[i];
    return tensors;
  }
  /// Throws ValueError unless this is a tuple of `count` parts.
  void check_parts(std::size_t count) const;
  /// Returns what the components were made from, in order.
  std::vector<Operand> components() const;

 private:
  struct Leaf {};
  Element(Leaf, Operand operand);
  explicit Element(std::vector<Element> parts);
  explicit Element(std::vector<std::pair<std::string, Element>> parts);
  template <class T>
  static Element made(const T& part, Site site) {
    if constexpr (std::same_as<T, Element> || std::same_as<T, Operand>)
      return part;
    else
      return Element(part, site);
  }
  void add_components(std::vector<Operand>& list) const;

  Structure::Kind kind_ = Structure::Kind::tensor;
  std::optional<Operand> leaf_;
  std::vector<Element> parts_;
  std::vector<std::string> keys_;
};

}  // namespace towerflow::data::types

#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/graph/error.h"
#include "core/graph/operand.h"

namespace towerflow::nn::rnn_cell {

namespace types {}
using namespace types;

}  // namespace towerflow::nn::rnn_cell

namespace towerflow::nn::rnn_cell::types {

/// The state of an LSTM cell: its memory and its output. (tf.nn.rnn_cell.LSTMStateTuple)
struct LSTMStateTuple {
  Tensor c;
  Tensor h;

  /// Returns the dtype of both. Throws TypeError if they differ.
  DType dtype(Site site = Site::current()) const {
    if (c.dtype() == h.dtype()) return c.dtype();
    throw TypeError("Inconsistent dtypes for internal state: c and h differ", {.site = site});
  }
};

/// Which tuple a structure is.
enum class StructureKind : std::uint8_t {
  leaf,   ///< one item, no tuple
  tuple,  ///< Python's tuple
  lstm    ///< an LSTMStateTuple: two items, c and h
};

/// What Python writes as nested tuples: one item, or a tuple of structures. See State.
template <class T>
class Structure {
 public:
  template <std::convertible_to<T> U>
  Structure(U leaf) : leaf_(static_cast<T>(std::move(leaf))) {}  // NOLINT: one item
  template <std::same_as<LSTMStateTuple> U>
  requires std::same_as<T, Tensor> Structure(const U& pair)  // NOLINT
      : Structure(StructureKind::lstm, {Structure(pair.c), Structure(pair.h)}) {}
  Structure(std::initializer_list<Structure> items)  // NOLINT: {x, y}
      : Structure(StructureKind::tuple, std::vector<Structure>(items)) {}
  explicit Structure(std::vector<Structure> items)
      : Structure(StructureKind::tuple, std::move(items)) {}
  Structure(StructureKind kind, std::vector<Structure> items)
      : kind_(kind), items_(std::move(items)) {}

  StructureKind kind() const { return kind_; }
  bool is_leaf() const { return kind_ == StructureKind::leaf; }

  /// Returns the item of a structure without parts. Throws TypeError for a tuple.
  const T& leaf(Site site = Site::current()) const {
    if (!is_leaf()) throw TypeError("a tuple is used as one item", {.site = site});
    return *leaf_;
  }
  operator const T&() const { return leaf({}); }  // NOLINT: of a cell with one tensor as its state

  std::size_t size() const { return items_.size(); }  ///< number of parts; 0 if it is one item
  const std::vector<Structure>& items() const { return items_; }
  /// Returns a part of a tuple. Throws ValueError if there is none.
  const Structure& at(std::size_t index, Site site = Site::current()) const {
    if (index < items_.size()) return items_[index];
    throw ValueError("a structure of " + std::to_string(items_.size()) + " parts has no part " +
                         std::to_string(index),
                     {.site = site});
  }
  const Structure& operator[](std::size_t index) const { return at(index, {}); }
  /// Returns the parts of an LSTMStateTuple. They throw TypeError for anything else.
  const T& c(Site site = Site::current()) const { return lstm_part(0, site); }
  const T& h(Site site = Site::current()) const { return lstm_part(1, site); }

  /// Returns all items in order, whatever the structure. (tf.nest.flatten)
  std::vector<T> flatten() const {
    std::vector<T> all;
    for_each([&](const T& item) { all.push_back(item); });
    return all;
  }

  /// Returns the same structure with `function(item)` in place of each item, called in order.
  /// (tf.nest.map_structure)
  template <class F>
  auto map(F&& function) const -> Structure<std::invoke_result_t<F&, const T&>> {
    using Mapped = Structure<std::invoke_result_t<F&, const T&>>;
    if (is_leaf()) return Mapped(function(*leaf_));
    std::vector<Mapped> mapped;
    for (const Structure& item : items_) mapped.push_back(item.map(function));
    return Mapped(kind_, std::move(mapped));
  }

  /// Returns this structure with the items of a list, which `flatten` of a structure like it gave.
  /// Throws ValueError for another number of items. (tf.nest.pack_sequence_as)
  template <class U>
  Structure<U> pack(const std::vector<U>& flat, Site site = Site::current()) const {
    std::size_t count = 0;
    for_each([&](const T&) { ++count; });
    if (count != flat.size()) {
      throw ValueError("Could not pack sequence. Structure had " + std::to_string(count) +
                           " elements, but flat_sequence had " + std::to_string(flat.size()),
                       {.site = site});
    }
    std::size_t next = 0;
    return map([&](const T&) { return flat[next++]; });
  }

  /// Returns whether both are nested in the same way, whatever their items.
  template <class U>
  bool same_structure(const Structure<U>& other) const {
    if (kind_ != other.kind() || items_.size() != other.size()) return false;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (!items_[i].same_structure(other.items()[i])) return false;
    }
    return true;
  }

 private:
  template <class F>
  void for_each(F&& visit) const {
    if (is_leaf()) visit(*leaf_);
    for (const Structure& item : items_) item.for_each(visit);
  }

  const T& lstm_part(std::size_t index, Site site) const {
    if (kind_ == StructureKind::lstm) return items_[index].leaf(site);
    throw TypeError("the state is no LSTMStateTuple",
                    {.site = site, .hint = "take a part of a tuple first: state[0].c()"});
  }

  StructureKind kind_ = StructureKind::leaf;
  std::optional<T> leaf_;
  std::vector<Structure> items_;
};

/// The state of a recurrent cell, which may be nested.
///
/// A cell defines the structure of its state: GRUCell's is one tensor, BasicLSTMCell's an
/// LSTMStateTuple, MultiRNNCell's a tuple of the states of its cells. A program usually only passes
/// on what `zero_state`, a call or `static_rnn` returned. Where it makes or reads a state, it
/// writes
///
/// - `cell(x, h)` for one tensor, and `const Tensor h = state`;
/// - `cell(x, LSTMStateTuple{c, h})`, and `state.c()`, `state.h()`;
/// - `State{LSTMStateTuple{c, h}, g}` for a tuple of these two, and `state[0].c()`, `state[1]`
///   (`State{h}` is a tuple of one, `State(h)` one tensor);
/// - `sess.run(state.flatten())` to fetch the values of all tensors, and `state.flatten()[i]` in
///   feeds; `cell.state_size().pack(tensors)` makes a state of a list of tensors again. Loops,
///   which carry lists of tensors, do the same.
using State = Structure<Tensor>;

/// The sizes of a state, in the same structure: the numbers of columns of its tensors.
using StateSize = Structure<std::int64_t>;

}  // namespace towerflow::nn::rnn_cell::types

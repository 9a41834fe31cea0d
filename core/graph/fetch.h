#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <vector>

#include "core/graph/gradient.h"

namespace towerflow::types {

/// Something `Session::run` computes: a tensor's value, or an operation's effect. Also what control
/// dependencies wait for and what a group consists of.
class Fetch {
 public:
  Fetch(Tensor tensor) : tensor_(tensor), operation_(tensor.op()) {}  // NOLINT: sess.run(loss)
  Fetch(Operation operation) : operation_(operation) {}               // NOLINT: sess.run(train_op)
  /// Throws TypeError for an absent gradient.
  template <GradientLike T>
  Fetch(const T& gradient, Site site = Site::current())  // NOLINT: sess.run(grads[0])
      : Fetch(Given(), gradient, site) {}

  /// Returns the tensor, absent for an operation. Throws TypeError for slices, which are not one
  /// array.
  const std::optional<Tensor>& tensor() const {
    if (slices_ != nullptr) throw_slices();
    return tensor_;
  }
  /// Returns the operation; for slices, that of their values.
  Operation operation() const { return operation_; }
  /// Returns the slices, or nullptr if this is something else.
  const IndexedSlices* slices() const;

 private:
  struct Given {};
  struct Slices {
    Gradient gradient;
    Site site;  ///< where they were given
  };
  Fetch(Given, const OptionalGradient& gradient, Site site);
  [[noreturn]] void throw_slices() const;

  std::optional<Tensor> tensor_;
  Operation operation_;
  std::shared_ptr<const Slices> slices_;
};

/// An element of a list to fetch, group or wait for, other than a Fetch itself.
template <class T>
concept FetchLike = !std::same_as<T, Fetch> &&
                    (std::convertible_to<const T&, Fetch> || std::convertible_to<const T&, Tensor>);

}  // namespace towerflow::types

namespace towerflow {

/// Converts `item`, given at `site`, to a Fetch.
template <class T>
Fetch to_fetch(const T& item, Site site) {
  if constexpr (GradientLike<T>)
    return Fetch(item, site);
  else if constexpr (std::convertible_to<const T&, Fetch>)
    return item;
  else
    return static_cast<Tensor>(item);
}

template <FetchLike T>
std::vector<Fetch> to_fetches(const std::vector<T>& items, Site site) {
  std::vector<Fetch> fetches;
  fetches.reserve(items.size());
  for (const T& item : items) fetches.push_back(to_fetch(item, site));
  return fetches;
}

}  // namespace towerflow

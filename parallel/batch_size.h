#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/graph/site.h"

namespace towerflow::parallel::types {

/// What a number of examples may be given as: an integer, but no bool and no floating number.
template <class T>
concept ExampleCount = std::integral<T> && !std::same_as<std::remove_cv_t<T>, bool>;

class GlobalBatch;

/// The number of examples that one tower reads in a step. It does not convert to or from a number,
/// so that it is not taken for the examples of all towers.
///
/// errors   ValueError: less than one example
class TowerBatch {
 public:
  template <ExampleCount T>
  explicit TowerBatch(T examples, Site site = Site::current())
      : TowerBatch(Checked{}, static_cast<std::int64_t>(examples), site) {}

  std::int64_t examples() const { return examples_; }
  /// Returns the examples that so many towers read together. Throws ValueError for no tower.
  GlobalBatch on(int num_towers, Site site = Site::current()) const;

  friend bool operator==(const TowerBatch&, const TowerBatch&) = default;

 private:
  struct Checked {};
  TowerBatch(Checked, std::int64_t examples, Site site);

  std::int64_t examples_;
};

/// The number of examples that all towers together read in a step: what a learning rate is chosen
/// for, and what divides an epoch into steps.
///
/// errors   ValueError: less than one example
class GlobalBatch {
 public:
  template <ExampleCount T>
  explicit GlobalBatch(T examples, Site site = Site::current())
      : GlobalBatch(Checked{}, static_cast<std::int64_t>(examples), site) {}

  std::int64_t examples() const { return examples_; }
  /// Returns the examples of each of so many towers. Throws ValueError if they are not equally
  /// many.
  TowerBatch over(int num_towers, Site site = Site::current()) const;
  /// Returns the examples of each tower if the first ones read one more where the batch cannot be
  /// divided evenly; 0 for some if there are fewer examples than towers. Throws ValueError for no
  /// tower.
  std::vector<std::int64_t> dealt_to(int num_towers, Site site = Site::current()) const;
  /// Returns the steps in which so many examples are read, as a fraction: 195.3125 for an epoch of
  /// 50,000 and a batch of 256.
  double steps(std::int64_t examples) const;
  /// Returns the number of whole steps in `epochs` epochs of so many examples, rounded down, as
  /// the CIFAR-10 tutorial computes its decay_steps: int(examples / batch * epochs).
  ///
  /// errors   ValueError: a negative or infinite number of epochs, an epoch without examples
  std::int64_t steps_of_epochs(double epochs, std::int64_t examples,
                               Site site = Site::current()) const;

  friend bool operator==(const GlobalBatch&, const GlobalBatch&) = default;

 private:
  struct Checked {};
  GlobalBatch(Checked, std::int64_t examples, Site site);

  std::int64_t examples_;
};

}  // namespace towerflow::parallel::types

#pragma once

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/graph/types.h"

namespace towerflow::types {

/// Distinct values in the order in which they were first added. Short lists, which are the common
/// case, are searched linearly, long ones are hashed.
template <class T>
class Distinct {
 public:
  bool contains(const T& value) const {
    if (!hashed_.empty()) return hashed_.contains(value);
    return std::find(values_.begin(), values_.end(), value) != values_.end();
  }
  void add(const T& value) {
    if (contains(value)) return;
    values_.push_back(value);
    if (!hashed_.empty()) {
      hashed_.insert(value);
    } else if (values_.size() > kMaxLinear) {
      hashed_.insert(values_.begin(), values_.end());
    }
  }
  const std::vector<T>& values() const { return values_; }
  /// Returns the values and clears the list.
  std::vector<T> take() {
    hashed_.clear();
    return std::exchange(values_, {});
  }

 private:
  static constexpr std::size_t kMaxLinear = 16;

  std::vector<T> values_;
  std::unordered_set<T> hashed_;  // the same values, if there are more than kMaxLinear
};

}  // namespace towerflow::types

#pragma once

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/graph/types.h"

namespace towerflow::types {

/// Values in the order in which they were first added, each once. A few are compared with one
/// another, as that is what most lists hold; many are hashed.
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
    } else if (values_.size() > kFew) {
      hashed_.insert(values_.begin(), values_.end());
    }
  }
  const std::vector<T>& values() const { return values_; }
  /// The values, after which there are none left.
  std::vector<T> take() {
    hashed_.clear();
    return std::exchange(values_, {});
  }

 private:
  static constexpr std::size_t kFew = 16;

  std::vector<T> values_;
  std::unordered_set<T> hashed_;  // the same, once they are many
};

}  // namespace towerflow::types

#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/graph/fetch.h"

namespace towerflow {

struct GroupOptions {
  std::string name{};
};

/// Makes an operation that does nothing, for control dependencies. (tf.no_op)
Operation no_op(GroupOptions options = {}, Site site = Site::current());

/// Makes an operation that has run when all inputs have; of slices, when all parts have. As in
/// TensorFlow, there is one NoOp per device. (tf.group)
Operation group(std::span<const Fetch> inputs, GroupOptions options = {},
                Site site = Site::current());
template <FetchLike T>
Operation group(const std::vector<T>& inputs, GroupOptions options = {},
                Site site = Site::current()) {
  return group(std::span<const Fetch>(to_fetches(inputs, site)), std::move(options), site);
}
inline Operation group(std::initializer_list<Fetch> inputs, GroupOptions options = {},
                       Site site = Site::current()) {
  return group(std::span<const Fetch>(inputs.begin(), inputs.size()), std::move(options), site);
}

}  // namespace towerflow

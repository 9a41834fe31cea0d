#include "autodiff/aggregate.h"

#include <algorithm>

#include "core/graph/op_builder.h"
#include "ops/array/concat.h"
#include "ops/array/indexed_slices.h"
#include "ops/math/add_n.h"

namespace towerflow {

Gradient aggregate_gradients(const std::vector<Gradient>& gradients, Site site) {
  if (gradients.size() == 1) return gradients[0];
  const bool all_slices = std::none_of(gradients.begin(), gradients.end(),
                                       [](const Gradient& g) { return g.is_dense(); });
  if (!all_slices) {
    std::vector<Tensor> dense;
    for (const Gradient& gradient : gradients) {
      dense.push_back(gradient.is_dense() ? gradient.dense()
                                          : convert_to_tensor(gradient.slices(), {}, site));
    }
    return add_n(dense, {}, site);
  }
  std::vector<Tensor> values, indices;
  for (const Gradient& gradient : gradients) {
    values.push_back(gradient.slices().values);
    indices.push_back(gradient.slices().indices);
  }
  return IndexedSlices{concat(values, 0, {}, site), concat(indices, 0, {}, site),
                       gradients[0].slices().dense_shape};
}

}  // namespace towerflow

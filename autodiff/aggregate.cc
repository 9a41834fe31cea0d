#include "autodiff/aggregate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/graph/op_builder.h"
#include "ops/array/cast.h"
#include "ops/array/concat.h"
#include "ops/array/indexed_slices.h"
#include "ops/math/add_n.h"

namespace towerflow {
namespace {

/// Adds up the tensors on each device, then these sums.
Tensor add_by_device(const std::vector<Tensor>& tensors, Site site) {
  std::map<std::string, std::vector<Tensor>> by_device;  // sorted, as in TensorFlow
  for (const Tensor& tensor : tensors) by_device[tensor.device()].push_back(tensor);
  std::vector<Tensor> sums;
  for (const auto& [device, here] : by_device) {
    const ColocationScope beside(here[0].graph(), &here[0].node(), true);
    sums.push_back(add_n(here, {}, site));
  }
  return add_n(sums, {}, site);
}

Tensor add_in_turn(const std::vector<Tensor>& tensors, const std::string& of, Site site) {
  const NameScope scope(tensors[0].graph(), of + "_gradient_sum", site);
  Tensor sum = tensors[0];
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    sum = add_n(std::vector<Tensor>{sum, tensors[i]}, {}, site);
  }
  return sum;
}

IndexedSlices concat_slices(const std::vector<Gradient>& gradients, Site site) {
  const bool mixed = std::any_of(gradients.begin(), gradients.end(), [&](const Gradient& g) {
    return g.slices().indices.dtype() != gradients[0].slices().indices.dtype();
  });
  std::vector<Tensor> values, indices;
  for (const Gradient& gradient : gradients) {
    const Tensor& index = gradient.slices().indices;
    values.push_back(gradient.slices().values);
    indices.push_back(mixed ? cast(index, DType::int64, {}, site) : index);
  }
  return IndexedSlices{concat(values, 0, {}, site), concat(indices, 0, {}, site),
                       gradients[0].slices().dense_shape};
}

}  // namespace

Gradient aggregate_gradients(const std::vector<Gradient>& gradients, const std::string& of,
                             AggregationMethod method, Site site) {
  if (method != AggregationMethod::ADD_N && method != AggregationMethod::EXPERIMENTAL_TREE &&
      method != AggregationMethod::EXPERIMENTAL_ACCUMULATE_N) {
    throw ValueError(fmt::format("Invalid `aggregation_method` specified {}. Accepted values are "
                                 "[0, 1, 2].",
                                 static_cast<int>(method)),
                     {.site = site});
  }
  if (gradients.size() == 1) return gradients[0];
  const auto is_dense = [](const Gradient& gradient) { return gradient.is_dense(); };
  if (std::none_of(gradients.begin(), gradients.end(), is_dense)) {
    return concat_slices(gradients, site);
  }
  std::vector<Tensor> dense;
  for (const Gradient& gradient : gradients) dense.push_back(dense_gradient(gradient, site));
  if (!std::all_of(gradients.begin(), gradients.end(), is_dense)) return add_n(dense, {}, site);
  return method == AggregationMethod::ADD_N ? add_by_device(dense, site)
                                            : add_in_turn(dense, of, site);
}

}  // namespace towerflow

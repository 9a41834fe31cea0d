#include "ops/math/squeezable.h"

#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/rank_size.h"
#include "ops/array/view.h"
#include "ops/control/cond.h"
#include "ops/math/binary.h"

namespace towerflow {

bool may_be_squeezed(const Shape& shape) {
  if (!shape.has_rank()) return true;
  if (shape.rank() == 0) return false;
  const Dim& last = shape[shape.rank() - 1];
  return !last.known() || last.size() == 1;
}

Tensor without_last_dimension(const Tensor& tensor, Site site) {
  return squeeze(tensor, {.axis = {-1}}, site);
}

std::pair<Tensor, Tensor> remove_squeezable_dimensions(const Operand& labels,
                                                       const Operand& predictions,
                                                       int expected_rank_diff, Site site) {
  Graph& graph = graph_of(predictions, labels);
  const NameScope scope(graph, "remove_squeezable_dimensions", site);
  Tensor given = convert_operand(graph, predictions, "", std::nullopt);
  Tensor wanted = convert_operand(graph, labels, "", std::nullopt);
  if (given.shape().has_rank() && wanted.shape().has_rank()) {
    const int difference =
        static_cast<int>(given.shape().rank()) - static_cast<int>(wanted.shape().rank());
    if (difference == expected_rank_diff + 1 && may_be_squeezed(given.shape())) {
      given = without_last_dimension(given, site);
    } else if (difference == expected_rank_diff - 1 && may_be_squeezed(wanted.shape())) {
      wanted = without_last_dimension(wanted, site);
    }
    return {wanted, given};
  }
  const Tensor given_rank = rank(given, {}, site);
  const Tensor wanted_rank = rank(wanted, {}, site);
  const Tensor difference = Operand(given_rank, site) - wanted_rank;
  const auto squeezed_if = [&](int excess, const Tensor& tensor) {
    if (!may_be_squeezed(tensor.shape())) return tensor;
    const Tensor has_more = equal(excess, difference, {}, site);
    return cond(
        has_more, [&] { return without_last_dimension(tensor, site); }, [&] { return tensor; }, {},
        site);
  };
  given = squeezed_if(expected_rank_diff + 1, given);
  wanted = squeezed_if(expected_rank_diff - 1, wanted);
  return {wanted, given};
}

}  // namespace towerflow

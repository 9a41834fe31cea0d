#include "ops/math/confusion_matrix.h"

#include <fmt/format.h>

#include <tuple>

#include "core/graph/op_builder.h"
#include "ops/array/cast.h"
#include "ops/array/fill.h"
#include "ops/array/gather_nd.h"
#include "ops/array/stack.h"
#include "ops/control/tuple.h"
#include "ops/data_flow/assert_values.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/squeezable.h"

namespace towerflow {
namespace {

/// Returns `x` once it is checked that no element is negative.
Tensor checked_non_negative(const Tensor& x, const char* what, Site site) {
  const Operation check =
      assert_non_negative(x, {.message = fmt::format("`{}` contains negative values", what)}, site);
  return with_dependencies({check}, x, {}, site);
}

/// Returns `x` once it is checked that each element is below `limit`.
Tensor checked_below(const Tensor& x, const Tensor& limit, const char* what, Site site) {
  const Operation check =
      assert_less(x, limit, {.message = fmt::format("`{}` out of bound", what)}, site);
  return with_dependencies({check}, x, {}, site);
}

}  // namespace

Tensor confusion_matrix(const Operand& labels, const Operand& predictions,
                        ConfusionMatrixOptions options, Site site) {
  Graph& graph = graph_of(predictions, labels);
  const NameScope scope(graph, options.name.empty() ? "confusion_matrix" : options.name, site);
  Tensor right = convert_operand(graph, labels, "labels", std::nullopt);
  Tensor found = convert_operand(graph, predictions, "predictions", std::nullopt);
  std::tie(right, found) = remove_squeezable_dimensions(right, found, 0, site);
  found = cast(found, DType::int64, {}, site);
  right = cast(right, DType::int64, {}, site);
  right = checked_non_negative(right, "labels", site);
  found = checked_non_negative(found, "predictions", site);
  Operand classes(0, site);
  if (options.num_classes) {
    classes = options.num_classes->at(site);
    const Tensor limit = cast(classes, DType::int64, {}, site);
    right = checked_below(right, limit, "labels", site);
    found = checked_below(found, limit, "predictions", site);
  } else {
    const Tensor largest_found = reduce_max(found, {}, site);
    const Tensor largest_right = reduce_max(right, {}, site);
    const Tensor largest = maximum(largest_found, largest_right, {}, site);
    classes = Operand(Operand(largest, site) + Operand(1, site), site);
  }
  Tensor values;
  if (options.weights) {
    values = convert_operand(graph, options.weights->at(site), "weights", std::nullopt);
    if (!found.shape().compatible(values.shape())) {
      throw ValueError(fmt::format("Shapes {} and {} are incompatible", found.shape().text(),
                                   values.shape().text()),
                       {.site = site, .op = "confusion_matrix"});
    }
    values = cast(values, options.dtype, {}, site);
  }
  const Tensor sizes = stack({classes, classes}, {}, site);
  const Tensor places = stack({right, found}, 1, {}, site);
  if (!options.weights) values = ones_like(found, {.dtype = options.dtype}, site);
  const Tensor shape = cast(sizes, DType::int64, {}, site);
  return scatter_nd(places, values, shape, {}, site);
}

}  // namespace towerflow

#include "ops/math/confusion_matrix.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "ops/array/cast.h"
#include "ops/array/fill.h"
#include "ops/array/gather_nd.h"
#include "ops/array/stack.h"
#include "ops/array/view.h"
#include "ops/control/tuple.h"
#include "ops/data_flow/assert_values.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"

namespace towerflow {
namespace {

bool is_column(const Shape& shape) {
  const Dim last = shape[shape.rank() - 1];
  return !last.known() || last.size() == 1;
}

/// Gives both the same rank, as far as a last dimension of size 1 does.
void squeeze_to_same_rank(Tensor& labels, Tensor& predictions, Site site) {
  const NameScope scope(labels.graph(), "remove_squeezable_dimensions", site);
  const Shape &right = labels.shape(), &found = predictions.shape();
  if (!right.has_rank() || !found.has_rank()) {
    throw errors::UnimplementedError(
        fmt::format("confusion_matrix needs known ranks, got labels {} and predictions {}",
                    right.text(), found.text()),
        {.site = site, .hint = "set_shape sets what the graph cannot infer"});
  }
  if (found.rank() == right.rank() + 1 && is_column(found)) {
    predictions = squeeze(predictions, {.axis = {-1}}, site);
  } else if (found.rank() + 1 == right.rank() && is_column(right)) {
    labels = squeeze(labels, {.axis = {-1}}, site);
  }
}

/// Returns `x` once it is checked that no element is negative.
Tensor checked_non_negative(const Tensor& x, const char* what, Site site) {
  const std::string message = fmt::format("`{}` contains negative values", what);
  return with_dependencies({assert_non_negative(Operand(x, site), {.message = message}, site)}, x,
                           {}, site);
}

/// Returns `x` once it is checked that each element is below `limit`.
Tensor checked_below(const Tensor& x, const Tensor& limit, const char* what, Site site) {
  const std::string message = fmt::format("`{}` out of bound", what);
  const Operation check =
      assert_less(Operand(x, site), Operand(limit, site), {.message = message}, site);
  return with_dependencies({check}, x, {}, site);
}

}  // namespace

Tensor confusion_matrix(const Operand& labels, const Operand& predictions,
                        ConfusionMatrixOptions options, Site site) {
  Graph& graph = graph_of(predictions, labels);
  const NameScope scope(graph, options.name.empty() ? "confusion_matrix" : options.name, site);
  Tensor right = convert_operand(graph, labels, "labels", std::nullopt);
  Tensor found = convert_operand(graph, predictions, "predictions", std::nullopt);
  squeeze_to_same_rank(right, found, site);
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

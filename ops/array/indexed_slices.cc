#include "ops/array/indexed_slices.h"

#include <fmt/format.h>

#include "core/graph/error.h"
#include "core/graph/graph.h"
#include "ops/array/strided_slice.h"
#include "ops/math/segment.h"

namespace towerflow {

Tensor convert_to_tensor(const Operand& value, ConvertOptions options, Site) {
  const Tensor* tensor = value.any_tensor();
  Graph& graph = tensor != nullptr ? tensor->graph() : get_default_graph();
  const char* packed = tensor != nullptr && value.tensor() == nullptr ? "packed" : "Const";
  return convert_operand(graph, value, options.name.empty() ? packed : options.name, options.dtype);
}

Tensor convert_to_tensor(const IndexedSlices& slices, ConvertOptions options, Site site) {
  if (options.dtype && *options.dtype != slices.dtype()) {
    throw ValueError(fmt::format("Tensor conversion requested dtype {} for IndexedSlices with "
                                 "dtype {}",
                                 dtype_name(*options.dtype), dtype_name(slices.dtype())),
                     {.site = site, .node = slices.name()});
  }
  if (!slices.dense_shape) {
    throw ValueError(
        fmt::format("Tensor conversion requested for IndexedSlices without dense_shape: {}",
                    slices.name()),
        {.site = site, .hint = "give the slices the shape of the tensor they belong to"});
  }
  const Tensor rows = take_index(*slices.dense_shape, 0, site);
  return unsorted_segment_sum(slices.values, slices.indices, rows, {.name = options.name}, site);
}

Tensor convert_to_tensor(const Gradient& gradient, ConvertOptions options, Site site) {
  if (!gradient.is_dense()) return convert_to_tensor(gradient.slices(), std::move(options), site);
  return convert_to_tensor(Operand(gradient.dense(), site), std::move(options), site);
}

}  // namespace towerflow

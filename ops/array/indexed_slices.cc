#include "ops/array/indexed_slices.h"

#include <fmt/format.h>

#include "core/graph/error.h"
#include "core/graph/graph.h"
#include "core/graph/op_builder.h"
#include "ops/array/strided_slice.h"
#include "ops/math/segment.h"

namespace towerflow {

Tensor convert_to_tensor(const Operand& value, ConvertOptions options, Site) {
  return convert_operand(graph_of(value), value, options.name, options.dtype);
}

Tensor densify(const IndexedSlices& slices, const std::string& name, std::optional<DType> wanted,
               Site site) {
  if (wanted && *wanted != slices.dtype()) {
    throw ValueError(fmt::format("Tensor conversion requested dtype {} for IndexedSlices with "
                                 "dtype {}",
                                 dtype_name(*wanted), dtype_name(slices.dtype())),
                     {.site = site, .node = slices.name()});
  }
  if (!slices.dense_shape) {
    throw ValueError(
        fmt::format("Tensor conversion requested for IndexedSlices without dense_shape: {}",
                    slices.name()),
        {.site = site, .hint = "give the slices the shape of the tensor they belong to"});
  }
  const Tensor rows = take_index(*slices.dense_shape, 0, site);
  return unsorted_segment_sum(slices.values, slices.indices, rows, {.name = name}, site);
}

}  // namespace towerflow

#include <limits>

#include "core/graph/op_builder.h"
#include "ops/array/shape_of.h"
#include "ops/array/slice.h"
#include "ops/control/tuple.h"
#include "ops/data_flow/assert.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/random/random_ops.h"

namespace towerflow {

Tensor random_crop(const Operand& value, const Operand& size, RandomCropOptions options,
                   Site site) {
  Graph& graph = graph_of(value, size);
  const NameScope scope(graph, options.name.empty() ? "random_crop" : options.name, site);
  const Tensor whole = convert_operand(graph, value, "value", std::nullopt);
  const Tensor wanted = convert_operand(graph, size, "size", DType::int32);
  const Tensor sizes = shape(whole, {}, site);
  const Tensor large = Operand(sizes, site) >= Operand(wanted, site);
  const Operation check =
      Assert(reduce_all(large, {}, site),
             {"Need value.shape >= size, got ", Operand(sizes, site), Operand(wanted, site)},
             {.summarize = 1000}, site);
  const Tensor checked = with_dependencies({check}, sizes, {}, site);
  const Tensor rest = Operand(checked, site) - Operand(wanted, site);
  const Tensor places = Operand(rest, site) + Operand(1, site);
  const Tensor rank = shape(checked, {}, site);
  const Tensor drawn =
      random_uniform(rank,
                     {.maxval = Operand(std::numeric_limits<std::int32_t>::max(), site),
                      .dtype = DType::int32,
                      .seed = options.seed},
                     site);
  const Tensor offset = Operand(drawn, site) % Operand(places, site);
  return slice(whole, offset, wanted, {.name = scope.name()}, site);
}

}  // namespace towerflow

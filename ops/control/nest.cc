#include "ops/control/nest.h"

#include "core/graph/op_builder.h"

namespace towerflow::nest {

Tensor tensor_of_value(const Operand& value) {
  return convert_operand(graph_of(value), value, "", std::nullopt);
}

}  // namespace towerflow::nest

#include "ops/array/operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/graph/constant.h"
#include "core/graph/error.h"
#include "core/graph/graph.h"

namespace towerflow {

void check_same_dtype(const OperandList& list, const char* op, const char* argument, Site site) {
  std::vector<const char*> names;
  bool differ = false;
  const Tensor* first = nullptr;
  for (const Operand& item : list.items()) {
    const Tensor* tensor = item.any_tensor();
    if (tensor == nullptr) continue;
    if (first == nullptr) first = tensor;
    differ = differ || tensor->dtype() != first->dtype();
    names.push_back(dtype_name(tensor->dtype()));
  }
  if (!differ) return;
  throw TypeError(
      fmt::format("Tensors in list passed to '{}' of '{}' Op have types [{}] that don't "
                  "all match.",
                  argument, op, fmt::join(names, ", ")),
      {.site = site, .op = op, .hint = "tf::cast converts between dtypes"});
}

Graph& graph_of(const OperandList& list) {
  const Tensor* first = list.any_tensor();
  return first != nullptr ? first->graph() : get_default_graph();
}

std::vector<Tensor> same_dtype_inputs(Graph& graph, const OperandList& list, const char* op,
                                      const char* argument, Site site) {
  check_same_dtype(list, op, argument, site);
  std::optional<DType> dtype;
  if (const Tensor* first = list.any_tensor()) dtype = first->dtype();
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string name = fmt::format("{}_{}", argument, i);
    tensors.push_back(convert_operand(graph, list.items()[i], name, dtype));
    dtype = tensors[0].dtype();
  }
  return tensors;
}

Tensor index_tensor(Graph& graph, const Operand& operand, const char* argument, const char* op) {
  const Tensor* tensor = operand.tensor();
  if (tensor == nullptr && operand.array() == nullptr) {
    return convert_operand(graph, operand, argument, DType::int32);
  }
  const Tensor made = convert_operand(graph, operand, argument, std::nullopt);
  if (made.dtype() != DType::int32 && made.dtype() != DType::int64) {
    throw TypeError(fmt::format("Value passed to parameter '{}' has DataType {} not in list of "
                                "allowed values: int32, int64",
                                argument, dtype_name(made.dtype())),
                    {.site = operand.site(), .op = op});
  }
  return made;
}

Tensor index_constant(Graph& graph, const std::vector<std::int64_t>& values, const char* name,
                      Site site) {
  const bool fits = std::all_of(values.begin(), values.end(), [](std::int64_t value) {
    return std::in_range<std::int32_t>(value);
  });
  if (!fits) return make_constant(graph, Array::of(Shape{values.size()}, values), name, site);
  const std::vector<std::int32_t> narrow(values.begin(), values.end());
  return make_constant(graph, Array::of(Shape{values.size()}, narrow), name, site);
}

}  // namespace towerflow

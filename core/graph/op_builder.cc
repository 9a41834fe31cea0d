#include "core/graph/op_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/capture.h"

namespace towerflow {
namespace {

Graph& graph_of_any(std::initializer_list<const Operand*> operands) {
  if (Graph* graph = CaptureScope::default_graph()) return *graph;
  for (const Operand* operand : operands) {
    if (operand == nullptr) continue;
    if (const Tensor* tensor = operand->any_tensor()) return tensor->graph();
  }
  return get_default_graph();
}

}  // namespace

Graph& graph_of(const Operand& operand) { return graph_of_any({&operand}); }
Graph& graph_of(const Operand& first, const Operand& second) {
  return graph_of_any({&first, &second});
}

OpBuilder::OpBuilder(const char* op, const std::string& name, Site site,
                     std::initializer_list<const Operand*> operands)
    : OpBuilder(op, name, op, site, operands) {}

OpBuilder::OpBuilder(const char* op, const std::string& name, const char* default_name, Site site,
                     std::initializer_list<const Operand*> operands)
    : op_(op),
      site_(site),
      graph_(&graph_of_any(operands)),
      scope_(*graph_, name.empty() ? std::string(default_name) : name, site) {}

OpBuilder& OpBuilder::input(const Operand& operand, const char* argument, const char* type) {
  std::optional<DType> wanted;
  if (type != nullptr) {
    const auto known = std::find_if(types_.begin(), types_.end(),
                                    [&](const FixedType& fixed) { return fixed.type == type; });
    if (known != types_.end()) {
      wanted = known->dtype;
      const Tensor* tensor = operand.tensor();
      if (tensor != nullptr && tensor->dtype() != *wanted) {
        throw TypeError(fmt::format("Input '{}' of '{}' Op has type {} that does not match type {} "
                                    "of argument '{}'.",
                                    argument, op_, dtype_name(tensor->dtype()), dtype_name(*wanted),
                                    known->argument),
                        {.site = site_,
                         .node = scope().substr(0, scope().size() - 1),
                         .op = op_,
                         .hint = "tf::cast converts between dtypes"});
      }
    }
  }
  const Tensor made = convert_operand(*graph_, operand, argument, wanted);
  if (type != nullptr && !wanted) types_.push_back({type, made.dtype(), argument});
  inputs_.push_back(made);
  return *this;
}

OpBuilder& OpBuilder::eager_input(const Operand& operand, const char* argument, const char* type) {
  try {
    return input(operand, argument, type);
  } catch (const TypeError&) {
    if (operand.any_tensor() == nullptr) {
      convert_operand(*graph_, operand, argument, std::nullopt);
    }
    throw;
  }
}

OpBuilder& OpBuilder::input(const Operand& operand, const char* argument, DType dtype) {
  const Tensor* tensor = operand.tensor();
  if (tensor != nullptr && tensor->dtype() != dtype) {
    throw TypeError(fmt::format("Input '{}' of '{}' Op has type {} that does not match expected "
                                "type of {}.",
                                argument, op_, dtype_name(tensor->dtype()), dtype_name(dtype)),
                    {.site = site_, .op = op_, .hint = "tf::cast converts between dtypes"});
  }
  inputs_.push_back(convert_operand(*graph_, operand, argument, dtype));
  return *this;
}

OpBuilder& OpBuilder::index_input(const Operand& operand, const char* argument) {
  const Tensor* tensor = operand.tensor();
  if (tensor != nullptr) {
    if (tensor->dtype() != DType::int32 && tensor->dtype() != DType::int64) {
      throw TypeError(fmt::format("Value passed to parameter '{}' has DataType {} not in list of "
                                  "allowed values: int32, int64",
                                  argument, dtype_name(tensor->dtype())),
                      {.site = site_, .op = op_});
    }
    inputs_.push_back(*tensor);
    return *this;
  }
  const Nested* nested = operand.nested();
  const bool value = nested != nullptr && !nested->holds_tensor();
  const Array array = value ? to_array(*nested) : Array();
  const bool index = is_index(array.dtype());
  // TensorFlow tries again if the value is not an index and leaves the first constant in the graph.
  // An empty list is float32 at first, then int32; bools become int32; anything else is an error.
  if (value && !index) {
    convert_operand(*graph_, operand, argument, std::nullopt);
    if (array.elements() > 0 && array.dtype() != DType::bool_) {
      convert_operand(*graph_, operand, argument, std::nullopt);
      throw TypeError(fmt::format("Value passed to parameter '{}' has DataType {} not in list of "
                                  "allowed values: int32, int64",
                                  argument, dtype_name(array.dtype())),
                      {.site = site_, .op = op_});
    }
  }
  const bool needs_int32 = value && array.dtype() != DType::int64;
  inputs_.push_back(convert_operand(*graph_, operand, argument,
                                    needs_int32 ? std::optional(DType::int32) : std::nullopt));
  return *this;
}

OpBuilder& OpBuilder::type(const char* type, DType dtype) {
  types_.push_back({type, dtype, "dtype"});
  return *this;
}

OpBuilder& OpBuilder::inputs(const std::vector<Tensor>& tensors, const char* argument) {
  for (const Tensor& tensor : tensors) input(tensor, argument);
  return *this;
}

OpBuilder& OpBuilder::attrs(Attrs attrs) {
  attrs_ = std::move(attrs);
  return *this;
}

OpBuilder& OpBuilder::control_inputs(const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) control_inputs_.push_back(&operation.node());
  return *this;
}

Operation OpBuilder::build() {
  return graph_->add({.op = op_,
                      .name = scope(),
                      .inputs = std::move(inputs_),
                      .control_inputs = std::move(control_inputs_),
                      .attrs = std::move(attrs_),
                      .site = site_});
}

}  // namespace towerflow

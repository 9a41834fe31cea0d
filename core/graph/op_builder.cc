#include "core/graph/op_builder.h"

#include <fmt/format.h>

namespace towerflow {
namespace {

Graph& graph_of(std::initializer_list<const Operand*> operands) {
  for (const Operand* operand : operands) {
    if (operand == nullptr) continue;
    if (const Tensor* tensor = operand->any_tensor()) return tensor->graph();
  }
  return get_default_graph();
}

}  // namespace

OpBuilder::OpBuilder(const char* op, const std::string& name, Site site,
                     std::initializer_list<const Operand*> operands)
    : OpBuilder(op, name, op, site, operands) {}

OpBuilder::OpBuilder(const char* op, const std::string& name, const char* default_name, Site site,
                     std::initializer_list<const Operand*> operands)
    : op_(op), site_(site), graph_(&graph_of(operands)) {
  scope_ = std::make_unique<NameScope>(*graph_, name.empty() ? default_name : name, site);
}

OpBuilder& OpBuilder::input(const Operand& operand, const char* argument, const char* type) {
  std::optional<DType> wanted;
  if (type != nullptr) {
    const auto known = types_.find(type);
    if (known != types_.end()) {
      wanted = known->second.first;
      const Tensor* tensor = operand.tensor();
      if (tensor != nullptr && tensor->dtype() != *wanted) {
        throw TypeError(fmt::format("Input '{}' of '{}' Op has type {} that does not match type {} "
                                    "of argument '{}'.",
                                    argument, op_, dtype_name(tensor->dtype()), dtype_name(*wanted),
                                    known->second.second),
                        {.site = site_,
                         .node = scope_->name().substr(0, scope_->name().size() - 1),
                         .op = op_,
                         .hint = "tf::cast converts between dtypes"});
      }
    }
  }
  const Tensor made = convert_operand(*graph_, operand, argument, wanted);
  if (type != nullptr) types_.try_emplace(type, made.dtype(), argument);
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
  // An empty list becomes float32 first and, since that is no index, int32 then: TensorFlow's two
  // constants, of which the first is left over.
  if (value && array.elements() == 0) {
    convert_operand(*graph_, operand, argument, std::nullopt);
  }
  const bool needs_int32 = value && array.dtype() != DType::int64;
  inputs_.push_back(convert_operand(*graph_, operand, argument,
                                    needs_int32 ? std::optional(DType::int32) : std::nullopt));
  return *this;
}

OpBuilder& OpBuilder::type(const char* type, DType dtype) {
  types_.insert_or_assign(type, std::pair(dtype, std::string("dtype")));
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
                      .name = scope_->name(),
                      .inputs = inputs_,
                      .control_inputs = control_inputs_,
                      .attrs = attrs_,
                      .site = site_});
}

}  // namespace towerflow

#include "layers/rnn_cell_call.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "ops/array/concat.h"
#include "ops/array/constant.h"
#include "ops/array/fill.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_input.h"
#include "ops/array/view.h"

namespace towerflow::nn::rnn_cell {
namespace {

/// Returns a size as a vector of one element.
Tensor size_vector(const ScalarOperand& size, Site site) {
  if (size.tensor() == nullptr) {
    const Array value = size.array() != nullptr ? cast_elements(*size.array(), DType::int32)
                                                : to_array(*size.nested(), DType::int32);
    return constant(Operand(Nested({value.data<std::int32_t>()[0]}), site), {.dtype = DType::int32},
                    site);
  }
  const Tensor tensor = *size.tensor();
  const Shape& shape = tensor.shape();
  if (shape.has_rank() && shape.rank() == 0) {
    return expand_dims(Operand(tensor, site), Operand(0, site), {}, site);
  }
  if (shape.has_rank() && shape.rank() == 1) return tensor;
  throw ValueError(fmt::format("Prefix tensor must be either a scalar or vector, but received "
                               "tensor '{}' of shape {}",
                               tensor.name(), shape.text()),
                   {.site = site});
}

/// Returns the shape of a batch, as far as it is known.
Shape known_batch_shape(const ScalarOperand& batch_size, std::int64_t size) {
  Dim batch = None;
  if (batch_size.tensor() == nullptr) {
    const Array value = batch_size.array() != nullptr
                            ? cast_elements(*batch_size.array(), DType::int64)
                            : to_array(*batch_size.nested(), DType::int64);
    batch = value.data<std::int64_t>()[0];
  }
  return {batch, size};
}

}  // namespace

Tensor batch_shape(const ScalarOperand& batch_size, const Shape& row, Site site) {
  const Tensor batch = size_vector(batch_size, site);
  const Tensor sizes = constant(Operand(shape_to_array(row), site), {}, site);
  return concat({Operand(batch, site), Operand(sizes, site)}, 0, {}, site);
}

Tensor batch_shape(const ScalarOperand& batch_size, const Tensor& row, Site site) {
  const Tensor batch = size_vector(batch_size, site);
  return concat({Operand(batch, site), Operand(row, site)}, 0, {}, site);
}

void repeat_size_vectors(const std::vector<Dim>& sizes, std::int64_t columns, Site site) {
  std::vector<Nested> known;
  for (const Dim& size : sizes) {
    if (size.known()) known.push_back(Nested(size.size()));
  }
  if (known.size() == sizes.size()) {
    constant(Operand(Nested(std::move(known)), site), {.dtype = DType::int32}, site);
  }
  size_vector(ScalarOperand(columns, site), site);
}

State zero_state_tensors(const StateSize& sizes, const ScalarOperand& batch_size, DType dtype,
                         Site site) {
  return sizes.map([&](std::int64_t size) {
    const Tensor shape = batch_shape(batch_size, Shape{size}, site);
    Tensor state = zeros_of_shape(shape, {.dtype = dtype}, site);
    // TensorFlow makes the vectors again to find the static shape.
    size_vector(batch_size, site);
    size_vector(ScalarOperand(size, site), site);
    state.set_shape(known_batch_shape(batch_size, size), site);
    return state;
  });
}

}  // namespace towerflow::nn::rnn_cell

namespace towerflow::nn::rnn_cell::types {

CellBody::CellBody(std::string python_name, std::string class_name, layers::LayerOptions options,
                   Site site)
    : LayerBody(std::move(class_name), std::move(options), site),
      python_name_(std::move(python_name)) {}

State CellBody::zero_state(const ScalarOperand& batch_size, DType its_dtype, Site site) {
  const NameScope names(graph_of(batch_size), python_name_ + "ZeroState", site);
  return rnn_cell::zero_state_tensors(state_size(), batch_size, its_dtype, site);
}

Tensor CellBody::call(const Tensor&, Site site) {
  throw TypeError("a cell is called with inputs and a state", {.site = site, .op = name()});
}

CellResult CellBody::apply_cell(const Tensor& inputs, const State& state,
                                const std::optional<Scope>& scope, Site site) {
  return enter_cell(inputs, state, scope, site);
}

CellResult CellBody::enter_cell(const Tensor& inputs, const State& state,
                                const std::optional<Scope>& scope, Site site) {
  std::optional<CellResult> result;
  const auto check = [&] { input_spec.check(inputs, name(), site); };
  enter(
      scope,
      [&] {
        check();
        if (!dtype()) set_dtype(inputs.dtype());
        build(inputs.shape(), site);
      },
      [&] {
        check();
        rnn_cell::check_cell_dtype(inputs.dtype(), name(), site);
        for (const Tensor& part : state.flatten()) {
          rnn_cell::check_cell_dtype(part.dtype(), name(), site);
        }
        result = call_cell(inputs, state, site);
      },
      site);
  return *std::move(result);
}

CellResult RNNCell::operator()(const Operand& inputs, const State& state, CellCallOptions options,
                               Site site) const {
  const DefaultGraphGuard graph(graph_of(inputs));
  const Tensor tensor =
      inputs.tensor() != nullptr ? *inputs.tensor() : convert_to_tensor(inputs, {}, site);
  return body_->apply_cell(tensor, state, options.scope, site);
}

std::vector<Variable> RNNCell::variables() const {
  std::vector<Variable> all = trainable_variables();
  const std::vector<Variable> others = non_trainable_variables();
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace towerflow::nn::rnn_cell::types

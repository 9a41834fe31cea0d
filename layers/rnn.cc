#include "layers/rnn.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/op_builder.h"
#include "ops/array/concat.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/operands.h"
#include "ops/array/shape_of.h"
#include "ops/array/strided_slice.h"

namespace towerflow::nn {
namespace {

VariableScopeGuard open_rnn_scope(const std::optional<layers::Scope>& scope,
                                  const char* default_name, Site site) {
  if (!scope) return variable_scope(std::string(default_name), {}, site);
  if (const auto* captured = std::get_if<VariableScopeHandle>(&*scope)) {
    return variable_scope(*captured, {}, site);
  }
  return variable_scope(std::get<std::string>(*scope), {}, site);
}

std::vector<Tensor> input_tensors(const OperandList& inputs, Site site) {
  if (inputs.size() == 0) {
    throw ValueError("Argument `inputs` must not be empty.",
                     {.site = site, .op = "static_rnn", .hint = inputs.why_empty()});
  }
  std::vector<Tensor> tensors;
  for (const Operand& input : inputs.items()) {
    tensors.push_back(input.tensor() != nullptr ? *input.tensor()
                                                : convert_to_tensor(input, {}, site));
  }
  return tensors;
}

/// Returns the number of examples, if it is known. Throws ValueError for inputs that differ.
Dim checked_batch(const std::vector<Tensor>& inputs, Site site) {
  const auto refuse = [&](const std::string& what, const Tensor& input) {
    throw ValueError(what, {.site = site, .node = input.op().name(), .op = "static_rnn"});
  };
  const Dim first = inputs[0].shape().has_rank() && inputs[0].shape().rank() > 0
                        ? inputs[0].shape()[0]
                        : Dim(None);
  for (const Tensor& input : inputs) {
    const Shape& shape = input.shape();
    if (!shape.has_rank() || shape.rank() < 2) {
      if (shape.has_rank() && inputs[0].shape().rank() == 1) continue;
      refuse(fmt::format("Shape {} must have rank at least 2", shape.text()), input);
    }
    if (first.known() && shape[0].known() && first != shape[0]) {
      refuse(fmt::format("Dimensions {} and {} are not compatible", first.size(), shape.size(0)),
             input);
    }
    for (std::size_t i = 1; i < shape.rank(); ++i) {
      if (shape[i].known()) continue;
      refuse(fmt::format("Input size (dimension {} of input {}) must be accessible via shape "
                         "inference, but saw value None.",
                         i - 1, input.name()),
             input);
    }
  }
  return first;
}

rnn_cell::State initial_state_of(const rnn_cell::RNNCell& cell, const std::vector<Tensor>& inputs,
                                 const StaticRnnOptions& options, Site site) {
  const Dim batch = checked_batch(inputs, site);
  std::optional<ScalarOperand> batch_size;
  if (batch.known()) {
    batch_size = ScalarOperand(batch.size(), site);
  } else {
    const Tensor sizes = towerflow::shape(Operand(inputs[0], site), {}, site);
    batch_size = ScalarOperand(take_index(sizes, 0, site), site);
  }
  if (options.initial_state) return *options.initial_state;
  if (!options.dtype) {
    throw ValueError("If no initial_state is provided, argument `dtype` must be specified",
                     {.site = site, .op = "static_rnn"});
  }
  return cell.zero_state(*batch_size, *options.dtype, site);
}

std::vector<Tensor> reversed_list(std::vector<Tensor> list) {
  std::reverse(list.begin(), list.end());
  return list;
}

}  // namespace

RnnResult static_rnn(const rnn_cell::RNNCell& cell, const OperandList& inputs,
                     StaticRnnOptions options, Site site) {
  const DefaultGraphGuard graph(graph_of(inputs));
  const std::vector<Tensor> tensors = input_tensors(inputs, site);
  const VariableScopeGuard scope = open_rnn_scope(options.scope, "rnn", site);
  if (!scope->caching_device()) {  // reads of the weights are placed as the variables are
    scope->set_caching_device(DeviceFunction([](const Operation& op) { return op.device(); }));
  }
  RnnResult result{{}, initial_state_of(cell, tensors, options, site)};
  for (std::size_t step = 0; step < tensors.size(); ++step) {
    if (step > 0) scope->reuse_variables(site);
    rnn_cell::CellResult next = cell(Operand(tensors[step], site), result.state, {}, site);
    result.outputs.push_back(next.output);
    result.state = std::move(next.state);
  }
  return result;
}

BidirectionalRnnResult static_bidirectional_rnn(const rnn_cell::RNNCell& cell_fw,
                                                const rnn_cell::RNNCell& cell_bw,
                                                const OperandList& inputs,
                                                StaticBidirectionalRnnOptions options, Site site) {
  const DefaultGraphGuard graph(graph_of(inputs));
  const std::vector<Tensor> tensors = input_tensors(inputs, site);
  std::optional<RnnResult> forward, backward;
  {
    const VariableScopeGuard both = open_rnn_scope(options.scope, "bidirectional_rnn", site);
    {
      const VariableScopeGuard scope = variable_scope("fw", {}, site);
      forward = static_rnn(cell_fw, OperandList(tensors, site),
                           {.initial_state = options.initial_state_fw,
                            .dtype = options.dtype,
                            .scope = VariableScopeHandle(scope)},
                           site);
    }
    const VariableScopeGuard scope = variable_scope("bw", {}, site);
    backward = static_rnn(cell_bw, OperandList(reversed_list(tensors), site),
                          {.initial_state = options.initial_state_bw,
                           .dtype = options.dtype,
                           .scope = VariableScopeHandle(scope)},
                          site);
  }
  const std::vector<Tensor> turned = reversed_list(backward->outputs);
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < turned.size(); ++i) {
    outputs.push_back(
        concat({Operand(forward->outputs[i], site), Operand(turned[i], site)}, 1, {}, site));
  }
  return {std::move(outputs), forward->state, backward->state};
}

}  // namespace towerflow::nn

namespace towerflow::nn::types {

void SequenceLength::refuse(Site site) {
  throw errors::UnimplementedError(
      "sequences of different lengths need tf.cond, which does not exist yet",
      {.site = site, .op = "static_rnn", .hint = "leave sequence_length out"});
}

}  // namespace towerflow::nn::types

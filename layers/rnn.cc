#include "layers/rnn.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/op_builder.h"
#include "layers/rnn_cell_call.h"
#include "layers/rnn_step.h"
#include "ops/array/cast.h"
#include "ops/array/concat.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/operands.h"
#include "ops/array/sequence.h"
#include "ops/array/shape_of.h"
#include "ops/array/stack.h"
#include "ops/array/strided_slice.h"

namespace towerflow::nn {
namespace {

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

/// Returns the number of examples, a tensor if it is not known.
ScalarOperand batch_size_of(const std::vector<Tensor>& inputs, Dim batch, Site site) {
  if (batch.known() && batch.size() != 0) return ScalarOperand(batch.size(), site);
  const Tensor sizes = towerflow::shape(Operand(inputs[0], site), {}, site);
  return ScalarOperand(take_index(sizes, 0, site), site);
}

/// Returns the inputs in reverse order; with lengths, each example's up to its length.
std::vector<Tensor> reversed_list(std::vector<Tensor> list, const std::optional<Operand>& lengths,
                                  Site site) {
  if (!lengths) {
    std::reverse(list.begin(), list.end());
    return list;
  }
  const Tensor joined = stack(OperandList(list, site), {}, site);
  const Tensor turned = reverse_sequence(Operand(joined, site), lengths->at(site),
                                         {.seq_axis = 0, .batch_axis = 1}, site);
  return unstack(Operand(turned, site), {}, site);
}

/// What the steps of sequences of different lengths need.
struct StaticLengths {
  Tensor zero_output;
  RnnLengths lengths;
};

StaticLengths static_lengths(const rnn_cell::RNNCell& cell, const StaticRnnOptions& options,
                             const rnn_cell::State& state, const ScalarOperand& batch_size,
                             Dim batch, Site site) {
  const Tensor found =
      convert_to_tensor(options.sequence_length->at(site), {.name = "sequence_length"}, site);
  if (found.shape().has_rank() && found.shape().rank() != 1) {
    throw ValueError(fmt::format("Argument `sequence_length` must be a vector of the batch's size. "
                                 "Received {} of shape {}.",
                                 found.name(), found.shape().text()),
                     {.site = site, .node = found.op().name(), .op = "static_rnn"});
  }
  Tensor zero = zero_rnn_output(batch_size, cell.output_size(), options.dtype, state, site);
  if (batch.known()) zero.set_shape({batch, cell.output_size()}, site);
  // TensorFlow makes the vectors again to find the static shape.
  rnn_cell::repeat_size_vectors({batch}, cell.output_size(), site);
  return {zero, RnnLengths(cast(Operand(found, site), DType::int32, {}, site), site)};
}

}  // namespace

RnnResult static_rnn(const rnn_cell::RNNCell& cell, const OperandList& inputs,
                     StaticRnnOptions options, Site site) {
  const DefaultGraphGuard graph(graph_of(inputs));
  const std::vector<Tensor> tensors = input_tensors(inputs, site);
  const VariableScopeGuard scope = open_rnn_scope(options.scope, "rnn", site);
  cache_rnn_weights(scope);
  const Dim batch = checked_batch(tensors, site);
  const ScalarOperand batch_size = batch_size_of(tensors, batch, site);
  RnnResult result{{},
                   initial_rnn_state(cell, options.initial_state, batch_size, options.dtype,
                                     "static_rnn", site)};
  std::optional<StaticLengths> by_length;
  if (options.sequence_length) {
    by_length = static_lengths(cell, options, result.state, batch_size, batch, site);
  }
  for (std::size_t step = 0; step < tensors.size(); ++step) {
    if (step > 0) scope->reuse_variables(site);
    const auto call_cell = [&] {
      return cell(Operand(tensors[step], site), result.state, {}, site);
    };
    rnn_cell::CellResult next =
        by_length ? conditional_rnn_step(static_cast<std::int32_t>(step), by_length->lengths,
                                         by_length->zero_output, result.state, call_cell, site)
                  : call_cell();
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
                            .sequence_length = options.sequence_length,
                            .scope = VariableScopeHandle(scope)},
                           site);
    }
    const VariableScopeGuard scope = variable_scope("bw", {}, site);
    const std::vector<Tensor> turned = reversed_list(tensors, options.sequence_length, site);
    backward = static_rnn(cell_bw, OperandList(turned, site),
                          {.initial_state = options.initial_state_bw,
                           .dtype = options.dtype,
                           .sequence_length = options.sequence_length,
                           .scope = VariableScopeHandle(scope)},
                          site);
  }
  const std::vector<Tensor> turned =
      reversed_list(backward->outputs, options.sequence_length, site);
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < turned.size(); ++i) {
    outputs.push_back(
        concat({Operand(forward->outputs[i], site), Operand(turned[i], site)}, 1, {}, site));
  }
  return {std::move(outputs), forward->state, backward->state};
}

}  // namespace towerflow::nn

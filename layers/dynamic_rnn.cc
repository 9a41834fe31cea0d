#include "layers/dynamic_rnn.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "layers/rnn_cell_call.h"
#include "layers/rnn_step.h"
#include "ops/array/cast.h"
#include "ops/array/concat.h"
#include "ops/array/constant.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/rank_size.h"
#include "ops/array/reverse.h"
#include "ops/array/sequence.h"
#include "ops/array/shape_of.h"
#include "ops/array/stack.h"
#include "ops/array/strided_slice.h"
#include "ops/array/transpose.h"
#include "ops/array/view.h"
#include "ops/control/tensor_array.h"
#include "ops/control/while_loop.h"
#include "ops/data_flow/assert.h"
#include "ops/math/binary.h"
#include "ops/math/range.h"
#include "ops/math/reduce.h"

namespace towerflow::nn {
namespace {

/// Returns [time, n, ..] of [n, time, ..] and the other way round.
Tensor transpose_batch_time(const Tensor& x, Site site) {
  const Shape shape = x.shape();
  if (shape.has_rank() && shape.rank() < 2) return x;
  const Tensor rank = towerflow::rank(Operand(x, site), {}, site);
  const Tensor others = range(Operand(2, site), Operand(rank, site), Operand(1, site), {}, site);
  const Tensor order = concat({Operand(Nested({1, 0}), site), Operand(others, site)}, 0, {}, site);
  Tensor turned = transpose(Operand(x, site), Operand(order, site), {}, site);
  if (!shape.has_rank()) {
    throw TypeError(fmt::format("the rank of {} is not known", x.name()),
                    {.site = site,
                     .node = x.op().name(),
                     .op = "dynamic_rnn",
                     .hint = "give the placeholder a shape: {tf::None, tf::None, 8}"});
  }
  std::vector<Dim> dims = shape.dims();
  std::swap(dims[0], dims[1]);
  turned.set_shape(Shape(std::move(dims)), site);
  return turned;
}

/// Returns the number of examples of inputs [time, n, ..], a tensor if it is not known.
ScalarOperand batch_size_of_steps(const Tensor& inputs, Site site) {
  const Shape& shape = inputs.shape();
  if (shape.has_rank()) {
    if (shape.rank() < 2) {
      throw ValueError(fmt::format("Input tensor should have rank >= 2. Received {} of shape {}",
                                   inputs.name(), shape.text()),
                       {.site = site, .node = inputs.op().name(), .op = "dynamic_rnn"});
    }
    if (shape[1].known()) return ScalarOperand(shape.size(1), site);
  }
  const Tensor sizes = towerflow::shape(Operand(inputs, site), {}, site);
  return ScalarOperand(take_index(sizes, 1, site), site);
}

Tensor sequence_lengths(const Operand& given, Site site) {
  const Tensor lengths = cast(given.at(site), DType::int32, {}, site);
  if (lengths.shape().has_rank() && lengths.shape().rank() != 1) {
    throw ValueError(fmt::format("Argument sequence_length must be a vector of length batch_size. "
                                 "Received {} of shape {}",
                                 lengths.name(), lengths.shape().text()),
                     {.site = site, .node = lengths.op().name(), .op = "dynamic_rnn"});
  }
  return identity(Operand(lengths, site), {.name = "sequence_length"}, site);
}

/// Returns the lengths once a run has checked that there is one for each example.
Tensor checked_lengths(const Tensor& lengths, const ScalarOperand& batch_size, Site site) {
  const Tensor found = towerflow::shape(Operand(lengths, site), {}, site);
  const Tensor expected = stack(OperandList({Operand(batch_size)}), {}, site);
  const Tensor same = equal(Operand(found, site), Operand(expected, site), {}, site);
  const Tensor all = reduce_all(Operand(same, site), {}, site);
  const Operation check =
      Assert(Operand(all, site),
             {Operand(fmt::format("Expected shape for Tensor {} is ", lengths.name()), site),
              Operand(expected, site), Operand(" but saw shape: ", site), Operand(found, site)},
             {}, site);
  const auto after = control_dependencies({check}, site);
  return identity(Operand(lengths, site), {.name = "CheckSeqLen"}, site);
}

/// The loop over the steps of inputs [time, n, ..]. (_dynamic_rnn_loop)
class StepLoop {
 public:
  StepLoop(const rnn_cell::RNNCell& cell, const Tensor& inputs, const DynamicRnnOptions& options,
           Site site)
      : cell_(cell), inputs_(inputs), options_(options), site_(site) {}

  DynamicRnnResult run(const rnn_cell::State& initial, const std::optional<Tensor>& sequences) {
    const Tensor sizes = towerflow::shape(operand(inputs_), {}, site_);
    const Tensor steps = take_index(sizes, 0, site_);
    const ScalarOperand batch_size = batch_size_of_steps(inputs_, site_);
    check_depth();
    zero_output_ = zero_rnn_output(batch_size, cell_.output_size(), options_.dtype, initial, site_);
    if (sequences) lengths_.emplace(*sequences, site_);
    const Tensor start =
        constant(Operand(0, site_), {.dtype = DType::int32, .name = "time"}, site_);
    const std::string name = NameScope(inputs_.graph(), "dynamic_rnn", site_).name();
    const TensorArray written(zero_output_.dtype(),
                              {.size = ScalarOperand(steps, site_),
                               .tensor_array_name = name + "output_0",
                               .element_shape = Shape({batch(), cell_.output_size()})},
                              site_);
    const TensorArray made(inputs_.dtype(),
                           {.size = ScalarOperand(steps, site_),
                            .tensor_array_name = name + "input_0",
                            .element_shape = step_shape()},
                           site_);
    input_array_ = made.unstack(operand(inputs_), {}, site_);
    const Tensor longest = lengths_ ? lengths_->longest : steps;
    const Tensor at_least_one = maximum(Operand(1, site_), operand(longest), {}, site_);
    const Tensor bound = minimum(operand(steps), operand(at_least_one), {}, site_);
    const auto [time, array, state] = while_loop(
        [&](const Tensor& now, const TensorArray&, const std::vector<Tensor>&) {
          return less(operand(now), operand(bound), {}, site_);
        },
        [&](const Tensor& now, const TensorArray& outputs, const std::vector<Tensor>& before) {
          const rnn_cell::CellResult next = step(now, initial.pack(before, site_));
          const TensorArray more =
              outputs.write(ScalarOperand(now, site_), operand(next.output), {}, site_);
          const Tensor later = operand(now) + Operand(1, site_);
          return std::tuple(later, more, next.state.flatten());
        },
        std::tuple(start, written, initial.flatten()),
        {.parallel_iterations = options_.parallel_iterations,
         .swap_memory = options_.swap_memory,
         .maximum_iterations = ScalarOperand(steps, site_)},
        site_);
    Tensor outputs = array.stack({}, site_);
    // TensorFlow makes the vectors again to find the static shape.
    rnn_cell::repeat_size_vectors({inputs_.shape()[0], batch()}, cell_.output_size(), site_);
    outputs.set_shape({inputs_.shape()[0], batch(), cell_.output_size()}, site_);
    return {outputs, initial.pack(state, site_)};
  }

 private:
  Operand operand(const Tensor& tensor) const { return Operand(tensor, site_); }
  Dim batch() const { return inputs_.shape()[1]; }

  /// Returns the shape of the inputs of a step.
  Shape step_shape() const {
    const std::vector<Dim>& dims = inputs_.shape().dims();
    return Shape(std::vector<Dim>(dims.begin() + 1, dims.end()));
  }

  void check_depth() const {
    const Shape& shape = inputs_.shape();
    const auto refuse = [&](const std::string& what) {
      throw ValueError(what, {.site = site_, .node = inputs_.op().name(), .op = "dynamic_rnn"});
    };
    if (!shape.has_rank()) refuse("Input size (depth of inputs) must be known, but is not.");
    if (shape.rank() < 3) {
      refuse(fmt::format("Shape {} must have rank at least 3", shape.text()));
    }
    for (std::size_t i = 2; i < shape.rank(); ++i) {
      if (shape[i].known()) continue;
      refuse(
          fmt::format("Input size (depth of inputs) must be accessible via shape inference, but "
                      "saw value None for input {} of shape {}.",
                      inputs_.name(), shape.text()));
    }
  }

  rnn_cell::CellResult step(const Tensor& time, const rnn_cell::State& state) const {
    Tensor input = input_array_.read(ScalarOperand(time, site_), {}, site_);
    input.set_shape(step_shape(), site_);
    const auto call_cell = [&] { return cell_(operand(input), state, {}, site_); };
    if (lengths_) {
      return masked_rnn_step(time, *lengths_, zero_output_, state, call_cell, site_);
    }
    rnn_cell::CellResult next = call_cell();
    check_same_rnn_state(state, next.state, "dynamic_rnn", site_);
    return next;
  }

  const rnn_cell::RNNCell& cell_;
  Tensor inputs_;
  const DynamicRnnOptions& options_;
  Site site_;
  Tensor zero_output_{};
  std::optional<RnnLengths> lengths_{};
  TensorArray input_array_{};
};

Tensor reversed_steps(const Tensor& x, const std::optional<Operand>& lengths, bool time_major,
                      Site site) {
  const int time_axis = time_major ? 0 : 1;
  if (!lengths) {
    return reverse(Operand(x, site), Operand(Nested({time_axis}), site), {}, site);
  }
  return reverse_sequence(Operand(x, site), lengths->at(site),
                          {.seq_axis = time_axis, .batch_axis = 1 - time_axis}, site);
}

DynamicRnnOptions one_direction(const BidirectionalDynamicRnnOptions& options,
                                const std::optional<rnn_cell::State>& initial,
                                const VariableScopeGuard& scope) {
  return {.sequence_length = options.sequence_length,
          .initial_state = initial,
          .dtype = options.dtype,
          .parallel_iterations = options.parallel_iterations,
          .swap_memory = options.swap_memory,
          .time_major = options.time_major,
          .scope = VariableScopeHandle(scope)};
}

}  // namespace

DynamicRnnResult dynamic_rnn(const rnn_cell::RNNCell& cell, const Operand& inputs,
                             DynamicRnnOptions options, Site site) {
  const DefaultGraphGuard graph(graph_of(inputs));
  const VariableScopeGuard scope = open_rnn_scope(options.scope, "rnn", site);
  cache_rnn_weights(scope);
  Tensor steps =
      inputs.tensor() != nullptr ? *inputs.tensor() : convert_to_tensor(inputs, {}, site);
  if (!options.time_major) steps = transpose_batch_time(steps, site);
  std::optional<Tensor> lengths;
  if (options.sequence_length) lengths = sequence_lengths(*options.sequence_length, site);
  const ScalarOperand batch_size = batch_size_of_steps(steps, site);
  const rnn_cell::State state = initial_rnn_state(cell, options.initial_state, batch_size,
                                                  options.dtype, "dynamic_rnn", site);
  if (lengths) lengths = checked_lengths(*lengths, batch_size, site);
  DynamicRnnResult result = StepLoop(cell, steps, options, site).run(state, lengths);
  if (!options.time_major) result.outputs = transpose_batch_time(result.outputs, site);
  return result;
}

BidirectionalDynamicRnnResult bidirectional_dynamic_rnn(const rnn_cell::RNNCell& cell_fw,
                                                        const rnn_cell::RNNCell& cell_bw,
                                                        const Operand& inputs,
                                                        BidirectionalDynamicRnnOptions options,
                                                        Site site) {
  const DefaultGraphGuard graph(graph_of(inputs));
  const Tensor steps =
      inputs.tensor() != nullptr ? *inputs.tensor() : convert_to_tensor(inputs, {}, site);
  std::optional<DynamicRnnResult> forward, backward;
  {
    const VariableScopeGuard both = open_rnn_scope(options.scope, "bidirectional_rnn", site);
    {
      const VariableScopeGuard scope = variable_scope("fw", {}, site);
      forward = dynamic_rnn(cell_fw, Operand(steps, site),
                            one_direction(options, options.initial_state_fw, scope), site);
    }
    const VariableScopeGuard scope = variable_scope("bw", {}, site);
    const Tensor turned = reversed_steps(steps, options.sequence_length, options.time_major, site);
    backward = dynamic_rnn(cell_bw, Operand(turned, site),
                           one_direction(options, options.initial_state_bw, scope), site);
  }
  const Tensor turned =
      reversed_steps(backward->outputs, options.sequence_length, options.time_major, site);
  return {{forward->outputs, turned}, {forward->state, backward->state}};
}

}  // namespace towerflow::nn

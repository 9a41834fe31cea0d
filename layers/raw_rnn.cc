#include "layers/raw_rnn.h"

#include "core/graph/op_builder.h"
#include "layers/rnn_cell_call.h"
#include "ops/array/concat.h"
#include "ops/array/fill.h"
#include "ops/array/shape_of.h"
#include "ops/array/strided_slice.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"

namespace towerflow::nn::types {

TensorArray RawRnnParts::make_array(const Tensor& input, const rnn_cell::State& state,
                                    const std::optional<Tensor>& emitted) {
  if (!input.shape().has_rank() || input.shape().rank() == 0) {
    throw ValueError("the rank of next_input is not known, or it is a scalar",
                     {.site = site_, .node = input.op().name(), .op = "raw_rnn"});
  }
  const Dim batch = input.shape()[0];
  std::optional<ScalarOperand> batch_size;
  if (batch.known()) {
    batch_size = ScalarOperand(batch.size(), site_);
  } else {
    const Tensor sizes = towerflow::shape(Operand(input, site_), {}, site_);
    batch_size = ScalarOperand(take_index(sizes, 0, site_), site_);
  }
  check_same_rnn_state(cell_.state_size(), state, "raw_rnn", site_);
  Shape row{cell_.output_size()};
  DType dtype = state.flatten().at(0).dtype();
  std::optional<Tensor> row_sizes;
  if (emitted) {
    row = emitted->shape();
    dtype = emitted->dtype();
    if (!row.fully_known()) {
      row_sizes = towerflow::shape(Operand(*emitted, site_), {}, site_);
      row = Shape::unknown();
    }
  }
  Shape element = Shape::unknown();
  if (row.has_rank()) {
    std::vector<Dim> dims = row.dims();
    dims.insert(dims.begin(), batch);
    element = Shape(std::move(dims));
  }
  TensorArray array(dtype,
                    {.size = ScalarOperand(0, site_),
                     .dynamic_size = true,
                     .element_shape = element,
                     .name = "rnn_output_0"},
                    site_);
  const Tensor sizes = row_sizes ? rnn_cell::batch_shape(*batch_size, *row_sizes, site_)
                                 : rnn_cell::batch_shape(*batch_size, row, site_);
  zero_emit_ = zeros_of_shape(sizes, {.dtype = dtype}, site_);
  return array;
}

Tensor RawRnnParts::continues(const Tensor& finished) const {
  const Tensor all = reduce_all(Operand(finished, site_), {}, site_);
  return logical_not(Operand(all, site_), {}, site_);
}

Tensor RawRnnParts::finished_now(const Tensor& before, const Tensor& now) const {
  return logical_or(Operand(before, site_), Operand(now, site_), {}, site_);
}

rnn_cell::CellResult RawRnnParts::call_cell(const Tensor& input,
                                            const rnn_cell::State& state) const {
  rnn_cell::CellResult called = cell_(Operand(input, site_), state, {}, site_);
  check_same_rnn_state(state, called.state, "raw_rnn", site_);
  return called;
}

Tensor RawRnnParts::emitted(const Tensor& finished, const std::optional<Tensor>& output) const {
  if (output) return copy_rows_through(finished, zero_emit_, *output, site_);
  throw ValueError("loop_fn emits no output at a time above 0",
                   {.site = site_, .op = "raw_rnn", .hint = "set emit_output to cell_output"});
}

rnn_cell::State RawRnnParts::kept_state(const Tensor& finished, const rnn_cell::State& before,
                                        const rnn_cell::State& after) const {
  check_same_rnn_state(before, after, "raw_rnn", site_);
  const std::vector<Tensor> old = before.flatten(), next = after.flatten();
  std::vector<Tensor> kept;
  for (std::size_t i = 0; i < old.size(); ++i) {
    kept.push_back(copy_rows_through(finished, old[i], next[i], site_));
  }
  return before.pack(kept, site_);
}

}  // namespace towerflow::nn::types

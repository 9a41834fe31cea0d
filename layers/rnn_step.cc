#include "layers/rnn_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/control_flow.h"
#include "core/graph/op_builder.h"
#include "layers/rnn_cell_call.h"
#include "ops/array/fill.h"
#include "ops/array/select.h"
#include "ops/control/cond.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"

namespace towerflow::nn {
namespace {

/// Returns an output and the tensors of a state, from old and new ones.
std::vector<Tensor> copy_some_through(const Tensor& ended, const std::vector<Tensor>& old,
                                      const std::vector<Tensor>& next, Site site) {
  std::vector<Tensor> chosen;
  for (std::size_t i = 0; i < old.size(); ++i) {
    chosen.push_back(copy_rows_through(ended, old[i], next[i], site));
  }
  return chosen;
}

/// Returns the output and then the tensors of the state.
std::vector<Tensor> flat_step(const Tensor& output, const rnn_cell::State& state) {
  std::vector<Tensor> all{output};
  const std::vector<Tensor> parts = state.flatten();
  all.insert(all.end(), parts.begin(), parts.end());
  return all;
}

std::vector<Tensor> called_step(const RnnCellCall& call_cell, const rnn_cell::State& state,
                                Site site) {
  const rnn_cell::CellResult next = call_cell();
  check_same_rnn_state(state, next.state, "RNNCell", site);
  return flat_step(next.output, next.state);
}

rnn_cell::CellResult packed_step(std::vector<Tensor> found, const std::vector<Tensor>& old,
                                 const rnn_cell::State& state, Site site) {
  for (std::size_t i = 0; i < found.size(); ++i) found[i].set_shape(old[i].shape(), site);
  return {found[0], state.pack(std::vector<Tensor>(found.begin() + 1, found.end()), site)};
}

}  // namespace

Tensor copy_rows_through(const Tensor& ended, const Tensor& old, const Tensor& next, Site site) {
  if (old.shape().has_rank() && old.shape().rank() == 0) return next;
  const ColocationScope beside = colocate_with(next.op(), false, site);
  return where(Operand(ended, site), Operand(old, site), Operand(next, site), {}, site);
}

void cache_rnn_weights(const VariableScopeGuard& scope) {
  ControlFlowContext* const open = get_default_graph().scopes().context;
  const bool in_loop = open != nullptr && open->while_context() != nullptr;
  if (in_loop || scope->caching_device()) return;
  scope->set_caching_device(DeviceFunction([](const Operation& op) { return op.device(); }));
}

VariableScopeGuard open_rnn_scope(const std::optional<layers::Scope>& scope,
                                  const char* default_name, Site site) {
  if (!scope) return variable_scope(std::string(default_name), {}, site);
  if (const auto* captured = std::get_if<VariableScopeHandle>(&*scope)) {
    return variable_scope(*captured, {}, site);
  }
  return variable_scope(std::get<std::string>(*scope), {}, site);
}

rnn_cell::State initial_rnn_state(const rnn_cell::RNNCell& cell,
                                  const std::optional<rnn_cell::State>& given,
                                  const ScalarOperand& batch_size,
                                  const std::optional<DType>& dtype, const char* op, Site site) {
  if (given) return *given;
  if (dtype) return cell.zero_state(batch_size, *dtype, site);
  throw ValueError("If no initial_state is provided, argument `dtype` must be specified",
                   {.site = site, .op = op});
}

DType rnn_state_dtype(const std::optional<DType>& dtype, const rnn_cell::State& state, Site site) {
  if (dtype) return *dtype;
  const std::vector<Tensor> parts = state.flatten();
  if (parts.empty()) {
    throw ValueError("Unable to infer dtype from a state without tensors.", {.site = site});
  }
  for (const Tensor& part : parts) {
    if (part.dtype() == parts[0].dtype()) continue;
    throw ValueError(
        fmt::format("The state has tensors of different dtypes, {} and {}. Unable to infer a "
                    "single representative dtype.",
                    dtype_name(parts[0].dtype()), dtype_name(part.dtype())),
        {.site = site, .node = part.op().name(), .hint = "give `dtype`, that of the outputs"});
  }
  return parts[0].dtype();
}

Tensor zero_rnn_output(const ScalarOperand& batch_size, std::int64_t columns,
                       const std::optional<DType>& dtype, const rnn_cell::State& state, Site site) {
  const Tensor shape = rnn_cell::batch_shape(batch_size, Shape{columns}, site);
  return zeros_of_shape(shape, {.dtype = rnn_state_dtype(dtype, state, site)}, site);
}

RnnLengths::RnnLengths(const Tensor& of_batch, Site site)
    : lengths(of_batch),
      shortest(reduce_min(Operand(of_batch, site), {}, site)),
      longest(reduce_max(Operand(of_batch, site), {}, site)) {}

rnn_cell::CellResult masked_rnn_step(const Tensor& time, const RnnLengths& lengths,
                                     const Tensor& zero_output, const rnn_cell::State& state,
                                     const RnnCellCall& call_cell, Site site) {
  const std::vector<Tensor> old = flat_step(zero_output, state);
  const Tensor ended = greater_equal(Operand(time, site), Operand(lengths.lengths, site), {}, site);
  const std::vector<Tensor> next = called_step(call_cell, state, site);
  return packed_step(copy_some_through(ended, old, next, site), old, state, site);
}

rnn_cell::CellResult conditional_rnn_step(std::int32_t time, const RnnLengths& lengths,
                                          const Tensor& zero_output, const rnn_cell::State& state,
                                          const RnnCellCall& call_cell, Site site) {
  const std::vector<Tensor> old = flat_step(zero_output, state);
  const Operand now(time, site);
  // Python turns `time >= x` into `x <= time` if time is a number.
  const Tensor ended = less_equal(Operand(lengths.lengths, site), now, {}, site);
  const auto copied = [&] {
    const std::vector<Tensor> next = called_step(call_cell, state, site);
    const Tensor within = greater(Operand(lengths.shortest, site), now, {}, site);
    return cond(
        within, [&] { return next; }, [&] { return copy_some_through(ended, old, next, site); }, {},
        site);
  };
  const Tensor after = less_equal(Operand(lengths.longest, site), now, {}, site);
  return packed_step(cond(
                         after, [&] { return old; }, copied, {}, site),
                     old, state, site);
}

void refuse_rnn_state(std::size_t before, std::size_t after, const char* op, Site site) {
  throw ValueError(
      fmt::format("The two structures don't have the same nested structure: a state of {} tensors "
                  "became one of {}",
                  before, after),
      {.site = site,
       .op = op,
       .hint = "the initial state is nested as cell.state_size(); zero_state makes one"});
}

}  // namespace towerflow::nn

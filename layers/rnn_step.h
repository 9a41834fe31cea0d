#pragma once

#include <functional>
#include <optional>

#include "layers/rnn_cell.h"

// What the recurrent networks share.
namespace towerflow::nn::types {

/// The lengths of the sequences of a batch, int32.
struct RnnLengths {
  Tensor lengths, shortest, longest;

  explicit RnnLengths(const Tensor& of_batch, Site site);
};

}  // namespace towerflow::nn::types

namespace towerflow::nn {

/// Opens the variable scope of a network.
VariableScopeGuard open_rnn_scope(const std::optional<layers::Scope>& scope,
                                  const char* default_name, Site site);

/// Has reads of a network's weights placed as the variables are. In a loop, which would read old
/// values, it does nothing.
void cache_rnn_weights(const VariableScopeGuard& scope);

/// Returns the state given, else zeros. Throws ValueError if there is neither a state nor a dtype.
rnn_cell::State initial_rnn_state(const rnn_cell::RNNCell& cell,
                                  const std::optional<rnn_cell::State>& given,
                                  const ScalarOperand& batch_size,
                                  const std::optional<DType>& dtype, const char* op, Site site);

/// Returns `dtype`, else that of all tensors of a state. Throws ValueError if they differ.
DType rnn_state_dtype(const std::optional<DType>& dtype, const rnn_cell::State& state, Site site);

/// Returns zeros of the shape [batch_size, columns] and of the dtype of `rnn_state_dtype`.
Tensor zero_rnn_output(const ScalarOperand& batch_size, std::int64_t columns,
                       const std::optional<DType>& dtype, const rnn_cell::State& state, Site site);

using RnnCellCall = std::function<rnn_cell::CellResult()>;

/// Calls the cell for a step that a loop makes: rows whose sequence has ended give zeros and keep
/// their state.
rnn_cell::CellResult masked_rnn_step(const Tensor& time, const RnnLengths& lengths,
                                     const Tensor& zero_output, const rnn_cell::State& state,
                                     const RnnCellCall& call_cell, Site site);

/// As `masked_rnn_step`, for step `time` of a list: the cell is not called in steps after the
/// longest sequence, and rows are not chosen in those within the shortest.
rnn_cell::CellResult conditional_rnn_step(std::int32_t time, const RnnLengths& lengths,
                                          const Tensor& zero_output, const rnn_cell::State& state,
                                          const RnnCellCall& call_cell, Site site);

/// Returns the old rows where `ended` is true, else the next ones. A scalar is always the next one.
Tensor copy_rows_through(const Tensor& ended, const Tensor& old, const Tensor& next, Site site);

/// Throws ValueError for the structures of two states that differ.
[[noreturn]] void refuse_rnn_state(std::size_t before, std::size_t after, const char* op,
                                   Site site);

/// Throws ValueError unless a cell or a function returned a state nested as the one before it.
template <class T>
void check_same_rnn_state(const rnn_cell::Structure<T>& before, const rnn_cell::State& after,
                          const char* op, Site site) {
  if (before.same_structure(after)) return;
  refuse_rnn_state(before.flatten().size(), after.flatten().size(), op, site);
}

}  // namespace towerflow::nn

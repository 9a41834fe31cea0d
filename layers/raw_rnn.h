#pragma once

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "layers/rnn_step.h"
#include "ops/array/constant.h"
#include "ops/control/tensor_array.h"
#include "ops/control/while_loop.h"
#include "ops/math/binary.h"

namespace towerflow::nn {

struct RawRnnOptions {
  int parallel_iterations = 32;          ///< recorded in the graph
  bool swap_memory = false;              ///< recorded in the graph
  std::optional<layers::Scope> scope{};  ///< default: "rnn"
};

}  // namespace towerflow::nn

namespace towerflow::nn::types {

/// What the function of `raw_rnn` returns. `LoopState` is any structure of tensors and arrays
/// (ops/control/nest.h); a tensor that nobody reads if the function keeps none.
template <class LoopState = Tensor>
struct RawRnnStep {
  Tensor elements_finished;                    ///< [n] bool
  Tensor next_input;                           ///< [n, m], for the next call of the cell
  rnn_cell::State next_cell_state;             ///< in the first step the initial state
  std::optional<Tensor> emit_output{};         ///< in the first step a tensor like one row, or none
  std::optional<LoopState> next_loop_state{};  ///< default: that of the step before
};

/// What `raw_rnn` returns.
template <class LoopState = Tensor>
struct RawRnnResult {
  TensorArray emit_ta;  ///< of what each step emitted; `stack` gives a tensor [time, n, ..]
  rnn_cell::State state;
  std::optional<LoopState> loop_state;
};

/// The parts of `raw_rnn` that do not depend on the type of its loop state.
class RawRnnParts {
 public:
  RawRnnParts(const rnn_cell::RNNCell& cell, Site site) : cell_(cell), site_(site) {}

  /// Makes the array of what is emitted, and the zeros that a finished sequence emits.
  TensorArray make_array(const Tensor& input, const rnn_cell::State& state,
                         const std::optional<Tensor>& emitted);
  /// Returns whether a sequence is not finished.
  Tensor continues(const Tensor& finished) const;
  /// Returns which sequences were finished or are so now.
  Tensor finished_now(const Tensor& before, const Tensor& now) const;
  rnn_cell::CellResult call_cell(const Tensor& input, const rnn_cell::State& state) const;
  /// Returns what is emitted, where sequences are finished zeros.
  Tensor emitted(const Tensor& finished, const std::optional<Tensor>& output) const;
  /// Returns the next state, where sequences are finished that before.
  rnn_cell::State kept_state(const Tensor& finished, const rnn_cell::State& before,
                             const rnn_cell::State& after) const;

 private:
  const rnn_cell::RNNCell& cell_;
  Site site_;
  Tensor zero_emit_{};
};

}  // namespace towerflow::nn::types

namespace towerflow::nn {

/// Calls a cell in a loop of the graph, with inputs that a function of the step before gives, until
/// all sequences are finished: a decoder, for example. `loop_fn(time, cell_output, cell_state,
/// loop_state)` returns a RawRnnStep; the last three are empty optionals in its first call, at time
/// 0, which gives the initial values.
///
///     const auto loop_fn = [&](const tf::Tensor& time, const std::optional<tf::Tensor>& output,
///                              const std::optional<rnn::State>& state,
///                              const std::optional<tf::Tensor>&) {
///       tf::nn::RawRnnStep<> step{time >= lengths, input_array.read(time),
///                                 state ? *state : cell.zero_state(8, tf::float32)};
///       step.emit_output = output;
///       return step;
///     };
///     const auto [array, last, _] = tf::nn::raw_rnn(cell, loop_fn);
///
/// shapes   next_input [n, m], elements_finished [n] -> elements of emit_ta [n, ..]
/// dtypes   float32, float64
/// grads    what the steps read, the initial state, the cell's weights
/// errors   ValueError: a state that is not nested as the cell's, no output is emitted
/// source   tf.nn.raw_rnn
template <class LoopState = Tensor, class LoopFn>
RawRnnResult<LoopState> raw_rnn(const rnn_cell::RNNCell& cell, LoopFn&& loop_fn,
                                RawRnnOptions options = {}, Site site = Site::current()) {
  using Step = RawRnnStep<LoopState>;
  using Packed = typename Nest<LoopState>::Result;
  using State = rnn_cell::State;
  static_assert(std::is_same_v<Packed, LoopState>, "a loop state consists of tensors and arrays");
  const VariableScopeGuard scope = open_rnn_scope(options.scope, "rnn", site);
  cache_rnn_weights(scope);
  const Tensor start = constant(Operand(0, site), {.dtype = DType::int32}, site);
  const Step first =
      loop_fn(start, std::optional<Tensor>(), std::optional<State>(), std::optional<LoopState>());
  const bool keeps_none = !first.next_loop_state.has_value();
  const auto run = [&]<class Carried>(const Carried& initial) {
    RawRnnParts parts(cell, site);
    const TensorArray made =
        parts.make_array(first.next_input, first.next_cell_state, first.emit_output);
    return while_loop(
        [&](const Tensor&, const Tensor& finished, const Tensor&, const TensorArray&,
            const std::vector<Tensor>&, const Carried&) { return parts.continues(finished); },
        [&](const Tensor& time, const Tensor& finished, const Tensor& input,
            const TensorArray& array, const std::vector<Tensor>& flat, const Carried& carried) {
          const State before = first.next_cell_state.pack(flat, site);
          const rnn_cell::CellResult called = parts.call_cell(input, before);
          const Tensor next_time = time + Operand(1, site);
          std::optional<LoopState> kept;
          if constexpr (std::is_same_v<Carried, LoopState>) {
            if (!keeps_none) kept = carried;
          }
          const Step next =
              loop_fn(next_time, std::optional(called.output), std::optional(called.state), kept);
          const Tensor emitted = parts.emitted(finished, next.emit_output);
          const State state = parts.kept_state(finished, before, next.next_cell_state);
          const TensorArray written =
              array.write(ScalarOperand(time, site), Operand(emitted, site), {}, site);
          const Tensor done = parts.finished_now(finished, next.elements_finished);
          Carried later = carried;
          if constexpr (std::is_same_v<Carried, LoopState>) {
            if (next.next_loop_state) later = *next.next_loop_state;
          }
          return std::tuple(next_time, done, next.next_input, written, state.flatten(), later);
        },
        std::tuple(start, first.elements_finished, first.next_input, made,
                   first.next_cell_state.flatten(), initial),
        {.parallel_iterations = options.parallel_iterations, .swap_memory = options.swap_memory},
        site);
  };
  const auto result = [&](const auto& found, std::optional<LoopState> last) {
    return RawRnnResult<LoopState>{
        std::get<3>(found), first.next_cell_state.pack(std::get<4>(found), site), std::move(last)};
  };
  if (keeps_none) {
    const Tensor nothing = constant(Operand(0, site), {.dtype = DType::int32}, site);
    return result(run(nothing), std::nullopt);
  }
  const auto found = run(*first.next_loop_state);
  return result(found, std::get<5>(found));
}

}  // namespace towerflow::nn

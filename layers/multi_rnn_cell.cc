#include <fmt/format.h>

#include <algorithm>

#include "core/graph/op_builder.h"
#include "layers/rnn_cell_call.h"
#include "ops/array/concat.h"
#include "ops/array/slice.h"

namespace towerflow::nn::rnn_cell {
namespace {

class MultiRNNCellBody final : public CellBody {
 public:
  MultiRNNCellBody(std::vector<RNNCell> cells, MultiRNNCellOptions options, Site site)
      : CellBody("MultiRNNCell", "multi_rnn_cell", {}, site),
        cells_(std::move(cells)),
        tuple_(options.state_is_tuple) {
    if (cells_.empty()) {
      throw ValueError("Must specify at least one cell for MultiRNNCell.", {.site = site});
    }
    const bool nested = std::any_of(cells_.begin(), cells_.end(), [](const RNNCell& cell) {
      return !cell.state_size().is_leaf();
    });
    if (!tuple_ && nested) {
      throw ValueError(
          "Some cells return tuples of states, but the flag state_is_tuple is not set.",
          {.site = site});
    }
  }

  std::int64_t output_size() const override { return cells_.back().output_size(); }

  StateSize state_size() const override {
    if (tuple_) {
      std::vector<StateSize> sizes;
      for (const RNNCell& cell : cells_) sizes.push_back(cell.state_size());
      return StateSize(std::move(sizes));
    }
    std::int64_t sum = 0;
    for (const RNNCell& cell : cells_) sum += cell.state_size().leaf();
    return StateSize(sum);
  }

  State zero_state(const ScalarOperand& batch_size, DType its_dtype, Site site) override {
    const NameScope names(graph_of(batch_size), "MultiRNNCellZeroState", site);
    if (!tuple_) return CellBody::zero_state(batch_size, its_dtype, site);
    std::vector<State> states;
    for (const RNNCell& cell : cells_) {
      states.push_back(cell.zero_state(batch_size, its_dtype, site));
    }
    return State(std::move(states));
  }

  CellResult apply_cell(const Tensor& inputs, const State& state, const std::optional<Scope>& scope,
                        Site site) override {
    if (scope) {
      const VariableScopeGuard guard = open_scope(*scope, site);
      return enter_cell(inputs, state, VariableScopeHandle(guard), site);
    }
    // As in TensorFlow, later calls do not open the name scope of the first.
    const VariableScopeGuard guard =
        around_ ? variable_scope(*around_, {.auxiliary_name_scope = false}, site)
                : variable_scope(get_variable_scope(), {}, site);
    if (!around_) around_ = guard;
    return enter_cell(inputs, state, std::nullopt, site);
  }

  std::vector<Variable> trainable_weights() const override {
    if (!trainable()) return {};
    return collected([](const RNNCell& cell) { return cell.trainable_variables(); });
  }

  std::vector<Variable> non_trainable_weights() const override {
    std::vector<Variable> others =
        collected([](const RNNCell& cell) { return cell.non_trainable_variables(); });
    if (trainable()) return others;
    std::vector<Variable> all =
        collected([](const RNNCell& cell) { return cell.trainable_variables(); });
    all.insert(all.end(), others.begin(), others.end());
    return all;
  }

 protected:
  CellResult call_cell(const Tensor& inputs, const State& state, Site site) override {
    if (tuple_ && state.size() != cells_.size()) {
      throw ValueError(
          fmt::format("Expected state to be a tuple of length {}, but received {}", cells_.size(),
                      state.is_leaf() ? "one tensor" : fmt::format("a tuple of {}", state.size())),
          {.site = site, .op = name()});
    }
    Tensor output = inputs;
    std::vector<State> states;
    std::int64_t column = 0;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const VariableScopeGuard scope = variable_scope(fmt::format("cell_{}", i), {}, site);
      const State before = tuple_ ? state[i] : part_of(state, i, column, site);
      CellResult result = cells_[i](Operand(output, site), before, {}, site);
      output = result.output;
      states.push_back(std::move(result.state));
    }
    if (tuple_) return {output, State(std::move(states))};
    std::vector<Operand> parts;
    for (const State& part : states) parts.emplace_back(part.leaf(), site);
    return {output, State(concat(parts, 1, {}, site))};
  }

 private:
  static VariableScopeGuard open_scope(const Scope& scope, Site site) {
    if (const auto* captured = std::get_if<VariableScopeHandle>(&scope)) {
      return variable_scope(*captured, {}, site);
    }
    return variable_scope(std::get<std::string>(scope), {}, site);
  }

  State part_of(const State& state, std::size_t cell, std::int64_t& column, Site site) const {
    const std::int64_t size = cells_[cell].state_size().leaf();
    const Tensor part =
        slice(Operand(one_tensor(state, name(), site), site), Operand(Nested({0, column}), site),
              Operand(Nested({-1, size}), site), {}, site);
    column += size;
    return State(part);
  }

  template <class Get>
  std::vector<Variable> collected(Get get) const {
    std::vector<Variable> all;
    for (const RNNCell& cell : cells_) {
      const std::vector<Variable> more = get(cell);
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }

  std::vector<RNNCell> cells_;
  bool tuple_;
  std::optional<VariableScopeHandle> around_;
};

}  // namespace
}  // namespace towerflow::nn::rnn_cell

namespace towerflow::nn::rnn_cell::types {

MultiRNNCell::MultiRNNCell(const std::vector<RNNCell>& cells, MultiRNNCellOptions options,
                           Site site)
    : RNNCell(std::make_shared<MultiRNNCellBody>(cells, options, site)) {}

}  // namespace towerflow::nn::rnn_cell::types

#include "core/runtime/callable.h"

#include <fmt/format.h>

#include <functional>

#include "core/runtime/session_impl.h"

namespace towerflow {

/// The state of a callable: the plan for the values of the last call, and a frame of it.
struct Callable::State {
  std::shared_ptr<SessionImpl> session;
  std::vector<Fetch> fetches;
  std::vector<Tensor> feeds;
  std::vector<DType> dtypes;  // of the feeds, since their graph may be gone
  Cancellation* cancellation = nullptr;
  std::shared_ptr<CompiledRun> compiled;
  std::unique_ptr<Frame> frame;
  std::vector<Array> results;

  ~State() { release(); }

  bool fits(std::span<const Array> values) const {
    if (frame == nullptr) return false;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto& [dtype, shape] = compiled->fed_shapes[i];
      if (values[i].dtype() != dtype || values[i].shape() != shape) return false;
    }
    return true;
  }

  void release() {
    results.clear();
    if (frame != nullptr) SessionImpl::recycle_frame(*compiled, std::move(frame));
    compiled = nullptr;
  }

  void find_plan(std::span<const Array> values) {
    release();
    session->check_open();
    Feeds bound;
    for (std::size_t i = 0; i < values.size(); ++i) bound.emplace_back(feeds[i], values[i]);
    compiled = session->find_plan(fetches, bound);
    frame = session->lease_frame(*compiled);
  }

  /// Returns `values` cast to the dtypes of the feeds; `kept` stores them if any needs a cast.
  std::span<const Array> converted(std::span<const Array> values, std::vector<Array>& kept) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i].dtype() == dtypes[i]) continue;
      if (kept.empty()) kept.assign(values.begin(), values.end());
      kept[i] = cast_fed_value(kept[i], dtypes[i]);
      values = kept;
    }
    return values;
  }
};

/// Returns the state after checking the number of values.
Callable::State& Callable::state_for(std::span<const Array> values) const {
  if (state_ == nullptr) throw RuntimeError("an empty Callable was called");
  if (values.size() != state_->feeds.size()) {
    throw ValueError(
        fmt::format("the callable takes {} values, got {}", state_->feeds.size(), values.size()));
  }
  return *state_;
}

void Callable::prepare(std::span<const Array> values) const {
  State& state = state_for(values);
  std::vector<Array> kept;
  values = state.converted(values, kept);
  if (!state.fits(values)) state.find_plan(values);
}

std::span<const Array> Callable::operator()(std::span<const Array> values) const {
  State& state = state_for(values);
  std::vector<Array> kept;
  // x = f(x): keeps the results of the last call alive while this call writes its own.
  const std::less_equal<> before;
  if (!state.results.empty() && before(state.results.data(), values.data()) &&
      before(values.data() + values.size(), state.results.data() + state.results.size())) {
    kept.assign(values.begin(), values.end());
    values = kept;
  }
  values = state.converted(values, kept);
  if (!state.fits(values)) state.find_plan(values);
  state.frame->return_results(state.results);
  state.session->run_in_frame(*state.compiled, *state.frame, values, state.results,
                              state.cancellation);
  return state.results;
}

Callable SessionImpl::make_callable(std::vector<Fetch> fetches, std::vector<Tensor> feeds,
                                    Cancellation* cancellation) {
  auto state = std::make_shared<Callable::State>();
  state->session = shared_from_this();
  state->fetches = std::move(fetches);
  for (const Tensor& feed : feeds) state->dtypes.push_back(feed.dtype());
  state->feeds = std::move(feeds);
  state->cancellation = cancellation;
  return Callable(std::move(state));
}

}  // namespace towerflow

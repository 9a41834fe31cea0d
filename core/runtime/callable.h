#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/graph/array.h"

namespace towerflow {

class SessionImpl;

}  // namespace towerflow

namespace towerflow::types {

/// Runs one list of fetches again and again; made by `Session::make_callable`.
///
/// A call with feeds of the shapes of the call before allocates nothing. One thread at a time may
/// call it; each thread makes its own. Copies are the same callable. Empty when
/// default-constructed.
class Callable {
 public:
  Callable() = default;

  /// The results in the order of the fetches, empty Arrays for operations. They are valid until the
  /// next call: an Array copied from them stays as it is, and the next call takes fresh memory for
  /// it; one that nobody holds is written again.
  /// Throws what `Session::run` throws; ValueError for another number of values than feeds.
  std::span<const Array> operator()(std::span<const Array> values = {}) const;
  /// Plans a call with `values` and takes a frame for it, without running anything: calls with
  /// values of these dtypes and shapes then run whatever becomes of the graph. Throws what planning
  /// throws.
  void prepare(std::span<const Array> values = {}) const;
  explicit operator bool() const { return state_ != nullptr; }

 private:
  friend class towerflow::SessionImpl;
  struct State;
  State& state_for(std::span<const Array> values) const;
  explicit Callable(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace towerflow::types

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/graph/array.h"

namespace towerflow {

class SessionImpl;

}  // namespace towerflow

namespace towerflow::types {

/// Runs one list of fetches repeatedly; made by `Session::make_callable`.
///
/// A call whose feeds have the shapes of the previous call allocates nothing. Only one thread may
/// use a callable at a time; each thread makes its own. Copies share their state. A
/// default-constructed callable is empty.
class Callable {
 public:
  Callable() = default;

  /// Runs the fetches and returns their results in order, empty Arrays for operations. The results
  /// are valid until the next call, which reuses their memory unless an Array copied from them is
  /// still alive; such Arrays keep their values. Throws what `Session::run` throws; ValueError if
  /// the number of values differs from the number of feeds.
  std::span<const Array> operator()(std::span<const Array> values = {}) const;
  /// Makes the plan of a call with `values` and leases a frame for it, without running anything.
  /// Calls with values of these dtypes and shapes then run no matter what happens to the graph.
  /// Throws what planning throws.
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

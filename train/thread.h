#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/graph/types.h"

namespace towerflow::train::types {

/// A thread with a name that never outlives its last handle: with it goes, in order, a request to
/// end (`interrupt`) and a join. A cheap handle. (Python's threading.Thread)
class Thread {
 public:
  Thread() = default;
  /// `body` runs once `start` is called. `interrupt` makes it end soon; both may be called at the
  /// same time. What `body` throws is logged as a warning.
  Thread(std::string name, std::function<void()> body, std::function<void()> interrupt = {});

  const std::string& name() const;
  void start();
  /// Started, and not yet ended.
  bool is_alive() const;
  void interrupt();
  /// Waits for the end; returns at once for a thread that was not started.
  void join();
  /// Waits at most so many seconds; whether it has ended.
  bool join_for(double seconds);
  /// The same for a std::chrono::duration.
  template <class Duration>
  requires requires { Duration::period::num; }
  bool join_for(Duration limit) {
    return join_for(static_cast<double>(limit.count()) * Duration::period::num /
                    Duration::period::den);
  }

  bool operator==(const Thread&) const = default;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace towerflow::train::types

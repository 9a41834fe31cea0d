#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/graph/types.h"

namespace towerflow::train::types {

/// A cheap handle to a named thread. When the last handle is destroyed, the thread is asked to end
/// (`interrupt`) and joined. (Python's threading.Thread)
class Thread {
 public:
  Thread() = default;
  /// `start` runs `body` on the thread. `interrupt` makes `body` end soon; both may run at the same
  /// time. What `body` throws is logged as a warning.
  Thread(std::string name, std::function<void()> body, std::function<void()> interrupt = {});

  const std::string& name() const;
  void start();
  /// Returns whether the thread has been started and has not ended.
  bool is_alive() const;
  void interrupt();
  /// Waits for the thread to end; returns at once if it was not started.
  void join();
  /// Waits at most `seconds`. Returns whether the thread has ended or was not started.
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

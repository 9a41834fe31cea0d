#pragma once

#include <exception>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/graph/arguments.h"
#include "core/graph/error.h"
#include "train/thread.h"

namespace towerflow::train::types {

struct CoordinatorOptions {
  /// Errors that mean the end of the input: they stop the threads and are not reported.
  std::vector<errors::Code> clean_stop_exception_types{errors::Code::out_of_range};
};

struct JoinOptions {
  ByName by_name = ByName();
  double stop_grace_period_secs = 120;  ///< how long threads may take to stop once asked
  bool ignore_live_threads = false;     ///< no error for those that took longer
};

/// Lets threads end together: any of them asks all to stop, and `join` throws the first error that
/// one of them reported. (tf.train.Coordinator)
///
/// Destruction asks the registered threads to stop, interrupts them and waits for them.
class Coordinator {
 public:
  explicit Coordinator(CoordinatorOptions options = {});
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  /// Asks all threads to stop. `error`, if it is no clean stop and the request is the first, is
  /// what `join` throws; after `join` it is thrown here.
  void request_stop(std::exception_ptr error = nullptr);
  bool should_stop() const;
  /// Waits for the request, at most `timeout` seconds when given; whether it was made.
  bool wait_for_stop(std::optional<double> timeout = std::nullopt) const;
  /// Forgets the request, its error and that `join` was called.
  void clear_stop();

  /// Runs `body`; what it throws is reported and ends here. (stop_on_exception)
  template <class Body>
  void stop_on_exception(Body&& body) {
    try {
      body();
    } catch (...) {
      request_stop(std::current_exception());
    }
  }

  /// A thread that `join` waits for, besides those that it is given.
  void register_thread(Thread thread);
  /// Waits until all threads have ended, or a stop is requested and the grace period is over.
  /// Throws the error that was reported; else RuntimeError naming threads that still run.
  void join(std::span<const Thread> threads = {}, JoinOptions options = {});
  void join(std::initializer_list<Thread> threads, JoinOptions options = {}) {
    join(std::span(threads.begin(), threads.size()), options);
  }
  void join(JoinOptions options) { join(std::span<const Thread>(), options); }
  bool joined() const;
  /// Throws the error that was reported, if there is one.
  void raise_requested_exception() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace towerflow::train::types

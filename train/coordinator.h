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
  /// Error codes that mean the end of the input: they stop the threads but are not reported.
  std::vector<errors::Code> clean_stop_exception_types{errors::Code::out_of_range};
};

struct JoinOptions {
  ByName by_name = ByName();
  double stop_grace_period_secs = 120;  ///< how long threads may take to stop once asked
  bool ignore_live_threads = false;     ///< no error for threads that took longer
};

/// Ends a group of threads together: any of them can ask all to stop, and `join` throws the first
/// error that one of them reported. (tf.train.Coordinator)
///
/// The destructor asks the registered threads to stop, interrupts them and joins them.
class Coordinator {
 public:
  explicit Coordinator(CoordinatorOptions options = {});
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  /// Asks all threads to stop. If this is the first request and `error` is not a clean stop, `join`
  /// throws `error`; after `join`, it is thrown here.
  void request_stop(std::exception_ptr error = nullptr);
  bool should_stop() const;
  /// Waits for a stop request, at most `timeout` seconds if given. Returns whether there is one.
  bool wait_for_stop(std::optional<double> timeout = std::nullopt) const;
  /// Clears the stop request, its error and the joined state.
  void clear_stop();

  /// Runs `body` and passes any exception to `request_stop`. (stop_on_exception)
  template <class Body>
  void stop_on_exception(Body&& body) {
    try {
      body();
    } catch (...) {
      request_stop(std::current_exception());
    }
  }

  /// Adds a thread that `join` waits for, besides those passed to it.
  void register_thread(Thread thread);
  /// Waits until all threads have ended, or a stop is requested and the grace period is over.
  /// Throws the reported error, or else RuntimeError naming the threads that are still running.
  void join(std::span<const Thread> threads = {}, JoinOptions options = {});
  void join(std::initializer_list<Thread> threads, JoinOptions options = {}) {
    join(std::span(threads.begin(), threads.size()), options);
  }
  void join(JoinOptions options) { join(std::span<const Thread>(), options); }
  bool joined() const;
  /// Throws the reported error, if any.
  void raise_requested_exception() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace towerflow::train::types

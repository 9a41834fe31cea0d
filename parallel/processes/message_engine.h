#pragma once

#include <cstddef>
#include <vector>

namespace towerflow::parallel::processes {

/// Carries messages between the processes of a group: what a plug-in for MPI implements.
///
/// Calls come from several threads, but one at a time. Errors are std::runtime_error, since a
/// plug-in uses nothing of the library.
class MessageEngine {
 public:
  virtual ~MessageEngine() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Starts to send to process `to`, and returns the number of this request, small and not in use.
  /// The bytes must stay as they are until the request has ended. Messages between two processes
  /// with the same tag arrive in the order in which they were sent.
  virtual int send(const void* data, std::size_t bytes, int to, int tag) = 0;
  /// Starts to receive a message of exactly `bytes` from process `from`.
  virtual int receive(void* data, std::size_t bytes, int from, int tag) = 0;
  /// Makes progress without waiting, and appends the requests that have ended, whose numbers may be
  /// used again.
  virtual void poll(std::vector<int>& ended) = 0;

  /// Ends the use of the engine. Every process must call this, after its requests have ended.
  virtual void leave() = 0;
  /// Ends all processes of the group with this exit code.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

/// The largest tag.
inline constexpr int kMaxTag = 32767;

/// The number of this interface. A plug-in refuses another one.
inline constexpr int kEngineInterface = 1;
/// The name of the function that a plug-in exports: it joins the group and returns an engine, or
/// throws. It returns null for another interface than its own.
inline constexpr const char* kOpenEngine = "towerflow_open_engine";
using OpenEngine = MessageEngine* (*)(int interface);

}  // namespace towerflow::parallel::processes
